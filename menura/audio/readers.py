"""The two decoders, libsndfile and FFmpeg, as generators of blocks of samples.

A generator stops where its consumer stops: what is past a cap is never decoded. Both get the bytes
themselves, never a path or a link, and FFmpeg may open nothing else.
"""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import numpy.typing as npt

from menura.audio.containers import Container
from menura.audio.pcm import FloatArray

if TYPE_CHECKING:
    import av

_BLOCK = 65_536
_DAMAGED = "is damaged, cut off, or of a kind that is not supported"


class DecodingError(Exception):
    """A decoder gave up; the text says why in a few words. The decoder's own are in `__cause__`."""


@dataclass(frozen=True)
class Block:
    """Decoded samples float32 [n, C], with the rate that they were decoded at."""

    samples: FloatArray
    sample_rate_hz: int


def sndfile_blocks(data: bytes) -> Iterator[Block]:
    """The blocks that libsndfile reads. The first is empty: rate and channels before any decoding.

    Raises:
        DecodingError: libsndfile cannot read the bytes, or not all of them.
    """
    import soundfile  # noqa: PLC0415

    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            yield Block(np.zeros((0, file.channels), np.float32), file.samplerate)
            while True:
                samples = file.read(_BLOCK, dtype="float32", always_2d=True)
                if not len(samples):
                    return
                yield Block(samples, file.samplerate)
    except soundfile.LibsndfileError as error:
        raise DecodingError(_DAMAGED) from error


def ffmpeg_blocks(data: bytes, container: Container) -> Iterator[Block]:
    """The blocks of the first audio track, as FFmpeg decodes them.

    Raises:
        DecodingError: FFmpeg cannot read the bytes, or not all, or they hold no audio track.
    """
    import av  # noqa: PLC0415

    try:
        with av.open(
            io.BytesIO(data),
            "r",
            format=container.demuxer,
            metadata_errors="replace",
            io_open=_refuse_to_open,
        ) as file:
            if not file.streams.audio:
                raise DecodingError("holds no audio track")
            yield from _decoded(file.demux(file.streams.audio[0]))
    except av.FFmpegError as error:
        raise DecodingError(_DAMAGED) from error


def _decoded(packets: "Iterator[av.Packet[av.AudioStream]]") -> Iterator[Block]:
    """The packets' blocks. Only the last may be broken: so ends a recording that was cut off."""
    import av  # noqa: PLC0415

    broken: av.InvalidDataError | None = None
    for packet in packets:
        if broken and packet.size:
            raise DecodingError(_DAMAGED) from broken
        try:
            for frame in packet.decode():
                yield Block(_samples(frame), frame.sample_rate)
        except av.InvalidDataError as error:
            broken = error


def _refuse_to_open(*_: object) -> NoReturn:
    raise PermissionError("a file given to Menura may not open others")


def _samples(frame: "av.AudioFrame") -> FloatArray:
    """A frame of any sample format as float32 [n, C] in [-1, 1]."""
    raw = frame.to_ndarray()
    channels_last = raw.T if frame.format.is_planar else raw.reshape(frame.samples, -1)
    return _unit_scale(channels_last)


def _unit_scale(raw: npt.NDArray[np.generic]) -> FloatArray:
    """Integers divided by their full scale; floats as they are."""
    if raw.dtype.kind == "f":
        return raw.astype(np.float32)
    full_scale = 2.0 ** (8 * raw.dtype.itemsize - 1)
    middle = full_scale if raw.dtype.kind == "u" else 0.0
    return ((raw.astype(np.float64) - middle) / full_scale).astype(np.float32)
