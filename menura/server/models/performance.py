"""One order on its way: what was asked, and the audio as it comes back from the model's process.

A `Performance` has two sides. The process's side (`begin`, `hear`, `report`, `end`, `fail`) never
waits: it puts what came into a buffer. The reader's side is an async iterator over that buffer.
Where the reader is slow, the model is told to hold further segments until half was read; a reader
that takes nothing for too long is cut, and words that stay away for long give their row back, so
that no client can keep a row or fill the memory.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self

from menura.errors import DeadlineError, MenuraError
from menura.server.models.clock import Clock, Timer
from menura.server.models.pause_watch import PauseWatch
from menura.server.models.pool_limits import ReaderLimits
from menura.server.models.reins import Reins
from menura.speech import FinishReason, FloatArray, SegmentReport, SpeechRequest


@dataclass(frozen=True)
class Order:
    """What is to be spoken, by which model, and for whom.

    `model` is a name that `Names.model` gave. `voice_file` is a saved voice from the server's own
    table, which calls it `voice_label`; `voice_id` is a voice of the library. Where both are None,
    `request.voice` names a preset. `owner` is who asked, for fairness and caps. With `words`, the
    text comes later, by `Performance.say`. With `stream`, audio comes as it is made, else each
    segment whole.
    """

    model: str
    request: SpeechRequest
    owner: str
    words: bool = False
    stream: bool = True
    request_id: str = ""
    voice_file: Path | None = None
    voice_label: str | None = None
    voice_id: str | None = None


@dataclass(frozen=True)
class Begun:
    """What is known before the audio: the model and voice that speak, and what is really used."""

    model: str
    voice: str | None
    applied: Mapping[str, object]
    sample_rate_hz: int
    seed: int


@dataclass(frozen=True, eq=False)
class Chunk:
    """A piece of audio: samples [n] of one segment, at the rate that `Begun` names."""

    samples: FloatArray
    segment: int


@dataclass(frozen=True)
class Segment:
    """A segment has ended, and all of its audio came before this."""

    report: SegmentReport


class Performance:
    """One order on its way to one reader. Leaving it as a context cancels what is left."""

    def __init__(
        self,
        order: Order,
        reins: Reins,
        limits: ReaderLimits,
        clock: Clock,
        on_close: Callable[[], None] = lambda: None,
    ) -> None:
        self.order = order
        self.finish: FinishReason | None = None
        self.applied: Mapping[str, object] = MappingProxyType({})
        self._reins = reins
        self._limits = limits
        self._clock = clock
        self._on_close = on_close
        self._begun: Begun | None = None
        self._segments: list[SegmentReport] = []
        self._events: deque[Chunk | Segment] = deque()
        self._buffered_s = 0.0
        self._error: MenuraError | None = None
        self._news = asyncio.Event()
        self._is_holding = False
        self._is_closed = False
        self._reader: asyncio.Task[object] | None = None
        self._cancels_before = 0
        self._is_interrupted = False
        self._away_since: float | None = clock.now()
        self._stall: Timer | None = clock.call_later(limits.stall_s, self._check_reader)
        flush = partial(self._tell, reins.flush)
        self._pause = PauseWatch(clock, limits.pause_s, reins, flush)
        self._deadline: Timer | None = clock.call_later(limits.request_s, self._expire)

    # The reader's side.

    @property
    def begun(self) -> Begun:
        """What is known before the audio. It is there when `ModelPool.speak` has returned."""
        assert self._begun is not None, "the order has not begun"
        return self._begun

    @property
    def segments(self) -> tuple[SegmentReport, ...]:
        """The reports of the segments that have ended, in order."""
        return tuple(self._segments)

    @property
    def has_begun(self) -> bool:
        """Whether `begun` is there."""
        return self._begun is not None

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes from the process; audio may still wait to be read."""
        return self.finish is not None

    async def started(self) -> Begun:
        """What is known before the audio. Raises: what is wrong with the order."""
        while self._begun is None:
            if self._error is not None:
                raise self._error
            if self.finish is not None:
                raise MenuraError("the order ended before it began.")
            await self._wait_for_news()
        return self._begun

    async def __aenter__(self) -> Self:
        self._reader = asyncio.current_task()
        assert self._reader is not None
        self._cancels_before = self._reader.cancelling()
        self.reader_moved()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        reader, self._reader = self._reader, None
        self.close()
        if self._is_interrupted:  # as `asyncio.timeout`: if others cancelled it too, theirs stands
            assert reader is not None
            assert self._error is not None
            is_ours = reader.uncancel() <= self._cancels_before
            if is_ours and isinstance(error, asyncio.CancelledError):
                raise self._error from error

    def __aiter__(self) -> AsyncIterator[Chunk | Segment]:
        return self

    async def __anext__(self) -> Chunk | Segment:
        while not self._events:
            if self._error is not None:
                raise self._error
            if self.finish is not None or self._is_closed:
                raise StopAsyncIteration
            await self._wait_for_news()
        event = self._events.popleft()
        if isinstance(event, Chunk):
            self._buffered_s -= self._seconds(event)
            if self._is_holding and self._buffered_s <= self._limits.buffer_s / 2:
                self._is_holding = False
                self._tell(self._reins.go_on)
        self.reader_moved()
        return event

    async def _wait_for_news(self) -> None:
        """Nothing, when something has changed. A reader that waits here is not slow."""
        self._away_since = None
        self._news.clear()
        try:
            await self._news.wait()
        finally:
            self._away_since = self._clock.now()

    def reader_moved(self) -> None:
        """Note that the reader took something; for one that hands a chunk on in pieces."""
        if self._away_since is not None:
            self._away_since = self._clock.now()

    async def say(self, text: str) -> None:
        """Give more words; nothing happens where the order is over."""
        self._tell(lambda: self._reins.say(text))
        if not self.is_over and not self._is_closed:
            self._pause.start()
        await self._words_given()

    async def flush(self) -> None:
        """Have the words so far spoken to their end; nothing happens where the order is over."""
        self._tell(self._reins.flush)
        self._pause.stop()
        await self._words_given()

    async def end_words(self) -> None:
        """Say that no more words come; nothing happens where the order is over."""
        self._tell(self._reins.end_words)
        self._pause.stop()
        await self._words_given()

    async def _words_given(self) -> None:
        if not self.is_over and not self._is_closed:
            if self._deadline is not None:
                self._deadline.cancel()
            self._deadline = self._clock.call_later(self._limits.request_s, self._expire)
            await self._reins.drained()

    async def cancel(self) -> None:
        """Drop what is left: the row is free after the model's current step."""
        self.close()

    def close(self) -> None:
        """Drop what is left, at once; a second call does nothing."""
        if self._is_closed:
            return
        self._tell(self._reins.cancel)
        self._is_closed = True
        self._drop()
        self._on_close()

    # The process's side. Nothing here waits or fails.

    def begin(self, begun: Begun) -> None:
        """Take note of what is known before the audio."""
        self._begun = begun
        self.applied = begun.applied
        self._news.set()

    def hear(self, chunk: Chunk) -> None:
        """Keep a chunk for the reader; the model is told to hold where there is too much."""
        if self._is_closed or self.is_over:
            return
        self._events.append(chunk)
        self._buffered_s += self._seconds(chunk)
        if self._buffered_s > self._limits.full_s:
            self._cut("its reader is too slow for the audio that is made")
        elif self._buffered_s > self._limits.buffer_s and not self._is_holding:
            self._is_holding = True
            self._tell(self._reins.hold)
        self._news.set()

    def report(self, report: SegmentReport) -> None:
        """Keep the report of a segment that has ended."""
        if self._is_closed or self.is_over:
            return
        self._segments.append(report)
        self._events.append(Segment(report))
        self._news.set()

    def end(
        self,
        finish: FinishReason,
        applied: Mapping[str, object],
        error: MenuraError | None = None,
    ) -> None:
        """Take note that no more audio comes, with the error if that is why.

        What has come can still be read.
        """
        if self.is_over:
            return
        self.finish, self.applied, self._error = finish, applied, error
        self._stop_deadline()
        self._news.set()

    def fail(self, error: MenuraError) -> None:
        """Take note that no more audio comes because of the error."""
        self.end(FinishReason.ERROR, self.applied, error)

    # Limits.

    def _expire(self) -> None:
        self._deadline = None
        self._cut(f"it took over {self._limits.request_s:g} s, the most that one may take")

    def _check_reader(self) -> None:
        """Cut a reader that is away for too long, else look again when it could be."""
        self._stall = None
        if self._is_closed:
            return
        away_s = 0.0 if self._away_since is None else self._clock.now() - self._away_since
        left_s = self._limits.stall_s - away_s
        if left_s > 0:
            self._stall = self._clock.call_later(left_s, self._check_reader)
            return
        self._cut(f"its reader took nothing for {self._limits.stall_s:g} s")
        if self._reader is not None:
            self._is_interrupted = True
            self._reader.cancel()

    def _cut(self, why: str) -> None:
        """End the order from here: nothing that waits in the buffer is given to the reader."""
        self._tell(self._reins.cancel)
        self._events.clear()
        self._buffered_s = 0.0
        self.finish = FinishReason.ERROR
        self._error = DeadlineError(f"the request was stopped: {why}.", retry_after_s=1.0)
        self._stop_deadline()
        self._news.set()

    def _tell(self, verb: Callable[[], None]) -> None:
        """Tell the process, where it still works for this order."""
        if not self._is_closed and not self.is_over:
            verb()

    def _seconds(self, chunk: Chunk) -> float:
        return len(chunk.samples) / self.begun.sample_rate_hz

    def _stop_deadline(self) -> None:
        self._pause.stop()
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _drop(self) -> None:
        self._events.clear()
        self._stop_deadline()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None
        self._news.set()
