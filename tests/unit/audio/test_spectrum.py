import numpy as np
import pytest

from menura.audio.resample import resample
from menura.audio.spectrum import bandwidth_hz

NOISE = (0.1 * np.random.default_rng(1).standard_normal(96_000)).astype(np.float32)


def test_noise_reaches_half_the_rate() -> None:
    assert bandwidth_hz(NOISE, 48_000) == 24_000


@pytest.mark.parametrize("rate_hz", [8_000, 16_000])
def test_what_was_at_a_lower_rate_reaches_no_higher_than_that(rate_hz: int) -> None:
    dull = resample(resample(NOISE, 48_000, rate_hz), rate_hz, 48_000)
    assert bandwidth_hz(dull, 48_000) == pytest.approx(rate_hz / 2, rel=0.06)


def test_silence_and_less_than_a_frame_reach_nothing() -> None:
    assert bandwidth_hz(np.zeros(48_000, np.float32), 48_000) == 0.0
    assert bandwidth_hz(NOISE[:100], 48_000) == 0.0
