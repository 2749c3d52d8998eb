import numpy as np
import pytest

from menura.audio.resample import resample
from tests.unit.audio.reference_decoders import tone


def test_equal_rates_give_the_same_array() -> None:
    samples = tone(100, 24_000)
    assert resample(samples, 24_000, 24_000) is samples


@pytest.mark.parametrize(
    ("n", "from_hz", "to_hz", "expected"),
    [
        (24_000, 24_000, 48_000, 48_000),
        (44_100, 44_100, 48_000, 48_000),
        (3, 24_000, 48_000, 6),
        (1, 48_000, 24_000, 1),
        (0, 48_000, 24_000, 0),
        (72_011, 44_100, 24_000, 39_190),
    ],
)
def test_length_is_the_ratio_with_halves_up(
    n: int, from_hz: int, to_hz: int, expected: int
) -> None:
    assert resample(tone(n, from_hz), from_hz, to_hz).shape == (expected,)


def test_a_tone_keeps_its_pitch_phase_and_level() -> None:
    resampled = resample(tone(44_100, 44_100), 44_100, 24_000)
    middle = slice(2_000, -2_000)
    np.testing.assert_allclose(resampled[middle], tone(24_000, 24_000)[middle], atol=1e-4)
    assert resampled.dtype == np.float32
