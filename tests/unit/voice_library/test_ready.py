"""A library voice is made once for a model; after that it is taken from where it is kept."""

from pathlib import Path

import numpy as np
import pytest

import menura
from menura.engines.contract import VoicePrompt
from menura.errors import InvalidValueError, UnsupportedError, VoiceNotFoundError
from menura.speech import Reference
from menura.voice_library.library import LibraryVoice, NewPrompt, VoiceLibrary
from menura.voice_library.ready import ReadyVoices, planned_voice, voice_for
from menura.voice_library.record import SourceKind, VoiceSource
from tests.kept_voices import CONSENT, SAID, kept, new_voice
from tests.tone.engine import ToneEngine
from tests.zipped_voices import made_by_tone


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The transcripts of what was encoded, in order."""
    transcripts: list[str | None] = []
    encode = ToneEngine.encode_voice

    def counting(engine: ToneEngine, reference: Reference, mode: str) -> VoicePrompt:
        transcripts.append(reference.transcript)
        return encode(engine, reference, mode)

    monkeypatch.setattr(ToneEngine, "encode_voice", counting)
    return transcripts


def of_prompts(fingerprint: str) -> LibraryVoice:
    """A voice without a recording."""
    prompt = NewPrompt("auto", made_by_tone(fingerprint))
    source = VoiceSource(SourceKind.IMPORT)
    return VoiceLibrary().add(new_voice("Anna", clips=(), source=source, prompts=(prompt,)))


def test_a_voice_is_made_once_for_all_programs(tone: menura.TTS, made: list[str | None]) -> None:
    voice = kept("Anna")
    first = voice_for(VoiceLibrary(), voice, tone)
    assert made == [SAID]
    assert (first.label, first.origin.consent) == ("Anna", CONSENT)
    again = voice_for(VoiceLibrary(), voice, tone)
    assert made == [SAID]
    assert np.array_equal(first.prompt.arrays["embedding"], again.prompt.arrays["embedding"])
    assert again.prompt.transcript == SAID


def test_a_voice_is_read_once_by_a_model(
    tone: menura.TTS, made: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = VoiceLibrary()
    ready = ReadyVoices(library)
    first = ready.voice(kept("Anna"), tone)
    with monkeypatch.context() as patch:
        patch.setattr(VoiceLibrary, "cached_prompt", None)
        renamed = ready.voice(library.edit("Anna", label="Lena"), tone)
    assert renamed.prompt is first.prompt
    assert (first.label, renamed.label) == ("Anna", "Lena")
    ready.voice(library.edit("Lena", transcript="Something else."), tone)
    assert made == [SAID, "Something else."]


def test_a_voice_without_a_recording_speaks_by_what_its_own_weights_made(
    tone: menura.TTS, made: list[str | None]
) -> None:
    voice = of_prompts("1")
    assert voice_for(VoiceLibrary(), voice, tone).prompt.fingerprint == "1"
    assert planned_voice(VoiceLibrary(), voice, tone.spec).label == "Anna"
    assert made == []


def test_other_weights_say_that_they_cannot(tone: menura.TTS) -> None:
    voice = of_prompts("2")
    with pytest.raises(UnsupportedError, match="has no recording, and other weights"):
        voice_for(VoiceLibrary(), voice, tone)
    with pytest.raises(UnsupportedError, match="has no recording, and other weights"):
        planned_voice(VoiceLibrary(), voice, tone.spec)


def test_a_plan_makes_nothing(tone: menura.TTS, made: list[str | None]) -> None:
    voice = planned_voice(VoiceLibrary(), kept("Anna"), tone.spec)
    assert (voice.label, voice.prompt.engine, voice.prompt.arrays) == ("Anna", "tone", {})
    assert made == []


def test_what_is_damaged_or_gone_is_said(tone: menura.TTS) -> None:
    voice = kept("Anna")
    (voice.folder / "clips" / "1.flac").write_bytes(b"fLaC")
    with pytest.raises(InvalidValueError, match="damaged"):
        voice_for(VoiceLibrary(), voice, tone)
    VoiceLibrary().remove("Anna")
    with pytest.raises(VoiceNotFoundError):
        voice_for(VoiceLibrary(), voice, tone)


def test_a_prompt_on_a_full_disk_is_spoken_all_the_same(
    tone: menura.TTS, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    voice = kept("Anna")
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert voice_for(VoiceLibrary(), voice, tone).label == "Anna"
    assert "is not kept" in caplog.text
