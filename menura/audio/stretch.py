"""Faster or slower speech at the same pitch, by FFmpeg's `atempo` filter, piece by piece.

atempo cuts speech into windows of about 40 ms and overlaps them closer or wider. Two of its habits
are hidden here. What it gives can depend on how its input is cut, so it is fed blocks of one
size. It loses or adds up to two windows at the end, so silence follows the speech until its tail is
out, and the length is then cut to `round(n / factor)` exactly.
"""

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from menura.audio.pcm import FloatArray
from menura.errors import InvalidValueError

if TYPE_CHECKING:
    import av

MIN_FACTOR = 0.25
MAX_FACTOR = 4.0

# 21 ms at 24 kHz. atempo allocates n / factor samples a block and fails when that rounds to none.
_BLOCK = 512


class Stretch:
    """One continuous time stretch: `factor` 2.0 is twice as fast and half as long.

    At every moment at most `n / factor` samples have come out for the n that went in.
    """

    def __init__(self, factor: float, sample_rate_hz: int) -> None:
        """A stretch of mono audio.

        Raises:
            InvalidValueError: the factor is not between 0.25 and 4.
        """
        if not MIN_FACTOR <= factor <= MAX_FACTOR:
            raise InvalidValueError(
                f"speed {factor} is not possible: give a number from {MIN_FACTOR} to {MAX_FACTOR} "
                "(1 is the voice's own speed)",
                param="speed",
            )
        self._sample_rate_hz = sample_rate_hz
        self._factor = factor
        self._source, self._sink, self._graph = _filter_graph(sample_rate_hz, _stages(factor))
        self._waiting = np.zeros(0, np.float32)
        self._ready = np.zeros(0, np.float32)
        self._n_in = 0
        self._n_pushed = 0
        self._n_out = 0

    def write(self, samples: FloatArray) -> FloatArray:
        """The stretched samples [m] that are certain after these [n]; up to 0.2 s lag behind."""
        self._n_in += samples.size
        waiting = np.concatenate([self._waiting, samples])
        n_whole = waiting.size - waiting.size % _BLOCK
        self._waiting = waiting[n_whole:]
        self._push(waiting[:n_whole])
        return self._release(math.floor(self._n_in / self._factor))

    def close(self) -> FloatArray:
        """The stretched samples [m] that were still held back, to `round(n / factor)` in all."""
        tail_s = 0.25
        n_tail = self._waiting.size + math.ceil(tail_s * self._sample_rate_hz)
        tail = np.zeros(n_tail + -n_tail % _BLOCK, np.float32)
        tail[: self._waiting.size] = self._waiting
        self._waiting = self._waiting[:0]
        self._push(tail, is_last=True)
        n_total = round(self._n_in / self._factor)
        missing = n_total - self._n_out - self._ready.size
        self._ready = np.pad(self._ready, (0, max(0, missing)))
        return self._release(n_total)

    def _push(self, samples: FloatArray, *, is_last: bool = False) -> None:
        """Whole blocks go in; all that they bring out is joined once, so time is linear in them."""
        import av  # noqa: PLC0415

        pieces = [self._ready]
        for block in samples.reshape(-1, _BLOCK):
            frame = av.AudioFrame.from_ndarray(block[None], format="flt", layout="mono")
            frame.sample_rate = self._sample_rate_hz
            frame.time_base = Fraction(1, self._sample_rate_hz)
            frame.pts = self._n_pushed
            self._n_pushed += _BLOCK
            self._source.push(frame)
            pieces += self._pulled()
        if is_last:
            self._source.push(None)
            pieces += self._pulled()
        self._ready = np.concatenate(pieces)

    def _pulled(self) -> Iterator[FloatArray]:
        """What the filter gives now, frame by frame."""
        import av  # noqa: PLC0415

        while True:
            try:
                frame = self._sink.pull()
            except (av.BlockingIOError, av.EOFError):
                return
            assert isinstance(frame, av.AudioFrame)
            yield frame.to_ndarray()[0].astype(np.float32)

    def _release(self, n_total: int) -> FloatArray:
        released = self._ready[: n_total - self._n_out]
        self._ready = self._ready[released.size :]
        self._n_out += released.size
        return released


def stretch(samples: FloatArray, factor: float, sample_rate_hz: int) -> FloatArray:
    """The samples [n], `factor` times as fast: `round(n / factor)` samples at the same pitch.

    Raises:
        InvalidValueError: the factor is not between 0.25 and 4.
    """
    whole = Stretch(factor, sample_rate_hz)
    return np.concatenate([whole.write(samples), whole.close()])


def _stages(factor: float) -> tuple[float, ...]:
    """Factors in [0.5, 2] with this product: past 2 atempo skips audio instead of blending it."""
    n_stages = math.ceil(abs(math.log2(factor)))
    return (factor ** (1 / n_stages),) * n_stages if n_stages else ()


def _filter_graph(
    sample_rate_hz: int, stages: tuple[float, ...]
) -> tuple["av.filter.context.FilterContext", "av.filter.context.FilterContext", "av.filter.Graph"]:
    """The source to push to, the sink to pull from, and the graph that keeps both alive."""
    import av  # noqa: PLC0415

    graph = av.filter.Graph()
    source = graph.add_abuffer(
        format="flt",
        sample_rate=sample_rate_hz,
        layout="mono",
        time_base=Fraction(1, sample_rate_hz),
    )
    last = source
    for stage in stages:
        tempo = graph.add("atempo", f"{min(max(stage, 0.5), 2.0):.17g}")
        last.link_to(tempo)
        last = tempo
    sink = graph.add("abuffersink")
    last.link_to(sink)
    graph.configure()
    return source, sink, graph
