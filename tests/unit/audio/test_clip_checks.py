import numpy as np
import pytest

from menura.audio.clip_checks import check_clip
from menura.audio.pcm import FloatArray
from menura.errors import AudioTooLargeError, InvalidValueError

RATE_HZ = 100
BEST = "ten seconds of speech"


def clip(n_samples: int, last: float = 0.5) -> FloatArray:
    samples = np.full(n_samples, 0.25, np.float32)
    samples[-1:] = last
    return samples


@pytest.mark.parametrize("samples", [clip(50), clip(30_000), clip(50, 4.0), clip(50, -3.9)])
def test_a_clip_within_the_bounds_passes(samples: FloatArray) -> None:
    check_clip(samples, RATE_HZ, 0.5, BEST)


@pytest.mark.parametrize(
    ("samples", "said"),
    [
        (clip(0), r"0.000 s \(0 samples\), and .* 0.500 s \(50 samples at 100 Hz\); give ten"),
        (clip(49), "0.490 s"),
        (clip(50, np.nan), "NaN"),
        (clip(50, -np.inf), "infinite"),
        (clip(50, -4.1), "reach 4.1"),
        (np.full(50, 9e-5, np.float32), "silent"),
    ],
)
def test_what_makes_no_voice_is_refused(samples: FloatArray, said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        check_clip(samples, RATE_HZ, 0.5, BEST)


def test_more_than_five_minutes_are_refused() -> None:
    with pytest.raises(AudioTooLargeError, match="at most 300 s; give ten seconds of speech"):
        check_clip(clip(30_001), RATE_HZ, 0.5, BEST)


def test_a_clip_one_sample_short_is_told_in_samples() -> None:
    with pytest.raises(InvalidValueError, match=r"0\.186 s \(8191 samples\).* \(8192 samples"):
        check_clip(clip(8191), 44_100, 8192 / 44_100, BEST)
