"""Mel filters: a bank of triangles that sums the bins of a spectrum into bands as the ear spaces
them.

Source: Slaney, "Auditory Toolbox", 1998: linear up to 1 kHz, logarithmic above; every triangle has
the same area, so that wide bands are not louder.
"""

import math

import numpy as np
from numpy.typing import NDArray

from menura.audio.pcm import FloatArray

_LINEAR_HZ = 200 / 3  # width of a mel below the break
_BREAK_HZ = 1000.0
_BREAK_MEL = _BREAK_HZ / _LINEAR_HZ
_LOG_STEP = math.log(6.4) / 27  # growth of a mel above the break


def mel_filters(
    sample_rate_hz: int, n_fft: int, n_mels: int, low_hz: float, high_hz: float
) -> FloatArray:
    """The filters [n_mels, n_fft // 2 + 1] over the bins of a real Fourier transform."""
    bins_hz = np.fft.rfftfreq(n_fft, 1.0 / sample_rate_hz)
    edges_hz = _hz(np.linspace(_mel(low_hz), _mel(high_hz), n_mels + 2))
    widths_hz = np.diff(edges_hz)
    distances_hz = edges_hz[:, None] - bins_hz[None, :]
    rising = -distances_hz[:-2] / widths_hz[:-1, None]
    falling = distances_hz[2:] / widths_hz[1:, None]
    triangles = np.maximum(0, np.minimum(rising, falling)).astype(np.float32)
    areas = 2.0 / (edges_hz[2:] - edges_hz[:-2])
    filters: FloatArray = (triangles * areas[:, None]).astype(np.float32)
    return filters


def _mel(hz: float) -> float:
    if hz < _BREAK_HZ:
        return hz / _LINEAR_HZ
    return _BREAK_MEL + math.log(hz / _BREAK_HZ) / _LOG_STEP


def _hz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    above = _BREAK_HZ * np.exp(_LOG_STEP * (mels - _BREAK_MEL))
    return np.where(mels < _BREAK_MEL, mels * _LINEAR_HZ, above)
