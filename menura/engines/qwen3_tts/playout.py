"""From a row's frames to the samples that it hands over: whole, or in chunks while it is made.

A clone that is made in context speaks on from its reference, so the codec hears the reference's
frames first, without giving their samples, and its state after them is kept for the next time.

Legend: T frames, Q codebooks, n samples.
"""

import hashlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from menura.engines.qwen3_tts.codec import CodeArray, Codec, CodecStream, FloatArray
from menura.runtime.recently_used import RecentlyUsed


@dataclass(frozen=True)
class Piece:
    """What a row hands over at once: samples [n] and the frames [T, Q] that they were made of."""

    samples: FloatArray
    frames: CodeArray


class Playout(Protocol):
    """Turns one utterance's frames into pieces."""

    def add(self, frame: CodeArray) -> Piece | None:
        """The piece that is due with this frame [Q], or None while more are to come for it."""
        ...

    def close(self) -> Piece | None:
        """The rest, if anything was not handed over yet."""
        ...


class WholePlayout:
    """Everything at the end, in upstream's own calls: the samples are upstream's, bit for bit."""

    def __init__(self, codec: Codec, reference: CodeArray | None) -> None:
        self._codec = codec
        self._reference = reference
        self._frames: list[CodeArray] = []

    def add(self, frame: CodeArray) -> None:
        """Keep the frame [Q]; nothing is due before the end."""
        self._frames.append(frame)

    def close(self) -> Piece:
        """All samples and frames [T, Q], without those of the reference."""
        frames = np.stack(self._frames)
        if self._reference is None:
            return Piece(self._codec.decode(frames), frames)
        together = np.concatenate([self._reference, frames])
        samples = self._codec.decode(together)
        # parity: the reference is cut by its share of the frames, a sample early now and then
        cut = int(len(self._reference) / len(together) * len(samples))
        return Piece(samples[cut:], frames)


class ChunkedPlayout:
    """Pieces of a fixed number of frames, the first one shorter so that it comes soon."""

    def __init__(self, stream: CodecStream, first_frames: int, later_frames: int) -> None:
        self._stream = stream
        self._due = first_frames
        self._later_frames = later_frames
        self._frames: list[CodeArray] = []

    def add(self, frame: CodeArray) -> Piece | None:
        """The piece that ends with this frame [Q], if it fills one."""
        self._frames.append(frame)
        if len(self._frames) < self._due:
            return None
        self._due = self._later_frames
        return self._piece()

    def close(self) -> Piece | None:
        """The frames [T, Q] that did not fill a piece, with their samples, if there are any."""
        return self._piece() if self._frames else None

    def _piece(self) -> Piece:
        frames = np.stack(self._frames)
        self._frames = []
        return Piece(self._stream.decode(frames), frames)


class ReferenceStreams:
    """Codec streams that stand right after a reference; each reference is heard once."""

    def __init__(self, codec: Codec, capacity: int = 16) -> None:
        self._codec = codec
        self._after: RecentlyUsed[bytes, CodecStream] = RecentlyUsed(capacity)

    def start(self, reference: CodeArray | None) -> CodecStream:
        """A stream for a new utterance, after the reference [T, Q] if there is one."""
        if reference is None:
            return self._codec.stream()
        key = hashlib.sha256(reference.tobytes()).digest()
        stream = self._after.get(key)
        if stream is None:
            stream = self._codec.stream()
            stream.hear(reference)
            self._after.keep(key, stream)
        return stream.copy()
