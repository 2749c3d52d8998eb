"""Resampling and stretching piece by piece gives what the whole gives, sample for sample."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from menura.audio.pcm import FloatArray
from menura.audio.resample import Resampler, resample
from menura.audio.stretch import Stretch, stretch

RATES_HZ = st.sampled_from([8_000, 16_000, 22_050, 24_000, 44_100, 48_000])
LENGTHS = st.integers(0, 20_000)
CUTS = st.lists(st.integers(0, 20_000), max_size=8)


def noise(n_samples: int) -> FloatArray:
    rng = np.random.default_rng(n_samples)
    return (0.2 * rng.standard_normal(n_samples)).astype(np.float32)


def joined(worker: Resampler | Stretch, samples: FloatArray, cuts: list[int]) -> FloatArray:
    parts = np.split(samples, sorted(min(cut, samples.size) for cut in cuts))
    return np.concatenate([*(worker.write(part) for part in parts), worker.close()])


@settings(max_examples=60, deadline=None)
@given(from_hz=RATES_HZ, to_hz=RATES_HZ, n_samples=LENGTHS, cuts=CUTS)
def test_resampling_does_not_depend_on_the_cuts(
    from_hz: int, to_hz: int, n_samples: int, cuts: list[int]
) -> None:
    samples = noise(n_samples)
    whole = resample(samples, from_hz, to_hz)
    assert whole.size == (2 * n_samples * to_hz + from_hz) // (2 * from_hz)
    if from_hz != to_hz:
        np.testing.assert_array_equal(joined(Resampler(from_hz, to_hz), samples, cuts), whole)


@settings(max_examples=60, deadline=None)
@given(rate_hz=RATES_HZ, factor=st.floats(0.25, 4.0), n_samples=LENGTHS, cuts=CUTS)
def test_stretching_does_not_depend_on_the_cuts(
    rate_hz: int, factor: float, n_samples: int, cuts: list[int]
) -> None:
    samples = noise(n_samples)
    whole = stretch(samples, factor, rate_hz)
    assert whole.size == round(n_samples / factor)
    np.testing.assert_array_equal(joined(Stretch(factor, rate_hz), samples, cuts), whole)
