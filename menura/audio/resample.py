"""Another sample rate, by soxr at its HQ setting: whole arrays, or piece by piece with state.

n samples become `n * to / from` samples, halves rounded up. Both ways give the same samples.
"""

import numpy as np

from menura.audio.pcm import FloatArray


class Resampler:
    """One continuous conversion: the pieces that come out join to the whole, resampled."""

    def __init__(self, from_hz: int, to_hz: int) -> None:
        import soxr  # noqa: PLC0415

        self._stream = soxr.ResampleStream(from_hz, to_hz, 1, dtype="float32", quality="HQ")

    def write(self, samples: FloatArray) -> FloatArray:
        """The samples [m] that are certain after these [n]; the filter holds some back."""
        return self._resample(samples, last=False)

    def close(self) -> FloatArray:
        """The samples [m] that were still held back."""
        return self._resample(np.zeros(0, np.float32), last=True)

    def _resample(self, samples: FloatArray, *, last: bool) -> FloatArray:
        return np.asarray(self._stream.resample_chunk(samples, last=last), dtype=np.float32)


def resample(samples: FloatArray, from_hz: int, to_hz: int) -> FloatArray:
    """The samples [n] at `to_hz` [m]; the same array if the rates are equal."""
    if from_hz == to_hz:
        return samples
    resampler = Resampler(from_hz, to_hz)
    return np.concatenate([resampler.write(samples), resampler.close()])
