"""A plain wav read with the standard library alone: one channel of 16-bit or 32-bit float samples.

It is what Menura and its page write, so that nobody needs a decoder to have such audio in another
format. Blocks are read as they are asked for; a header that promises more than the file holds gives
what is there.
"""

import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import BinaryIO, TypeAlias

import numpy as np

from menura.audio.pcm import FULL_SCALE, FloatArray
from menura.errors import AudioTooLargeError, UnreadableAudioError

LOWEST_HZ, HIGHEST_HZ = 4_000, 192_000

_MOST_CHUNKS = 64  # before the samples
_BLOCK = 65_536
_INTEGER, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE
_Kind: TypeAlias = "np.dtype[np.int16] | np.dtype[np.float32]"
_KINDS: Mapping[tuple[int, int], _Kind] = {
    (_INTEGER, 16): np.dtype("<i2"), (_FLOAT, 32): np.dtype("<f4"),
}  # fmt: skip


@dataclass(frozen=True)
class PlainWav:
    """Where the samples of a file stand, and what they are."""

    sample_rate_hz: int
    kind: _Kind
    start: int
    n_samples: int

    def blocks(self, file: BinaryIO) -> Iterator[FloatArray]:
        """The samples in blocks [n]. Raises: UnreadableAudioError: one is no number."""
        file.seek(self.start)
        left = self.n_samples
        while left > 0:
            n_bytes = self.kind.itemsize
            raw = file.read(min(left, _BLOCK) * n_bytes)
            samples = np.frombuffer(raw, self.kind, count=len(raw) // n_bytes)
            if not samples.size:
                return  # it became shorter meanwhile
            left -= samples.size
            if self.kind.kind == "i":
                yield samples.astype(np.float32) / np.float32(FULL_SCALE)
            else:
                yield _sound(samples.astype(np.float32, copy=False))


def read_header(file: BinaryIO) -> PlainWav:
    """What a file from its beginning is.

    Raises: UnreadableAudioError: it is no wav, or not a plain one; AudioTooLargeError: its rate.
    """
    file.seek(0)
    riff, _, wave = struct.unpack("<4sI4s", _exactly(file, 12))
    if riff not in (b"RIFF", b"RF64") or wave != b"WAVE":
        raise _not_plain("it does not begin like one")
    form: bytes | None = None
    for _ in range(_MOST_CHUNKS):
        name, n_bytes = struct.unpack("<4sI", _exactly(file, 8))
        if name == b"data":
            if form is None:
                raise _not_plain("its samples come before their format")
            return _plain(form, file.tell(), min(n_bytes, _bytes_left(file)))
        if name == b"fmt ":
            form = _exactly(file, n_bytes) if n_bytes <= 40 else b""  # the longest that there is
            file.seek(n_bytes % 2, os.SEEK_CUR)
        else:
            file.seek(n_bytes + n_bytes % 2, os.SEEK_CUR)
    raise _not_plain("its samples do not begin")


def _plain(form: bytes, start: int, n_bytes: int) -> PlainWav:
    if len(form) < 16:
        raise _not_plain("its format is not told")
    code, n_channels, rate_hz, _, _, n_bits = struct.unpack("<HHIIHH", form[:16])
    if code == _EXTENSIBLE and len(form) >= 26:
        [code] = struct.unpack("<H", form[24:26])
    kind = _KINDS.get((code, n_bits))
    if kind is None or n_channels != 1:
        raise _not_plain(f"it has {n_channels} channels of {n_bits} bits")
    if not LOWEST_HZ <= rate_hz <= HIGHEST_HZ:
        raise AudioTooLargeError(
            f"the wav has a sample rate of {rate_hz} Hz: from {LOWEST_HZ} to {HIGHEST_HZ} are read."
        )
    if n_bytes < kind.itemsize:
        raise UnreadableAudioError("the wav holds no sample: give one that holds audio.")
    return PlainWav(rate_hz, kind, start, n_bytes // kind.itemsize)


def _sound(samples: FloatArray) -> FloatArray:
    if not np.isfinite(samples).all():
        raise UnreadableAudioError("the wav holds samples that are NaN or infinite.")
    return samples


def _bytes_left(file: BinaryIO) -> int:
    at = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(at)
    return end - at


def _exactly(file: BinaryIO, n_bytes: int) -> bytes:
    content = file.read(n_bytes)
    if len(content) < n_bytes:
        raise _not_plain("it ends too early")
    return content


def _not_plain(why: str) -> UnreadableAudioError:
    return UnreadableAudioError(
        f"this is not a plain wav ({why}): give one channel of 16-bit or 32-bit float samples."
    )
