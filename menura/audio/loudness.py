"""The loudness of a whole recording as people hear it (EBU R 128), by FFmpeg's `ebur128` filter."""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from menura.audio.pcm import FloatArray

if TYPE_CHECKING:
    import av

SHORTEST_S = 0.4  # the standard measures blocks of this length
LOWEST_LUFS = -70.0  # the gate of the standard: what is quieter counts as silence
_BLOCK = 65_536


def loudness_lufs(samples: FloatArray, rate_hz: int) -> float:
    """The integrated loudness of mono samples [n] in LUFS; -70 for silence and under 0.4 s."""
    import av  # noqa: PLC0415

    if len(samples) < SHORTEST_S * rate_hz:
        return LOWEST_LUFS
    graph = av.filter.Graph()
    source = graph.add_abuffer(
        format="flt", sample_rate=rate_hz, layout="mono", time_base=Fraction(1, rate_hz)
    )
    meter = graph.add("ebur128", "metadata=1:framelog=quiet")
    sink = graph.add("abuffersink")
    source.link_to(meter)
    meter.link_to(sink)
    graph.configure()
    measured = LOWEST_LUFS
    for start in range(0, len(samples), _BLOCK):
        frame = av.AudioFrame.from_ndarray(
            samples[None, start : start + _BLOCK], format="flt", layout="mono"
        )
        frame.sample_rate = rate_hz
        frame.time_base = Fraction(1, rate_hz)
        frame.pts = start
        source.push(frame)
        measured = _measured_so_far(sink, measured)
    source.push(None)
    measured = _measured_so_far(sink, measured)
    return round(measured, 1)


def _measured_so_far(sink: "av.filter.context.FilterContext", before: float) -> float:
    """The loudness of all that went in, as the last frame that comes out tells it."""
    import av  # noqa: PLC0415

    measured = before
    while True:
        try:
            frame = sink.pull()
        except (av.BlockingIOError, av.EOFError):
            return measured
        told = float(frame.metadata.get("lavfi.r128.I", "nan"))
        measured = max(told, LOWEST_LUFS) if math.isfinite(told) else measured
