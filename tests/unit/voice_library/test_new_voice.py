"""What a new voice becomes: its record, and its files."""

import hashlib
from dataclasses import replace

import pytest

from menura.errors import InvalidValueError
from menura.voice_library.new_voice import NewPrompt, files_of, record_of
from menura.voice_library.record import SourceKind, VoiceRecord, VoiceSource
from tests.kept_voices import new_voice
from tests.zipped_voices import made_by_tone

ID = "voice_" + "0" * 32


def test_a_new_voice_has_a_record_and_its_files() -> None:
    clip = new_voice().clips[0]
    new = new_voice(
        " Anna ",
        clips=(clip, replace(clip, flac=b"fLaC second", transcript=None)),
        preview=b"fLaC preview",
        consent_recording=b"fLaC consent",
        prompts=(NewPrompt("auto", made_by_tone()),),
        made_on="2026-01-01T00:00:00Z",
    )
    record = record_of(new, ID)
    assert (record.id, record.label, record.preview) == (ID, "Anna", "preview.flac")
    assert record.made_on == "2026-01-01T00:00:00Z" < record.edited_on
    assert record.consent is not None
    assert record.consent.recording == "consent.flac"
    assert [c.file for c in record.clips] == ["clips/1.flac", "clips/2.flac"]
    assert record.clips[1].sha256 == hashlib.sha256(b"fLaC second").hexdigest()
    files = dict(files_of(new, record))
    [prompt] = [name for name in files if name.startswith("prompts/tone.1.auto.")]
    assert list(files) == [
        "clips/1.flac", "clips/2.flac", "preview.flac", "consent.flac", prompt, "voice.json",
    ]  # fmt: skip
    assert VoiceRecord.from_json(files["voice.json"].decode()) == record


def test_a_consent_without_a_recording_names_none() -> None:
    record = record_of(new_voice(), ID)
    assert record.consent is not None
    assert record.consent.recording is None
    assert record.made_on == record.edited_on


def test_a_voice_of_nothing_is_refused() -> None:
    imported = VoiceSource(SourceKind.IMPORT)
    with pytest.raises(InvalidValueError, match="needs a clip"):
        record_of(new_voice(clips=(), source=imported), ID)
    prompts = (NewPrompt("auto", made_by_tone()),)
    assert record_of(new_voice(clips=(), source=imported, prompts=prompts), ID).clips == ()
    with pytest.raises(InvalidValueError, match="'clips' is empty"):
        record_of(new_voice(clips=(), prompts=prompts), ID)


def test_an_id_of_another_form_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="'id'"):
        record_of(new_voice(), "../x")
