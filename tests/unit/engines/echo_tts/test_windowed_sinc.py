import math

import numpy as np
import pytest

from menura.engines.echo_tts import windowed_sinc
from menura.engines.echo_tts.windowed_sinc import resample_sinc
from menura.speech import FloatArray


def tone(n_samples: int, rate_hz: int, hz: float = 440.0) -> FloatArray:
    return np.sin(2 * np.pi * hz * np.arange(n_samples) / rate_hz).astype(np.float32)


def by_hand(samples: FloatArray, from_hz: int, to_hz: int) -> list[float]:
    """The filter's definition, sample by sample: all inputs, weighted by their distance."""
    cutoff = 0.99 * min(from_hz, to_hz)  # zero crossings in a second
    found = []
    for place in range(math.ceil(len(samples) * to_hz / from_hz)):
        total = 0.0
        for index, sample in enumerate(samples):
            crossings = (index / from_hz - place / to_hz) * cutoff
            if abs(crossings) < 6:
                sinc = math.sin(math.pi * crossings) / (math.pi * crossings) if crossings else 1.0
                total += float(sample) * sinc * math.cos(math.pi * crossings / 12) ** 2
        found.append(total * cutoff / from_hz)
    return found


@pytest.mark.parametrize(
    ("from_hz", "to_hz"), [(24_000, 44_100), (48_000, 44_100), (44_100, 8_000), (11_025, 44_100)]
)
def test_every_output_is_the_weighted_sum_of_its_neighbours(from_hz: int, to_hz: int) -> None:
    samples = np.random.default_rng(0).normal(0, 1, 60).astype(np.float32)
    found = resample_sinc(samples, from_hz, to_hz)
    assert found.dtype == np.float32
    assert np.allclose(found, by_hand(samples, from_hz, to_hz), atol=2e-6)


def test_a_tone_stays_the_tone() -> None:
    found = resample_sinc(tone(4_800, 48_000), 48_000, 44_100)
    assert found.shape == (4_410,)
    assert np.abs(found - tone(4_410, 44_100))[100:-100].max() < 5e-3


@pytest.mark.parametrize("block", [1, 7, 100])
def test_blocks_do_not_change_the_result(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = tone(200, 24_000)
    whole = resample_sinc(samples, 24_000, 44_100)
    monkeypatch.setattr(windowed_sinc, "_BLOCK", block)
    assert np.allclose(resample_sinc(samples, 24_000, 44_100), whole, atol=1e-7)


def test_rates_without_a_common_divisor_take_no_table_of_all_phases() -> None:
    samples = tone(4_409, 44_099)
    found = resample_sinc(samples, 44_099, 44_100)
    assert found.shape == (4_410,)
    assert np.abs(found - tone(4_410, 44_100))[100:-100].max() < 5e-3


@pytest.mark.parametrize(("n_samples", "n_out"), [(0, 0), (1, 2), (2, 4), (160, 294)])
def test_the_length_is_rounded_up(n_samples: int, n_out: int) -> None:
    assert resample_sinc(tone(n_samples, 24_000), 24_000, 44_100).shape == (n_out,)


def test_equal_rates_change_nothing() -> None:
    samples = tone(10, 44_100)
    assert resample_sinc(samples, 44_100, 44_100) is samples
