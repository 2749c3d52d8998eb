"""Voices kept in files, and what the engine makes sure of before it speaks with one (report 36)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import menura
from menura.engines.contract import VoicePrompt
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.errors import InvalidValueError, UnsupportedError

RATE_HZ = 24_000
SAID = "A tone that beeps, again and again."
Arrays = dict[str, NDArray[np.generic]]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> menura.TTS:
    return menura.load(write(tmp_path_factory.mktemp("tiny")), precision="exact")


@pytest.fixture(scope="module")
def voice(base: menura.TTS) -> menura.Voice:
    time = np.arange(4 * RATE_HZ) / RATE_HZ
    burst = (time % 0.5 < 0.4) & (time < 3.9)
    clip = (0.3 * np.sin(2 * np.pi * 180 * time) * burst).astype(np.float32)
    return base.voice(clip, transcript=SAID, rate_hz=RATE_HZ)


def test_a_saved_voice_speaks_the_same_codes(
    base: menura.TTS, voice: menura.Voice, tmp_path: Path
) -> None:
    loaded = menura.load_voice(voice.save(tmp_path / "me.safetensors"))
    before, after = (base.speak("Hi.", voice=v, seed=1, max_new_tokens=4) for v in (voice, loaded))
    assert loaded.prompt.mode == "in_context"
    assert loaded.codes is not None
    assert np.array_equal(before.samples, after.samples)


def test_a_saved_voice_of_other_weights_is_refused_without_loading_any(
    voice: menura.Voice, tmp_path: Path
) -> None:
    loaded = menura.load_voice(voice.save(tmp_path / "me.safetensors"))
    request = menura.SpeechRequest("Hi.", voice=loaded)
    other, same, preset = (tmp_path / name for name in ("other", "same", "preset"))
    for folder in (other, same, preset):
        folder.mkdir()
    with pytest.raises(UnsupportedError, match="other weights"):
        menura.api.preview(request, menura.describe(write(other, Tiny("base", seed=1))))
    with pytest.raises(UnsupportedError, match=r"own voices are: vivian.*base"):
        menura.api.preview(request, menura.describe(write(preset, Tiny("custom_voice"))))
    plan = menura.api.preview(request, menura.describe(write(same)))
    assert plan.applied["voice"] == "clip"


def test_a_description_has_the_fingerprint_of_the_loaded_weights(tmp_path: Path) -> None:
    folder = write(tmp_path)
    described = menura.describe(folder)
    assert described.fingerprint == menura.load(folder).spec.fingerprint
    assert len(described.fingerprint) == 16


def codes(*shape: int, entry: int = 0) -> Arrays:
    return {"codes": np.full(shape, entry, np.int64)}


def without(name: str) -> Callable[[Arrays], Arrays]:
    return lambda arrays: {key: array for key, array in arrays.items() if key != name}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without("codes"), "exactly: codes, embedding"),
        (without("embedding"), "exactly: codes, embedding"),
        (lambda arrays: arrays | {"more": np.zeros(1)}, "exactly"),
        (lambda arrays: arrays | {"embedding": np.zeros(63, np.float32)}, r"float32 \[64\]"),
        (lambda arrays: arrays | {"embedding": np.zeros(64)}, r"float32 \[64\]"),
        (lambda arrays: arrays | codes(4, 15), r"int64 \[frames, 16\]"),
        (lambda arrays: arrays | {"codes": np.zeros((4, 16), np.int32)}, "int64"),
        (lambda arrays: arrays | codes(0, 16), "from 1 to 3814 frames, not 0"),
        (lambda arrays: arrays | codes(3815, 16), "not 3815"),
        (lambda arrays: arrays | codes(4, 16, entry=-1), "from 0 to 255"),
        (lambda arrays: arrays | codes(4, 16, entry=256), "from 0 to 255"),
    ],
)
def test_a_voice_whose_parts_do_not_fit_is_refused(
    base: menura.TTS, voice: menura.Voice, change: Callable[[Arrays], Arrays], said: str
) -> None:
    prompt = replace(voice.prompt, arrays=change(dict(voice.prompt.arrays)))
    refused(base, voice, prompt, said)


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"mode": "latent"}, "in_context, x_vector"), ({"transcript": None}, "transcript")],
)
def test_a_voice_of_an_unknown_mode_or_without_its_words_is_refused(
    base: menura.TTS, voice: menura.Voice, changes: dict[str, str | None], said: str
) -> None:
    given = vars(voice.prompt) | changes
    refused(base, voice, VoicePrompt(**given), said)


def refused(base: menura.TTS, voice: menura.Voice, prompt: VoicePrompt, said: str) -> None:
    with pytest.raises(InvalidValueError, match=said) as caught:
        base.speak("Hi.", voice=replace(voice, prompt=prompt), seed=1, max_new_tokens=4)
    assert caught.value.param == "voice"
