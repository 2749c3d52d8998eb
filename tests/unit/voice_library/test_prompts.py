"""What engines made is kept for these weights and this very recording, and never trusted more."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from menura.engines.contract import EngineSpec
from menura.voice_library import prompts
from menura.voice_library.library import LibraryVoice, VoiceLibrary
from tests.kept_voices import kept
from tests.tone.engine import ToneEngine
from tests.zipped_voices import made_by_tone

SPEC = ToneEngine().spec


@pytest.fixture
def voice() -> LibraryVoice:
    return kept("Anna 👩‍🦰")  # a label that a voice's file would refuse


def found(voice: LibraryVoice, spec: EngineSpec = SPEC, mode: str = "auto") -> bool:
    return prompts.cached(voice, spec, mode) is not None


def the_file(voice: LibraryVoice) -> Path:
    [path] = (voice.folder / "prompts").iterdir()
    return path


def test_what_was_kept_comes_back_with_the_voices_label(voice: LibraryVoice) -> None:
    assert not found(voice)
    made = made_by_tone()
    prompts.keep(voice, made)
    assert the_file(voice).name.startswith("tone.1.auto.")
    cached = prompts.cached(voice, SPEC)
    assert cached is not None
    assert cached.label == "Anna 👩‍🦰"
    assert cached.origin == made.origin
    assert np.array_equal(cached.prompt.arrays["embedding"], made.prompt.arrays["embedding"])
    assert [(mode, one.label) for mode, one in prompts.all_of(voice)] == [("auto", voice.label)]


def test_other_weights_and_other_modes_have_their_own(voice: LibraryVoice) -> None:
    prompts.keep(voice, made_by_tone())
    assert found(voice)
    assert not found(voice, replace(SPEC, fingerprint="2"))
    assert not found(voice, replace(SPEC, engine="other"))
    assert not found(voice, mode="x_vector")
    prompts.keep(voice, made_by_tone("2"), "x_vector")
    assert found(voice, replace(SPEC, fingerprint="2"), "x_vector")
    assert len(list(prompts.all_of(voice))) == 2


def test_weights_without_a_name_keep_nothing(voice: LibraryVoice) -> None:
    prompts.keep(voice, made_by_tone(""))
    assert not (voice.folder / "prompts").exists()
    assert not found(voice, replace(SPEC, fingerprint=""))


@pytest.mark.parametrize("fingerprint", ["../../x", "a/b", "a" * 100, "ä.ö", "."])
def test_a_strange_fingerprint_is_no_path(fingerprint: str, voice: LibraryVoice) -> None:
    prompts.keep(voice, made_by_tone(fingerprint))
    assert the_file(voice).parent == voice.folder / "prompts"
    assert found(voice, replace(SPEC, fingerprint=fingerprint))


def test_a_record_that_was_edited_by_hand_is_another_recording(voice: LibraryVoice) -> None:
    prompts.keep(voice, made_by_tone())
    record = json.loads((voice.folder / "voice.json").read_text("utf-8"))
    record["clips"][0]["transcript"] = "Something else."
    (voice.folder / "voice.json").write_text(json.dumps(record))
    [edited] = VoiceLibrary().voices()
    assert not found(edited)
    assert list(prompts.all_of(edited)) == []


def test_a_file_with_other_weights_inside_is_passed_over(voice: LibraryVoice) -> None:
    prompts.keep(voice, made_by_tone("2"))
    file = the_file(voice)
    file.rename(file.with_name(file.name.replace("tone.2.", "tone.1.")))
    assert not found(voice)


@pytest.mark.parametrize("content", [b"", b"damaged", b"\x80\x04."])
def test_a_damaged_file_is_passed_over(content: bytes, voice: LibraryVoice) -> None:
    prompts.keep(voice, made_by_tone())
    the_file(voice).write_bytes(content)
    assert not found(voice)
    assert list(prompts.all_of(voice)) == []
    prompts.keep(voice, made_by_tone())
    assert found(voice)


def test_a_link_is_not_followed(voice: LibraryVoice, tmp_path: Path) -> None:
    prompts.keep(voice, made_by_tone())
    file = the_file(voice)
    file.rename(tmp_path / "elsewhere.safetensors")
    file.symlink_to(tmp_path / "elsewhere.safetensors")
    assert not found(voice)
    file.unlink()
    file.parent.rmdir()
    (tmp_path / "outside").mkdir()
    file.parent.symlink_to(tmp_path / "outside")
    prompts.keep(voice, made_by_tone())
    assert list((tmp_path / "outside").iterdir()) == []


def test_a_disk_that_takes_nothing_costs_time_alone(
    voice: LibraryVoice, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Read-only file system")

    monkeypatch.setattr(Path, "mkdir", refuse)
    prompts.keep(voice, made_by_tone())
    assert voice.id in caplog.text
    assert voice.label not in caplog.text
    assert not found(voice)
