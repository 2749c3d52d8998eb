"""The only loop in the product: utterances join, move and leave as rows of one decoder.

One request is the loop with one row; several requests, and the segments of one long text, are
several rows. Audio leaves in the order of each request's segments. A segment that came out badly
may be drawn again, as long as nothing of it has left. Nothing here needs torch.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from menura.engines.contract import (
    Decoder,
    Delivery,
    EndOfText,
    FinishReason,
    NoiseSource,
    Prompt,
    RowStep,
    Words,
)
from menura.errors import MenuraError, NoAudioError, NumericsError


@dataclass(frozen=True)
class Job:
    """One segment of one request. `build` makes its prompt when a row is free for it.

    `noise` gives the randomness of an attempt, the first being 0. `retries`: how many more attempts
    may follow one that reached a limit, lost its numbers or gave no audio.
    """

    segment: int
    build: Callable[[], Prompt]
    noise: Callable[[int], NoiseSource]
    delivery: Delivery
    retries: int = 0


@dataclass(frozen=True)
class Attempt:
    """One try at a job, with the reason why each try before it was given up."""

    request: int
    job: Job
    given_up: tuple[str, ...] = ()

    def noise(self) -> NoiseSource:
        """Its own randomness."""
        return self.job.noise(len(self.given_up))

    def again(self, reason: str) -> "Attempt":
        """The try after this one."""
        return Attempt(self.request, self.job, (*self.given_up, reason))


@dataclass(frozen=True)
class Delivered:
    """What left the loop: one row's step, with the request and the segment that it belongs to.

    `given_up` has the reason of every attempt at this segment before the one that is heard.
    """

    request: int
    segment: int
    step: RowStep
    given_up: tuple[str, ...] = ()


@dataclass
class _Line:
    """One request on its way: what waits, what is in rows, and what must not leave yet."""

    waiting: Iterator[Job]
    n_segments: int
    words: Iterator[str] | None
    ahead: int
    arrived: deque[Words | EndOfText] = field(default_factory=deque)
    given: list[Words | EndOfText] = field(default_factory=list)
    again: deque[Attempt] = field(default_factory=deque)
    admitted: int = 0
    next_segment: int = 0
    has_left: bool = False  # something of the next segment
    held: dict[int, list[Delivered]] = field(default_factory=dict)
    n_samples: dict[int, int] = field(default_factory=dict)


class Jobs:
    """The requests that the loop works on; `ahead` bounds how early a segment may start."""

    def __init__(self, *, ahead: int = 4) -> None:
        self._ahead = ahead
        self._lines: dict[int, _Line] = {}
        self._rows: dict[int, Attempt] = {}
        self._vacated: list[int] = []
        self._n_submitted = 0

    def submit(
        self,
        segments: Sequence[Job],
        words: Iterator[str] | None = None,
        *,
        in_turn: bool = False,
    ) -> int:
        """The number of the new request. With `words`, its one segment's text comes from there.

        With `in_turn`, a segment starts when all of the one before has left.
        """
        request = self._n_submitted
        self._n_submitted += 1
        ahead = 0 if in_turn else self._ahead
        self._lines[request] = _Line(iter(segments), len(segments), words, ahead)
        return request

    def cancel(self, request: int) -> None:
        """Forget a request; the loop frees its rows before the next step."""
        self._lines.pop(request, None)

    @property
    def open(self) -> bool:
        """Whether something is still to be spoken."""
        return bool(self._lines)

    @property
    def rows(self) -> Sequence[int]:
        """The rows that hold an utterance."""
        return tuple(self._rows)

    def ready(self, free_rows: Sequence[int]) -> Iterator[tuple[int, Attempt]]:
        """The tries that join now, each with its row: requests with the fewest rows come first."""
        for row in tuple(free_rows):
            line_rows = [attempt.request for attempt in self._rows.values()]
            waiting = [request for request, line in self._lines.items() if self._may_join(line)]
            if not waiting:
                return
            request = min(waiting, key=line_rows.count)
            self._rows[row] = self._next_attempt(request)
            yield row, self._rows[row]

    def _may_join(self, line: _Line) -> bool:
        in_reach = line.admitted <= line.next_segment + line.ahead
        return bool(line.again) or (line.admitted < line.n_segments and in_reach)

    def _next_attempt(self, request: int) -> Attempt:
        line = self._lines[request]
        if line.again:
            return line.again.popleft()
        line.admitted += 1
        return Attempt(request, next(line.waiting))

    def words(self) -> Iterator[tuple[int, Words | EndOfText]]:
        """The words that have arrived, each with the row that they are for."""
        for row, attempt in tuple(self._rows.items()):
            line = self._lines.get(attempt.request)
            while line is not None and line.arrived:
                line.given.append(line.arrived.popleft())
                yield row, line.given[-1]

    def wait(self) -> None:
        """Block until words arrive for a row that cannot move without them."""
        for attempt in self._rows.values():
            line = self._lines.get(attempt.request)
            if line is not None and line.words is not None:
                piece = next(line.words, None)
                if piece is None:
                    line.words = None
                line.arrived.append(EndOfText() if piece is None else Words(piece))
                return
        raise MenuraError("no row can move and no words can come: the engine lost a row.")

    def settle(self, step: RowStep) -> list[Delivered]:
        """What may leave because of this step: its own audio, or audio that had to wait for it."""
        attempt = self._rows.get(step.row)
        if attempt is None or attempt.request not in self._lines:
            return []  # a failure of its request, or a cancel, came earlier in the same step
        line, segment = self._lines[attempt.request], attempt.job.segment
        if step.is_news:
            return [Delivered(attempt.request, segment, step, attempt.given_up)]
        step = self._checked(step, line, segment)
        if step.finish is not None:
            del self._rows[step.row]
            self._vacated.append(step.row)
            if reason := _why_again(step, attempt, line):
                _forget(line, segment)
                line.again.append(attempt.again(reason))
                return []
        delivered = Delivered(attempt.request, segment, step, attempt.given_up)
        line.held.setdefault(segment, []).append(delivered)
        return self._leaving(attempt.request, line)

    def _leaving(self, request: int, line: _Line) -> list[Delivered]:
        """What is held of the next segment, and of those after it while they have ended."""
        leaving: list[Delivered] = []
        while held := line.held.pop(line.next_segment, None):
            leaving += held
            finish = held[-1].step.finish
            line.has_left = finish is None
            if finish is None:
                break
            line.next_segment += 1
            if finish is FinishReason.ERROR or line.next_segment == line.n_segments:
                del self._lines[request]
                break
        return leaving

    def vacated(self) -> Iterator[int]:
        """The rows to free: their utterance ended, or its request was cancelled or has failed."""
        for row, attempt in tuple(self._rows.items()):
            if attempt.request not in self._lines:
                del self._rows[row]
                self._vacated.append(row)
        while self._vacated:
            yield self._vacated.pop()

    def _checked(self, step: RowStep, line: _Line, segment: int) -> RowStep:
        """The step, or its row's failure where the samples are not numbers or never came."""
        n_new = 0 if step.samples is None else len(step.samples)
        line.n_samples[segment] = line.n_samples.get(segment, 0) + n_new
        if step.samples is not None and not np.isfinite(step.samples).all():
            message = f"segment {segment}: the model gave samples that are not numbers."
            return failed(step.row, NumericsError(message))
        is_done = step.finish in (FinishReason.STOP, FinishReason.LENGTH)
        if is_done and line.n_samples[segment] == 0:
            return failed(step.row, NoAudioError(f"segment {segment}: the model gave no audio."))
        return step


