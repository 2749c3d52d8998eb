"""Decoding beside the talker: a thread makes the samples of a piece while the next frames are made.

The talker waits for memory and leaves a core's arithmetic idle; the codec needs arithmetic and
little memory. On two cores both together take the time of the talker on one, or less.

Legend: T frames, Q codebooks, n samples.
"""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol

from menura.engines.qwen3_tts.codec import CodeArray, CodecStream, Decoder, FloatArray


class SpareCore(Protocol):
    """The core that the talker does without while it is lent."""

    def lend(self) -> None:
        """Let the talker keep off the core, until it was taken back as often as lent."""
        ...

    def take_back(self) -> None:
        """Undo one `lend`."""
        ...


class Underway:
    """Codes [T, Q] on their way to samples; until they are there, nobody else moves the stream."""

    def __init__(
        self, codes: CodeArray, coming: "Future[FloatArray]", here: Callable[[], FloatArray],
        core: SpareCore,
    ) -> None:  # fmt: skip
        self.codes = codes
        self._coming = coming
        self._here = here
        self._core = core

    @property
    def is_done(self) -> bool:
        """Whether `samples` gives an answer at once."""
        return self._coming.done()

    def samples(self) -> FloatArray:
        """The samples [n]; whoever waits for codes that nobody has begun decodes them himself.

        Raises: as `CodecStream.decode`.
        """
        return self._here() if self.drop() else self._coming.result()

    def drop(self) -> bool:
        """Whether nobody had begun the codes; then nobody will."""
        is_dropped = self._coming.cancel()
        if is_dropped:
            self._core.take_back()
        return is_dropped


class CodecHelper:
    """A thread with a decoder of its own, whose states are those of the streams' decoder."""

    def __init__(self, decoder: Decoder, core: SpareCore) -> None:
        self._decoder = decoder
        self._core = core
        self._thread = ThreadPoolExecutor(1, "codec")

    def begin(self, stream: CodecStream, codes: CodeArray) -> Underway:
        """The stream's next codes [T, Q], which are decoded when those before them are done."""
        self._core.lend()  # now: before the thread looks, the talker would have begun its step
        try:
            coming = self._thread.submit(self._decoded, stream, codes)
        except RuntimeError:  # the main thread has ended, and Python begins no more work elsewhere
            coming = Future()
        return Underway(codes, coming, lambda: stream.decode(codes), self._core)

    def _decoded(self, stream: CodecStream, codes: CodeArray) -> FloatArray:
        try:
            return stream.decode(codes, self._decoder)
        finally:
            self._core.take_back()
