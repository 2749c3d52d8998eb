"""Voices in files: kept whole, read without trust, used by their own model only (report 36)."""

import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import menura
from menura import voice_files
from menura.cli.request import request_of
from menura.cli.say import SayFlags
from menura.errors import InvalidValueError, MenuraError, UnsupportedError, VoiceNotFoundError
from menura.runtime.array_files import read_arrays, write_arrays
from menura.speech import Origin

RATE_HZ = 8_000
CLIP = np.sin(np.arange(4_000, dtype=np.float32))
ENDING = ".safetensors"


@pytest.fixture
def saved(tone: menura.TTS, tmp_path: Path) -> Path:
    """A saved voice of the tone engine."""
    voice = tone.voice(CLIP, transcript="Grüß Gott.", rate_hz=RATE_HZ, consent="I agree. Ada")
    return voice.save(tmp_path / "Ada.safetensors")


def edit(path: Path, change: Callable[[dict[str, object]], object]) -> None:
    """Change the record of a saved voice."""
    found = read_arrays(path, max_bytes=10_000)
    record = json.loads(found.metadata["menura_voice"])
    change(record)
    write_arrays(path, found.arrays, {"menura_voice": json.dumps(record)})


def test_a_saved_voice_comes_back_with_all_that_is_known_of_it(saved: Path) -> None:
    voice = menura.load_voice(saved)
    assert voice.label == "clip"
    assert voice.prompt.engine == "tone"
    assert voice.prompt.fingerprint == "1"
    assert voice.prompt.mode == "x_vector"
    assert voice.prompt.transcript == "Grüß Gott."
    assert voice.origin == Origin(
        clip_sha256=hashlib.sha256(CLIP.tobytes()).hexdigest(),
        consent="I agree. Ada",
        made_on=datetime.now(UTC).date().isoformat(),
    )
    level = np.sqrt(np.mean(CLIP**2, keepdims=True))
    assert voice.embedding is not None
    assert np.array_equal(voice.embedding, level)


def test_a_saved_voice_speaks_as_it_did(tone: menura.TTS, saved: Path) -> None:
    made = tone.voice(CLIP, transcript="Grüß Gott.", rate_hz=RATE_HZ)
    before = tone.speak("alpha", voice=made, seed=1)
    after = tone.speak("alpha", voice=menura.load_voice(str(saved)), seed=1)
    assert np.array_equal(before.samples, after.samples)
    assert after.applied["voice"] == "clip"


def test_a_loaded_voice_can_be_saved_again_byte_for_byte(saved: Path, tmp_path: Path) -> None:
    again = menura.load_voice(saved).save(str(tmp_path / "again.SAFETENSORS"))
    assert again.read_bytes() == saved.read_bytes()


def test_a_voice_without_a_transcript_has_none_afterwards(tone: menura.TTS, tmp_path: Path) -> None:
    path = tone.voice(CLIP, rate_hz=RATE_HZ).save(tmp_path / "a.safetensors")
    assert menura.load_voice(path).prompt.transcript is None


def test_a_voice_that_no_model_made_says_how_it_is_saved(saved: Path, tmp_path: Path) -> None:
    made = menura.load_voice(saved)
    bare = menura.Voice("Ada", made.prompt)
    path = tmp_path / "bare.safetensors"
    with pytest.raises(MenuraError, match=r"menura\.voices\.save"):
        bare.save(path)
    voice_files.save(bare, path)
    assert menura.load_voice(path).label == "Ada"
    assert menura.load_voice(path).origin == Origin()


@pytest.mark.parametrize("name", ["Ada", "Ada.voice", "Ada.pt", "Ada.safetensors.bak"])
def test_another_ending_is_refused(saved: Path, name: str, tmp_path: Path) -> None:
    voice = menura.load_voice(saved)
    with pytest.raises(InvalidValueError, match=r"ends in \.safetensors"):
        voice.save(tmp_path / name)


def test_a_label_that_would_move_the_cursor_is_not_saved(saved: Path) -> None:
    voice = replace(menura.load_voice(saved), label="\x1b[2J")
    with pytest.raises(InvalidValueError, match="label"):
        voice.save(saved)


@pytest.mark.parametrize("consent", [1, None, "x" * 20_001])
def test_a_consent_that_is_no_text_is_refused(tone: menura.TTS, consent: object) -> None:
    with pytest.raises(InvalidValueError, match="consent"):
        tone.voice(CLIP, rate_hz=RATE_HZ, consent=consent)  # type: ignore[arg-type]


