"""wav and raw pcm, written with the standard library alone: `menura say` loads no codec for them.

No library at hand writes the three wavs that are needed (tags, a header of unknown length for
streams, RF64 past 4 GiB) but FFmpeg, and loading that takes 70 ms of the cold start.

A file:      RIFF size WAVE | JUNK (28 bytes, room for ds64) | fmt | LIST INFO | data size samples
past 4 GiB:  RF64 -1   WAVE | ds64 with the true sizes       | fmt | LIST INFO | data -1   samples
streamed:    RIFF -1   WAVE |                                  fmt | LIST INFO | data -1   samples

Source: EBU Tech 3306 (RF64), Multimedia Programming Interface and Data Specifications 1.0 (RIFF).
"""

import struct
from typing import Protocol

from menura.audio.pcm import FloatArray, to_s16
from menura.audio.tags import Tags

UNKNOWN_SIZE = 0xFFFF_FFFF
_BYTES_PER_SAMPLE = 2
_INFO_IDS = {"title": b"INAM", "artist": b"IART", "comment": b"ICMT"}
_DS64_BYTES = 28


class ByteSink(Protocol):
    """Where encoded bytes go: a binary file, `io.BytesIO`, a pipe."""

    def write(self, data: bytes, /) -> object:
        """Anything; all the bytes were taken."""

    def seek(self, offset: int, whence: int = 0, /) -> int:
        """The new position."""

    def tell(self) -> int:
        """The position."""

    def seekable(self) -> bool:
        """Whether `seek` and `tell` work; otherwise they are not called."""


class PcmWriter:
    """Raw s16le samples, without a header."""

    def __init__(self, sink: ByteSink) -> None:
        self._sink = sink

    def write(self, samples: FloatArray) -> None:
        """Write the samples [n]."""
        self._sink.write(to_s16(samples).tobytes())

    def close(self) -> None:
        """Nothing: raw samples have no end."""

    def discard(self) -> None:
        """Nothing: there is no state to release."""


class WavWriter:
    """One wav of 16-bit mono samples; the header is written with the first samples, or at close."""

    def __init__(
        self,
        sink: ByteSink,
        sample_rate_hz: int,
        tags: Tags,
        *,
        streamed: bool,
        max_riff_bytes: int = UNKNOWN_SIZE - 1,
    ) -> None:
        """A wav that becomes RF64 if its RIFF size would be over `max_riff_bytes`."""
        self._sink = sink
        self._format = _chunk(
            b"fmt ",
            struct.pack("<HHIIHH", 1, 1, sample_rate_hz, sample_rate_hz * 2, _BYTES_PER_SAMPLE, 16),
        )
        self._info = _info_chunk(tags)
        self._streamed = streamed
        self._max_riff_bytes = max_riff_bytes
        self._start: int | None = None
        self._n_samples = 0

    def write(self, samples: FloatArray) -> None:
        """Write the samples [n], after the header if they are the first."""
        self._begin()
        self._sink.write(to_s16(samples).tobytes())
        self._n_samples += samples.size

    def close(self) -> None:
        """Write the true sizes into a file's header; a stream's sizes stay unknown."""
        self._begin()
        if self._streamed or self._start is None:
            return
        end = self._sink.tell()
        self._sink.seek(self._start)
        self._sink.write(self._header())
        self._sink.seek(end)

    def discard(self) -> None:
        """Nothing: the sink is the caller's."""

    def _begin(self) -> None:
        if self._start is None:
            self._start = 0 if self._streamed else self._sink.tell()
            self._sink.write(self._header())

    def _header(self) -> bytes:
        """Everything before the first sample; its length does not depend on the sample count."""
        n_data_bytes = self._n_samples * _BYTES_PER_SAMPLE
        middle = self._format + self._info
        if self._streamed:
            return _riff(b"RIFF", UNKNOWN_SIZE, middle, UNKNOWN_SIZE)
        room = _chunk(b"JUNK", bytes(_DS64_BYTES))
        n_riff_bytes = 4 + len(room) + len(middle) + 8 + n_data_bytes
        if n_riff_bytes <= self._max_riff_bytes:
            return _riff(b"RIFF", n_riff_bytes, room + middle, n_data_bytes)
        true_sizes = struct.pack("<QQQI", n_riff_bytes, n_data_bytes, self._n_samples, 0)
        return _riff(b"RF64", UNKNOWN_SIZE, _chunk(b"ds64", true_sizes) + middle, UNKNOWN_SIZE)


def _riff(magic: bytes, n_riff_bytes: int, chunks: bytes, n_data_bytes: int) -> bytes:
    """The file's bytes up to its first sample."""
    return (
        magic
        + struct.pack("<I", n_riff_bytes)
        + b"WAVE"
        + chunks
        + b"data"
        + struct.pack("<I", n_data_bytes)
    )


def _chunk(name: bytes, body: bytes) -> bytes:
    """A RIFF chunk; a body of odd length is followed by one byte that its size does not count."""
    return name + struct.pack("<I", len(body)) + body + bytes(len(body) % 2)


def _info_chunk(tags: Tags) -> bytes:
    """The LIST chunk of the tags that wav has names for, or nothing without tags."""
    fields = tags.fields()
    entries = [
        _chunk(name, fields[field].encode() + b"\0")
        for field, name in _INFO_IDS.items()
        if field in fields
    ]
    return _chunk(b"LIST", b"INFO" + b"".join(entries)) if entries else b""
