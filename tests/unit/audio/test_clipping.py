import numpy as np

from menura.audio.clipping import clipped_places
from menura.audio.pcm import FloatArray

RATE_HZ = 24_000


def wave(peak: float) -> FloatArray:
    """A second of 200 Hz that swells once in the middle."""
    time = np.arange(RATE_HZ) / RATE_HZ
    swell = np.where(np.abs(time - 0.5) < 0.05, peak, 0.4)
    return (swell * np.sin(2 * np.pi * 200 * time)).astype(np.float32)


def test_cut_peaks_close_together_are_one_place() -> None:
    [(start, end)] = clipped_places(np.clip(wave(1.5), -1, 1), RATE_HZ)
    assert 0.44 < start < 0.46
    assert 0.54 < end < 0.56


def test_peaks_that_were_cut_and_turned_down_are_found() -> None:
    assert len(clipped_places(0.5 * np.clip(wave(1.5), -1, 1), RATE_HZ)) == 1


def test_natural_peaks_are_not_cut() -> None:
    assert clipped_places(wave(1.0), RATE_HZ) == ()
    assert clipped_places(wave(0.9), RATE_HZ) == ()
    assert clipped_places(np.zeros(100, np.float32), RATE_HZ) == ()
    assert clipped_places(np.zeros(0, np.float32), RATE_HZ) == ()


def test_places_far_apart_are_counted() -> None:
    samples = wave(0.4)
    samples[[1000, 1001, 1002, 1003, 12_000, 12_001, 12_002]] = 1.0
    samples[[20_000, 20_001]] = 1.0  # two samples are a peak
    assert clipped_places(samples, RATE_HZ) == ((0.042, 0.042), (0.5, 0.5))