def test_another_weights_saved_voice_is_refused(tone: menura.TTS, saved: Path) -> None:
    edit(saved, lambda record: record.update(fingerprint="2"))
    voice = menura.load_voice(saved)
    with pytest.raises(UnsupportedError, match="other weights"):
        tone.plan(menura.SpeechRequest("alpha", voice=voice))


def test_a_model_that_cannot_clone_refuses_it_before_it_speaks(
    tone: menura.TTS, saved: Path
) -> None:
    spec = replace(tone.spec, capabilities=frozenset())
    with pytest.raises(UnsupportedError, match="own voices are: low, high") as caught:
        menura.speech.validate(menura.SpeechRequest("alpha", voice=menura.load_voice(saved)), spec)
    assert caught.value.needs == "clone"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda record: record.update(schema=2), "newer Menura"),
        (lambda record: record.update(schema=0), "schema must be 1"),
        (lambda record: record.update(schema="1"), "schema must be 1"),
        (lambda record: record.update(schema=True), "schema must be 1"),
        (lambda record: record.pop("schema"), "must have exactly: schema, label"),
        (lambda record: record.pop("engine"), "must have exactly"),
        (lambda record: record.update(extra=1), "must have exactly"),
        (lambda record: record.update(label=3), "label must be a text"),
        (lambda record: record.update(engine=None), "engine must be a text"),
        (lambda record: record.update(label="x" * 201), "at most 200"),
        (lambda record: record.update(label="\u202e"), "cannot be printed"),
        (lambda record: record.update(transcript=["a"]), "transcript must be a text"),
        (lambda record: record.update(transcript="a\ud800"), "transcript holds halves"),
    ],
)
def test_a_record_that_is_not_as_it_should_be_is_refused(
    saved: Path, change: Callable[[dict[str, object]], object], said: str
) -> None:
    edit(saved, change)
    with pytest.raises(InvalidValueError, match=said) as caught:
        menura.load_voice(saved)
    assert caught.value.param == "voice"


@pytest.mark.parametrize("record", [None, "", "[]", "{", "null", "[" * 100_000])
def test_a_file_without_a_voices_record_is_no_voice(record: str | None, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    metadata = {} if record is None else {"menura_voice": record}
    write_arrays(path, {"x": np.ones(1, np.float32)}, metadata)
    with pytest.raises(InvalidValueError, match="no voice"):
        menura.load_voice(path)


def test_numbers_that_are_none_are_refused(saved: Path, tmp_path: Path) -> None:
    voice = menura.load_voice(saved)
    broken = replace(voice.prompt, arrays={"embedding": np.array([np.nan], np.float32)})
    path = replace(voice, prompt=broken).save(tmp_path / "broken.safetensors")
    with pytest.raises(InvalidValueError, match="NaN"):
        menura.load_voice(path)


class Sentinel:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_under_a_voices_name_runs_nothing(protocol: int, tmp_path: Path) -> None:
    ran, path = tmp_path / "ran", tmp_path / "voice.safetensors"
    path.write_bytes(pickle.dumps(Sentinel(ran), protocol))
    with pytest.raises(InvalidValueError):
        menura.load_voice(path)
    assert not ran.exists()
    pickle.loads(path.read_bytes())
    assert ran.exists()  # the file would have done it


@pytest.mark.parametrize("name", ["missing.safetensors", "."])
def test_a_file_that_is_not_there_is_said(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="no voice can be read"):
        menura.load_voice(tmp_path / name)


def test_the_command_line_takes_a_file_for_a_voice(saved: Path) -> None:
    request = request_of(SayFlags(voice=str(saved)), "alpha")
    assert isinstance(request.voice, menura.Voice)
    assert request.voice.prompt.transcript == "Grüß Gott."
    assert request_of(SayFlags(voice="high"), "alpha").voice == "high"
    assert request_of(SayFlags(voice=""), "alpha").voice == ""
    assert request_of(SayFlags(), "alpha").voice is None
    with pytest.raises(InvalidValueError, match="no voice can be read"):
        request_of(SayFlags(voice="nobody.safetensors"), "alpha")


def test_a_request_from_elsewhere_opens_no_file(tone: menura.TTS, saved: Path) -> None:
    with pytest.raises(VoiceNotFoundError, match="there is no voice"):
        tone.speak("alpha", voice=str(saved))


def test_what_is_said_to_be_the_librarys_is_no_file() -> None:
    assert (
        request_of(SayFlags(voice="lib:anna.safetensors"), "alpha").voice == "lib:anna.safetensors"
    )