def _why_again(step: RowStep, attempt: Attempt, line: _Line) -> str:
    """Why a row that ended like this is to be drawn again, in words; empty where it is not."""
    has_left = line.has_left and attempt.job.segment == line.next_segment
    if has_left or len(attempt.given_up) >= attempt.job.retries:
        return ""
    if step.finish is FinishReason.LENGTH:
        return step.reason or "it reached a limit"
    is_luck = isinstance(step.error, NumericsError | NoAudioError)
    return step.error.message if step.error is not None and is_luck else ""


def _forget(line: _Line, segment: int) -> None:
    """Nothing; no audio of the segment is held, and its words will be given again."""
    line.held.pop(segment, None)
    line.n_samples.pop(segment, None)
    line.arrived.extendleft(reversed(line.given))
    line.given.clear()


def failed(row: int, error: MenuraError) -> RowStep:
    """The step of a row that ends with an error."""
    return RowStep(row, finish=FinishReason.ERROR, error=error)


def run(decoder: Decoder, jobs: Jobs) -> Generator[Delivered, None, None]:
    """Everything that the jobs give, as it comes. Closing the generator frees all rows at once."""
    try:
        while jobs.open:
            admitted = False
            for row, attempt in jobs.ready(decoder.free_rows):
                admitted, job = True, attempt.job
                try:
                    decoder.admit(row, job.build(), attempt.noise(), job.delivery)
                except MenuraError as error:
                    yield from _settled(decoder, jobs, failed(row, error))
            for row, more in jobs.words():
                decoder.extend(row, more)
            if not decoder.live and not admitted:
                jobs.wait()
            for step in decoder.step():
                yield from _settled(decoder, jobs, step)
    finally:
        for row in jobs.rows:
            decoder.release(row)


def _settled(decoder: Decoder, jobs: Jobs, step: RowStep) -> list[Delivered]:
    """What leaves because of a step, after the rows that it vacates are free."""
    leaving = jobs.settle(step)
    for row in jobs.vacated():
        decoder.release(row)
    return leaving
