"""A record comes back as it was written; what is not wholly understood is an error (F11)."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from menura.errors import InvalidValueError
from menura.voice_library.record import (
    ClipRecord,
    Consent,
    SourceKind,
    VoiceDefaults,
    VoiceRecord,
    VoiceSource,
    checked,
    now,
    today,
)

ID = "voice_" + "0123456789abcdef" * 2
CLIP = ClipRecord("clips/1.flac", "0" * 64, "Grüß Gott.", 7.31, 24_000)
RECORD = VoiceRecord(
    id=ID,
    label="Anna",
    language="german",
    notes="From the radio play.",
    made_on="2026-11-30T12:00:00Z",
    edited_on="2026-12-01T12:00:00Z",
    consent=Consent("I agree. Anna", "2026-11-30", "consent.flac"),
    source=VoiceSource(SourceKind.DESIGN, "m", "a calm voice", "", 7),
    clips=(CLIP, replace(CLIP, file="clips/2.flac", transcript=None)),
    preview="preview.flac",
    defaults=VoiceDefaults("m", "german", "calmly", 1.25, {"top_k": 3, "sizes": [1, 2]}),
)


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    """The record's text after a change by hand."""
    content = json.loads(RECORD.to_json())
    change(content)
    return json.dumps(content)


def test_a_record_comes_back_as_it_was_written() -> None:
    text = RECORD.to_json()
    assert json.loads(text)["schema"] == 1
    assert "Grüß" in text  # a person can read it
    assert VoiceRecord.from_json(text) == RECORD
    assert checked(RECORD) == RECORD


def test_what_may_be_left_out_is_what_it_is_by_itself() -> None:
    content = json.loads(RECORD.to_json())
    must = ("schema", "id", "label", "made_on", "edited_on", "clips")
    clips = [{k: v for k, v in c.items() if k != "transcript"} for c in content["clips"]]
    text = json.dumps({name: content[name] for name in must} | {"clips": clips})
    record = VoiceRecord.from_json(text)
    assert record.defaults == VoiceDefaults()
    assert (record.consent, record.preview, record.language, record.notes) == (None, None, None, "")
    assert record.source == VoiceSource(SourceKind.IMPORT)
    assert record.clips[0].transcript is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.update(schema=2), r"newer Menura \(voice schema 2.*update Menura"),
        (lambda c: c.update(schema=0), "'schema' is 0"),
        (lambda c: c.update(schema="1"), "'schema' is \"1\""),
        (lambda c: c.pop("schema"), "'schema' is missing"),
        (lambda c: c.update(colour="red"), "'colour' is not a key that this version knows"),
        (lambda c: c["source"].update(path="/etc"), r"'source\.path' is not a key"),
        (lambda c: c["clips"][1].update(x=1), r"'clips\[1\]\.x' is not a key"),
        (lambda c: c["defaults"].update(x=1), r"'defaults\.x'"),
        (lambda c: c["consent"].update(x=1), r"'consent\.x'"),
        (lambda c: c.update(id="../../x"), "'id'"),
        (lambda c: c.update(id=ID + "/x"), "'id'"),
        (lambda c: c.update(label=""), "nothing that can be seen"),
        (lambda c: c.update(made_on="yesterday"), "'made_on'"),
        (lambda c: c.update(made_on=None), "'made_on'"),
        (lambda c: c.update(notes="x" * 4001), "'notes'"),
        (lambda c: c.update(clips=[]), "'clips' is empty"),
        (lambda c: c.update(clips={}), "'clips'"),
        (lambda c: c.update(preview="../preview.flac"), "'preview'"),
        (lambda c: c["consent"].update(recording="clips/1.flac"), r"'consent\.recording'"),
        (lambda c: c["consent"].update(given_on=""), r"'consent\.given_on'"),
        (lambda c: c["source"].update(kind="stolen"), r"'source\.kind'"),
        (lambda c: c["source"].update(seed=-1), r"'source\.seed'"),
        (lambda c: c["clips"][0].update(file="/etc/passwd"), r"'clips\[0\]\.file'"),
        (lambda c: c["clips"][0].update(file="clips/../x.flac"), r"'clips\[0\]\.file'"),
        (lambda c: c["clips"][0].update(file="clips/2.flac"), "one file twice"),
        (lambda c: c["clips"][0].update(file="clips/.flac"), r"'clips\[0\]\.file'"),
        (lambda c: c["clips"][0].update(sha256="0" * 63), r"'clips\[0\]\.sha256'"),
        (lambda c: c["clips"][0].update(seconds=True), r"'clips\[0\]\.seconds'"),
        (lambda c: c["clips"][0].update(sample_rate_hz=1), r"'clips\[0\]\.sample_rate_hz'"),
        (lambda c: c["defaults"].update(speed=9), r"'defaults\.speed'"),
        (lambda c: c["defaults"].update(options={"a": {}}), r"'defaults\.options'"),
    ],
)
def test_a_record_that_is_not_understood_is_refused(
    change: Callable[[dict[str, Any]], object], said: str
) -> None:
    with pytest.raises(InvalidValueError, match=said):
        VoiceRecord.from_json(changed(change))


def test_only_an_imported_voice_may_have_no_clip() -> None:
    bare = replace(RECORD, clips=(), source=VoiceSource(SourceKind.IMPORT))
    assert checked(bare) == bare


@pytest.mark.parametrize(
    "wrong",
    [
        {"notes": "\ud800"},
        {"language": 3},
        {"defaults": VoiceDefaults(options={"a": object()})},
        {"defaults": VoiceDefaults(options={"a": float("nan")})},
        {"clips": (replace(CLIP, seconds=float("inf")),)},
        {"consent": Consent("x" * 20_001, "2026-11-30")},
    ],
)
def test_what_could_not_be_read_again_is_not_written(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError):
        checked(replace(RECORD, **wrong))


def test_the_present_is_written_as_records_hold_it() -> None:
    assert checked(replace(RECORD, made_on=now(), consent=Consent("x", today())))
