import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from menura.audio.clip_checks import VoiceWarning
from menura.engines.contract import VoicePrompt
from menura.engines.echo_tts.config import PUBLISHED
from menura.engines.echo_tts.latents import LatentProjection, speaker_latents
from menura.engines.echo_tts.voice_encoder import (
    EchoVoiceEncoder,
    check_prompt,
    fingerprint_of,
    heard,
)
from menura.errors import AudioTooLargeError, InvalidValueError, ModelFilesError
from menura.speech import FloatArray, Reference
from tests.unit.engines.echo_tts.random_autoencoder import (
    LATENT_DIM,
    SAMPLES_PER_FRAME,
    random_autoencoder,
)

RATE_HZ = 1600
AUTOENCODER = random_autoencoder()
PROJECTION = LatentProjection(
    torch.randn(80, LATENT_DIM, generator=torch.Generator().manual_seed(0)),
    torch.zeros(LATENT_DIM),
    torch.tensor([0.5]),
)
ENCODER = EchoVoiceEncoder(AUTOENCODER, PROJECTION, "name of the weights", is_exact=True)


def clip(n_samples: int, peak: float = 0.5) -> FloatArray:
    noise = np.random.default_rng(n_samples).uniform(-1, 1, n_samples)
    scaled: FloatArray = (noise * peak / np.abs(noise).max(initial=1e-9)).astype(np.float32)
    return scaled


@pytest.mark.parametrize("mode", ["auto", "latents"])
def test_a_voice_is_the_latents_of_the_clip(mode: str) -> None:
    samples = clip(5 * RATE_HZ)
    with warnings.catch_warnings(action="error"):
        voice = ENCODER.encode(Reference(samples, RATE_HZ), mode)
    assert (voice.engine, voice.mode) == ("echo-tts", "latents")
    assert (voice.fingerprint, voice.transcript) == ("name of the weights", None)
    assert list(voice.arrays) == ["latents"]
    assert np.array_equal(
        voice.arrays["latents"], speaker_latents(AUTOENCODER, PROJECTION, samples)
    )
    check_prompt(voice, PUBLISHED)


def test_a_transcript_is_kept_and_that_it_is_not_read_is_told_once() -> None:
    with pytest.warns(VoiceWarning, match="Echo-TTS does not read it") as told:
        voice = ENCODER.encode(Reference(clip(5 * RATE_HZ), RATE_HZ, "what is said"), "auto")
    assert voice.transcript == "what is said"
    assert len(told) == 1


def test_a_short_clip_is_warned_of() -> None:
    shortest = 4 * SAMPLES_PER_FRAME
    with pytest.warns(VoiceWarning, match=r"only 0\.0 s; 10 to 30 seconds"):
        voice = ENCODER.encode(Reference(clip(shortest), RATE_HZ), "auto")
    assert voice.arrays["latents"].shape == (4, 80)


@pytest.mark.parametrize("is_exact", [True, False])
@pytest.mark.parametrize("rate_hz", [800, 1601, 4410])
def test_the_shortest_clip_of_any_rate_has_one_patch(rate_hz: int, *, is_exact: bool) -> None:
    encoder = replace(ENCODER, is_exact=is_exact)
    n_samples = -(-4 * SAMPLES_PER_FRAME * rate_hz // RATE_HZ)
    with pytest.warns(VoiceWarning):
        voice = encoder.encode(Reference(clip(n_samples), rate_hz), "auto")
    assert voice.arrays["latents"].shape == (4, 80)
    with pytest.raises(InvalidValueError, match=r"needs at least 0\.040 s"):
        encoder.encode(Reference(clip(n_samples - 1), rate_hz), "auto")


@pytest.mark.parametrize(
    ("samples", "error", "said"),
    [
        (np.zeros(RATE_HZ, np.float32), InvalidValueError, "silent"),
        (np.full(RATE_HZ, np.nan, np.float32), InvalidValueError, "NaN"),
        (clip(301 * RATE_HZ), AudioTooLargeError, "10 to 30 seconds of clear speech"),
    ],
)
def test_what_makes_no_voice_is_refused(
    samples: FloatArray, error: type[InvalidValueError] | type[AudioTooLargeError], said: str
) -> None:
    with pytest.raises(error, match=said):
        ENCODER.encode(Reference(samples, RATE_HZ), "auto")


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="Did you mean 'latents'"):
        ENCODER.encode(Reference(clip(RATE_HZ), RATE_HZ), "latent")


def test_only_what_is_louder_than_full_scale_is_changed() -> None:
    quiet, loud = clip(100), clip(100, peak=2.0)
    assert np.array_equal(heard(Reference(quiet, RATE_HZ), RATE_HZ, is_exact=True), quiet)
    assert np.array_equal(heard(Reference(loud, RATE_HZ), RATE_HZ, is_exact=False), loud / 2)


def test_exact_and_fast_resampling_differ_a_little() -> None:
    time = np.arange(4_000) / 4_000
    reference = Reference(np.sin(2 * np.pi * 200 * time).astype(np.float32), 4_000)
    exact, fast = (heard(reference, RATE_HZ, is_exact=is_exact) for is_exact in (True, False))
    assert len(exact) == len(fast) == RATE_HZ
    assert 1e-6 < np.abs(exact - fast)[100:-100].max() < 1e-2


def voice(latents: np.ndarray | None, mode: str = "latents") -> VoicePrompt:
    arrays = {} if latents is None else {"latents": latents}
    return VoicePrompt("echo-tts", "name", mode, arrays, None)


@pytest.mark.parametrize(
    ("prompt", "fault"),
    [
        (voice(None), "exactly: latents"),
        (voice(np.zeros((4, 80), np.float32), "codes"), "mode 'codes'"),
        (voice(np.zeros((4, 80))), "float32"),
        (voice(np.zeros((4, 79), np.float32)), r"\[frames, 80\]"),
        (voice(np.zeros((0, 80), np.float32)), "from 4 to 6400 frames"),
        (voice(np.zeros((6, 80), np.float32)), "a multiple of 4, not 6"),
        (voice(np.zeros((6404, 80), np.float32)), "not 6404"),
        (voice(np.full((4, 80), np.nan, np.float32)), "NaN"),
    ],
)
def test_an_unsound_voice_is_refused(prompt: VoicePrompt, fault: str) -> None:
    with pytest.raises(InvalidValueError, match=fault):
        check_prompt(prompt, PUBLISHED)


def test_the_fingerprint_names_projection_and_autoencoder(tmp_path: Path) -> None:
    folder, beside = tmp_path / "model", tmp_path / "codec"
    found = set()
    for path in (folder / "pca_state.safetensors", beside / "pytorch_model.safetensors"):
        path.parent.mkdir()
        path.write_bytes(b"weights")
        found.add(fingerprint_of(folder, beside))
        path.write_bytes(b"other")
        found.add(fingerprint_of(folder, beside))
    assert len(found) == 4
    (folder / "pytorch_model.safetensors").write_bytes(b"the transformer makes no voices")
    assert fingerprint_of(folder, beside) in found


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "pca_state.safetensors").mkdir()
    with pytest.raises(ModelFilesError, match="pca_state"):
        fingerprint_of(tmp_path, tmp_path)
