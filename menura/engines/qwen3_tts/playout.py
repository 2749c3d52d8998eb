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
from menura.engines.qwen3_tts.codec_helper import CodecHelper, Underway
from menura.runtime.recently_used import RecentlyUsed


@dataclass(frozen=True)
class Piece:
    """What a row hands over at once: samples [n] and the frames [T, Q] that they were made of."""

    samples: FloatArray
    frames: CodeArray


class Playout(Protocol):
    """Turns one utterance's frames into pieces."""

    def add(self, frame: CodeArray, *, is_followed: bool = True) -> Piece | None:
        """What can be handed over with this frame [Q], or None while more are to come for it.

        `is_followed`: the next frame is made at once.
        """
        ...

    def flush(self) -> Piece | None:
        """What is handed over before a pause: all pieces that are full."""
        ...

    def drop(self) -> None:
        """Nobody wants the rest: what was not begun is not made."""
        ...

    def settled(self) -> FloatArray | None:
        """Samples [n] that are heard with the last frame, however fast they were made.

        When a piece is handed over may depend on the machine's pace; nothing else may.
        """
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

    def add(self, frame: CodeArray, *, is_followed: bool = True) -> None:  # noqa: ARG002
        """Keep the frame [Q]; nothing is due before the end."""
        self._frames.append(frame)

    def flush(self) -> None:
        """Nothing is due before the end."""

    def drop(self) -> None:
        """Nothing is made before the end."""

    def settled(self) -> None:
        """Nothing is made before the end."""

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
    """Pieces of a fixed number of frames, the first one shorter so that it comes soon.

    With a `helper` a later piece is made while the next frames are, if there are any, and is handed
    over as soon as it is there: at the latest with the frame that fills the piece after it.
    """

    def __init__(
        self,
        stream: CodecStream,
        first_frames: int,
        later_frames: int,
        helper: CodecHelper | None = None,
    ) -> None:
        self._stream = stream
        self._due = first_frames
        self._later_frames = later_frames
        self._helper = helper
        self._frames: list[CodeArray] = []
        self._underway: Underway | None = None
        self._last: FloatArray | None = None  # the samples of the last full piece that is made
        self._settled: FloatArray | None = None

    def add(self, frame: CodeArray, *, is_followed: bool = True) -> Piece | None:
        """What was made by now: with or without the piece that this frame [Q] fills."""
        self._settled = None
        self._frames.append(frame)
        if len(self._frames) < self._due:
            return self.flush() if self._underway and self._underway.is_done else None
        before = self.flush()
        is_first, self._settled = self._last is None, self._last
        self._due = self._later_frames
        if self._helper is None or is_first or not is_followed:
            piece = self._decoded()
            self._last = piece.samples
            return _joined(before, piece)
        self._underway = self._helper.begin(self._stream, self._taken())
        return before

    def flush(self) -> Piece | None:
        """The piece that is under way, if there is one."""
        if self._underway is None:
            return None
        underway, self._underway = self._underway, None
        self._last = underway.samples()
        return Piece(self._last, underway.codes)

    def drop(self) -> None:
        """Let go of the piece that is under way."""
        if self._underway is not None:
            self._underway.drop()
            self._underway = None

    def settled(self) -> FloatArray | None:
        """With the frame that fills a piece, the samples [n] of the piece before it."""
        return self._settled

    def close(self) -> Piece | None:
        """What was not handed over yet: frames [T, Q] with their samples, if there are any."""
        before = self.flush()
        return _joined(before, self._decoded()) if self._frames else before

    def _decoded(self) -> Piece:
        frames = self._taken()
        return Piece(self._stream.decode(frames), frames)

    def _taken(self) -> CodeArray:
        """The frames [T, Q] that are in no piece yet."""
        frames = np.stack(self._frames)
        self._frames = []
        return frames


def _joined(first: Piece | None, second: Piece) -> Piece:
    """Both pieces as one; the first may be missing."""
    if first is None:
        return second
    samples = np.concatenate([first.samples, second.samples])
    return Piece(samples, np.concatenate([first.frames, second.frames]))


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
