import numpy as np
import pytest

from menura.audio.pcm import FloatArray, checked, to_s16
from menura.errors import InvalidValueError, NumericsError


def test_every_16_bit_value_survives_a_round_trip() -> None:
    every = np.arange(-32_768, 32_768, dtype=np.int16)
    samples: FloatArray = np.divide(every, 32_768, dtype=np.float32)
    np.testing.assert_array_equal(to_s16(samples), every)


def test_halves_round_to_even() -> None:
    halves = np.array([0.5, 1.5, 2.5, -0.5, -1.5], np.float32) / np.float32(32_768)
    assert to_s16(halves).tolist() == [0, 2, 2, 0, -2]


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.0, 32_767), (-1.0, -32_768), (7.5, 32_767), (-3e38, -32_768), (3e38, 32_767)],
)
def test_samples_past_full_scale_are_clipped(value: float, expected: int) -> None:
    assert to_s16(np.array([value], np.float32)).tolist() == [expected]


def test_s16_is_little_endian() -> None:
    assert to_s16(np.array([1 / 32_768], np.float32)).tobytes() == b"\x01\x00"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_samples_that_are_not_numbers_are_refused_with_their_place(bad: float) -> None:
    with pytest.raises(NumericsError, match=r"^sample 2 of 4 is -?(nan|inf)"):
        checked(np.array([0, 0, bad, bad], np.float32))


def test_samples_with_channels_are_refused_with_their_shape() -> None:
    with pytest.raises(InvalidValueError, match=r"shape \(5, 2\)"):
        checked(np.zeros((5, 2), np.float32))
