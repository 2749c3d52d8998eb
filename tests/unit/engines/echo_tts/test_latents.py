import numpy as np
import pytest
import torch

from menura.engines.echo_tts import latents as latents_module
from menura.engines.echo_tts.latents import (
    LatentProjection,
    flattening_point,
    speaker_latents,
)
from menura.speech import FloatArray
from tests.unit.engines.echo_tts.random_autoencoder import (
    LATENT_DIM,
    SAMPLES_PER_FRAME,
    random_autoencoder,
)

AUTOENCODER = random_autoencoder()
N_CHANNELS = 80


def projection() -> LatentProjection:
    """Rows that are neither of unit length nor orthogonal."""
    generator = torch.Generator().manual_seed(0)
    components = torch.randn(3, LATENT_DIM, generator=generator)
    return LatentProjection(components, torch.full((LATENT_DIM,), 0.25), torch.tensor([0.5]))


def noise(n_frames: int) -> FloatArray:
    return np.random.default_rng(3).normal(0, 1, (n_frames, N_CHANNELS)).astype(np.float32)


def clip(n_frames: int, extra: int = 0) -> FloatArray:
    n_samples = n_frames * SAMPLES_PER_FRAME + extra
    return np.random.default_rng(n_samples).normal(0, 0.2, n_samples).astype(np.float32)


def test_projections_by_hand() -> None:
    rows = LatentProjection(
        torch.tensor([[1.0, 2.0], [0.0, 3.0]]), torch.tensor([1.0, -1.0]), torch.tensor([0.5])
    )
    latents = rows.to_latents(np.array([[2.0, 1.0]], np.float32))
    assert latents.tolist() == [[2.5, 3.0]]
    assert rows.to_z_q(latents).tolist() == [[6.0, 27.0]]
    assert latents.dtype == np.float32


@pytest.mark.parametrize(
    ("flat_from", "level", "found"),
    [(0, 0.0, 0), (25, 0.0, 25), (45, 0.0, 45), (59, 0.0, 59), (30, 0.09, 30), (30, -0.09, 30)],
)
def test_speech_ends_where_the_first_flat_stretch_begins(
    flat_from: int, level: float, found: int
) -> None:
    latents = noise(60)
    latents[flat_from:] = level
    assert flattening_point(latents) == found


@pytest.mark.parametrize(("length", "found"), [(60, 60), (5, 5), (0, 0)])
def test_without_a_flat_stretch_all_is_speech(length: int, found: int) -> None:
    assert flattening_point(noise(length)) == found


@pytest.mark.parametrize(("pause", "found"), [(19, 60), (20, 10), (25, 10)])
def test_a_pause_of_twenty_frames_ends_speech(pause: int, found: int) -> None:
    latents = noise(60)
    latents[10 : 10 + pause] = 0
    assert flattening_point(latents) == found


@pytest.mark.parametrize(("spread", "found"), [(0.0499, 10), (0.0501, 21)])
def test_the_spread_is_the_unbiased_one_of_all_values(spread: float, found: int) -> None:
    tail = np.random.default_rng(4).normal(0, 1, (20, N_CHANNELS))
    tail *= spread / tail.std(ddof=1)
    following = np.zeros((30, N_CHANNELS))
    latents = np.concatenate([noise(10), tail - tail.mean(), following]).astype(np.float32)
    latents[30:] = 0.2 * np.sign(noise(30))
    assert (flattening_point(latents) == found) == (found == 10)


@pytest.mark.parametrize(("level", "is_flat"), [(0.0999, True), (0.1001, False)])
def test_a_flat_stretch_lies_around_zero(level: float, *, is_flat: bool) -> None:
    latents = np.full((40, N_CHANNELS), level, np.float32)
    assert (flattening_point(latents) == 0) == is_flat


@pytest.mark.parametrize(
    ("n_frames", "extra", "kept"), [(0, 5, 0), (3, 15, 0), (4, 0, 4), (7, 15, 4), (8, 1, 8)]
)
def test_whole_patches_of_whole_frames_are_kept(n_frames: int, extra: int, kept: int) -> None:
    found = speaker_latents(AUTOENCODER, projection(), clip(n_frames, extra))
    assert found.shape == (kept, 3)
    assert found.dtype == np.float32


def test_every_chunk_is_encoded_alone() -> None:
    samples, frame = clip(20), SAMPLES_PER_FRAME
    found = speaker_latents(AUTOENCODER, projection(), samples, chunk_frames=8)
    alone = [
        projection().to_latents(AUTOENCODER.encode(samples[first * frame : last * frame]))
        for first, last in ((0, 8), (8, 16), (16, 20))
    ]
    assert np.array_equal(found, np.concatenate(alone))
    assert not np.array_equal(found, speaker_latents(AUTOENCODER, projection(), samples))


def test_what_is_beyond_the_longest_recording_is_not_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = speaker_latents(AUTOENCODER, projection(), clip(20))
    monkeypatch.setattr(latents_module, "LONGEST_FRAMES", 8)
    found = speaker_latents(AUTOENCODER, projection(), clip(20))
    assert found.shape == (8, 3)
    assert np.allclose(found, whole[:8], atol=1e-5)


def test_silence_after_a_chunk_would_change_nothing() -> None:
    samples = clip(8)
    padded = np.pad(samples, (0, 24 * SAMPLES_PER_FRAME))
    z_q = AUTOENCODER.encode(padded)[:8]
    assert np.allclose(AUTOENCODER.encode(samples), z_q, atol=1e-5)
