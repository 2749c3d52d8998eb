"""Where a recording is clipped: its peaks are cut off flat, which is heard as a rattle."""

import numpy as np

from menura.audio.levels import Span, runs
from menura.audio.pcm import FloatArray

_FULL_SCALE = 0.9999  # three steps of 16 bits below 1
_FLATTEST = 3  # samples in a row; a loud peak that is not cut has one or two
_LOWEST_TOP = 0.25  # a recording that was turned down after it was clipped
_SAME = 1e-6  # of the top: cut peaks are equal, natural ones are not
_JOINED_S = 0.1  # places this close are shown as one
_BLOCK = 1_000_000


def clipped_places(samples: FloatArray, rate_hz: int) -> tuple[Span, ...]:
    """The places in seconds where peaks of samples [n] are cut off; those close by are one."""
    top = max(float(samples.max(initial=0.0)), -float(samples.min(initial=0.0)))
    if top < _LOWEST_TOP:
        return ()
    limit = min(_FULL_SCALE, top * (1 - _SAME))
    joined: list[list[float]] = []
    for start in range(0, len(samples), _BLOCK):
        is_top = np.abs(samples[start : start + _BLOCK]) >= limit
        for first, after in runs(is_top) if is_top.any() else ():
            if after - first < _FLATTEST:
                continue
            begin, end = (start + first) / rate_hz, (start + after) / rate_hz
            if joined and begin - joined[-1][1] < _JOINED_S:
                joined[-1][1] = end
            else:
                joined.append([begin, end])
    return tuple((round(begin, 3), round(end, 3)) for begin, end in joined)
