import numpy as np
import pytest

from menura.audio.pcm import FloatArray
from menura.audio.pitch import RATE_HZ, frames_of, pitch_of


def pulses(hz: float, seconds: float) -> FloatArray:
    """A buzz with harmonics, as vocal folds make it."""
    time = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    wave = sum(np.sin(2 * np.pi * hz * k * time) / k for k in range(1, 9))
    return np.asarray(0.2 * wave, np.float32)


@pytest.mark.parametrize("hz", [70.0, 100.0, 220.0, 440.0])
def test_the_pitch_of_a_buzz_is_found(hz: float) -> None:
    found = pitch_of(pulses(hz, 1.0))
    assert found.is_voiced.all()
    np.testing.assert_allclose(found.hz, hz, rtol=0.03)


def test_noise_and_silence_have_no_pitch() -> None:
    noise = np.random.default_rng(0).standard_normal(RATE_HZ).astype(np.float32)
    assert pitch_of(noise).is_voiced.mean() < 0.02
    assert not pitch_of(np.zeros(RATE_HZ, np.float32)).is_voiced.any()


def test_there_is_a_frame_every_20_ms() -> None:
    assert frames_of(np.zeros(RATE_HZ, np.float32)).shape == (48, 800)
    assert pitch_of(np.zeros(799, np.float32)).hz.shape == (0,)


def test_long_audio_is_taken_in_pieces_without_a_seam() -> None:
    found = pitch_of(pulses(110.0, 25.0))
    assert found.hz.shape == found.is_voiced.shape == (1248,)
    assert np.unique(found.hz).size == 1
