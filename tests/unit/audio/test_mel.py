import numpy as np
import pytest

from menura.audio.mel import mel_filters


def test_filters_have_equal_areas_and_cover_every_band() -> None:
    filters = mel_filters(24_000, 1024, 128, 0.0, 12_000.0)
    assert filters.shape == (128, 513)
    assert filters.dtype == np.float32
    assert (filters >= 0).all()
    assert (filters.max(axis=1) > 0).all()
    wide = mel_filters(24_000, 2**15, 40, 0.0, 12_000.0)  # fine bins make the sums areas
    areas = wide.sum(axis=1) * 24_000 / 2**15
    assert areas == pytest.approx(np.ones(40), rel=2e-3)


def test_bands_are_linear_below_1_khz_and_logarithmic_above() -> None:
    filters = mel_filters(16_000, 16_000, 40, 0.0, 8000.0)  # one bin is one hertz
    peaks_hz = filters.argmax(axis=1)
    low, high = peaks_hz[peaks_hz < 900], peaks_hz[peaks_hz > 1100]
    assert np.ptp(np.diff(low)) <= 1
    assert np.ptp(high[1:] / high[:-1]) < 0.005


def test_a_band_peaks_where_the_scale_puts_it() -> None:
    # 45.245640471924965 mel (8 kHz) in 41 steps; the step before the break is 73.57 Hz wide.
    filters = mel_filters(16_000, 16_000, 40, 0.0, 8000.0)
    assert filters[0].argmax() == 74
    assert filters[0].max() == pytest.approx(2 / (2 * 73.57), rel=1e-2)


def test_nothing_lies_outside_the_limits() -> None:
    filters = mel_filters(24_000, 2048, 20, 300.0, 5000.0)
    bins_hz = np.fft.rfftfreq(2048, 1 / 24_000)
    used = filters.any(axis=0)
    assert bins_hz[used].min() > 300
    assert bins_hz[used].max() < 5000
