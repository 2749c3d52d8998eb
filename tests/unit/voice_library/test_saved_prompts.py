"""Voices of saved prompts: files of `Voice.save`, and pickles by the isolated reader alone."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import menura
from menura import voice_files
from menura.engines.qwen3_tts.tiny import write
from menura.errors import InvalidValueError, UnsupportedError
from menura.speech import Origin, Voice
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.record import Consent, SourceKind
from menura.voice_library.saved_prompts import from_saved, from_upstream, label_from
from tests.zipped_voices import Sentinel, made_by_tone

CODES = torch.arange(32).reshape(2, 16)
ITEM = {
    "ref_code": CODES,
    "ref_spk_embedding": torch.linspace(-1, 1, 64),
    "x_vector_only_mode": False,
    "icl_mode": True,
    "ref_text": "What I say.",
}


def test_a_saved_voice_keeps_its_consent_and_its_day() -> None:
    made = from_saved(voice_files.to_bytes(made_by_tone()), "anna.safetensors", "Other words.")
    assert (made.label, made.clips) == ("Anna", ())
    assert made.source.kind is SourceKind.IMPORT
    assert made.consent == Consent("I agree.", "2026-11-30")
    [prompt] = made.prompts
    assert prompt.mode == "auto"
    assert prompt.voice.prompt.engine == "tone"


@pytest.mark.parametrize("made_on", ["", "yesterday", "20-1-1", "2026-11-30T12:00"])
def test_a_consent_may_be_given_for_one_that_has_none(made_on: str) -> None:
    bare = replace(made_by_tone(), origin=Origin("", "", made_on), label=" ")
    made = from_saved(voice_files.to_bytes(bare), "x", "I agree too.")
    assert made.consent is not None
    assert made.consent.text == "I agree too."
    assert made.label == "Imported voice"
    assert from_saved(voice_files.to_bytes(bare), "x").consent is None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (voice_files.to_bytes(made_by_tone("")), "which weights made it"),
        (pickle.dumps({"a": 1}), "pickle or an archive"),
        (b"PK\x03\x04" + bytes(40), "pickle or an archive"),
        (b"", "has only 0 bytes"),
        ((2**40).to_bytes(8, "little"), "its header claims"),
        ((2**20 + 1).to_bytes(8, "little") + bytes(2**20 + 1), "its header claims"),
    ],
)
def test_a_file_that_is_no_sound_saved_voice_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        from_saved(data, "x.safetensors")


def test_a_pickle_under_another_name_runs_nothing(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    with pytest.raises(InvalidValueError, match="pickle"):
        from_saved(pickle.dumps(Sentinel(ran)), "x.safetensors")
    assert not ran.exists()


def test_voices_of_upstream_speak_with_the_model_that_made_them(tmp_path: Path) -> None:
    model = str(write(tmp_path / "model"))
    path = tmp_path / "my_voices.pt"
    torch.save({"items": [ITEM, ITEM]}, path)
    first, second = from_upstream(path, model, "I agree.")
    assert [first.label, second.label] == ["my voices 1", "my voices 2"]
    library = VoiceLibrary(tmp_path / "voices")
    kept = library.add(first)
    spec = menura.describe(model)
    made = library.cached_prompt(kept, spec)
    assert isinstance(made, Voice)
    assert (made.prompt.mode, made.prompt.transcript) == ("in_context", "What I say.")
    assert np.array_equal(made.prompt.arrays["codes"], CODES.numpy())


def test_a_pickle_that_would_run_code_is_refused_by_its_engine(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    path = tmp_path / "prompt.pt"
    torch.save({"items": [{**ITEM, "ref_text": Sentinel(ran)}]}, path)
    with pytest.raises(InvalidValueError, match="could run code") as caught:
        from_upstream(path, str(write(tmp_path / "model")))
    assert caught.value.param == "file"
    assert not ran.exists()


def test_a_model_of_another_width_refuses_them(tmp_path: Path) -> None:
    path = tmp_path / "prompt.pt"
    torch.save({"items": [{**ITEM, "ref_spk_embedding": torch.zeros(65)}]}, path)
    with pytest.raises(InvalidValueError, match=r"float32 \[64\]"):
        from_upstream(path, str(write(tmp_path / "model")))


def test_a_model_without_saved_prompts_says_so(tmp_path: Path) -> None:
    path = tmp_path / "prompt.pt"
    path.write_bytes(b"x")
    with pytest.raises(UnsupportedError, match="name the model"):
        from_upstream(path, "builtin")


def test_a_label_is_made_of_any_word() -> None:
    assert label_from("my_voice") == "my voice"
    assert label_from("lib:x") == "Imported voice"
    assert len(label_from("x" * 300)) == 72
