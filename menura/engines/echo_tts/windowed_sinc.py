"""Another sample rate by windowed sinc, with the filter that upstream reads recordings with.

A sample between two others is the sum of its neighbours, weighted by a sinc at their distance under
a Hann window of 6 zero crossings; going down, the sinc is stretched so that nothing folds.
`menura.audio.resample` has a steeper filter; this one is for numbers that equal upstream's.

Source: Smith, "Digital Audio Resampling"; the defaults of `torchaudio.functional.resample`.
Legend: n input samples, m output samples, b outputs of a block, K neighbours of an output.
"""

import math

import numpy as np

from menura.speech import FloatArray

ZERO_CROSSINGS = 6
ROLLOFF = 0.99  # of half the lower rate: where the filter begins to cut
# Outputs that are made at once, so that memory does not grow with the clip or with odd rates.
_BLOCK = 2**14


def resample_sinc(samples: FloatArray, from_hz: int, to_hz: int) -> FloatArray:
    """The samples [n] at `to_hz` [ceil(n * to / from)]; the same array if the rates are equal."""
    if from_hz == to_hz:
        return samples
    divisor = math.gcd(from_hz, to_hz)
    step, parts = from_hz // divisor, to_hz // divisor  # an output lies step / parts after the last
    cutoff = ROLLOFF * min(1.0, parts / step)  # zero crossings per input sample
    width = math.ceil(ZERO_CROSSINGS / cutoff)
    padded = np.pad(samples.astype(np.float32, copy=False), width)
    n_out = -(-len(samples) * parts // step)
    out = np.zeros(n_out, np.float32)
    for first in range(0, n_out, _BLOCK):
        places = np.arange(first, min(first + _BLOCK, n_out), dtype=np.int64) * step
        neighbours = places[:, None] // parts + np.arange(1 - width, width + 1)
        distances = neighbours - places[:, None] / parts
        weights = _filter(distances * cutoff) * cutoff
        heard = padded[np.minimum(neighbours + width, len(padded) - 1)]
        out[first : first + len(places)] = np.einsum("bk,bk->b", heard, weights)
    return out


def _filter(crossings: np.typing.NDArray[np.float64]) -> np.typing.NDArray[np.float64]:
    """The windowed sinc [b, K] at distances counted in zero crossings; 0 beyond the window."""
    inside = np.clip(crossings, -ZERO_CROSSINGS, ZERO_CROSSINGS)
    window = np.cos(inside * (math.pi / 2 / ZERO_CROSSINGS)) ** 2
    return np.asarray(np.sinc(inside) * window, np.float64)
