"""The only loop in the product: utterances join, move and leave as rows of one decoder.

One request is the loop with one row; several requests, and the segments of one long text, are
several rows. Audio leaves in the order of each request's segments. A segment that came out badly
may be drawn again, as long as nothing of it has left. Requests may arrive while others are spoken
(`Arrivals`): the server's loop is this one too. Nothing here needs torch.
"""

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from typing import Protocol

import numpy as np

from menura.engines.contract import Decoder, EndOfText, FinishReason, RowStep, Words
from menura.errors import MenuraError, NoAudioError, NumericsError
from menura.runtime.lines import (
    ARRIVED,
    Attempt,
    Delivered,
    Job,
    Line,
    failed,
    forget,
    why_again,
)

__all__ = ["ARRIVED", "Arrivals", "Attempt", "Delivered", "Job", "Jobs", "failed", "run"]


class Arrivals(Protocol):
    """Requests, words and cancels that come while others are spoken."""

    @property
    def open(self) -> bool:
        """Whether more may come."""
        ...

    def take_in(self, jobs: "Jobs", *, wait: bool) -> bool:
        """Give the jobs what has come; whether somebody should look, as `ARRIVED` says.

        With `wait`, blocks until something comes, or nothing more can.
        """
        ...


class Jobs:
    """The requests that the loop works on; `ahead` bounds how early a segment may start.

    With `arrivals`, the loop goes on until no more can come.
    """

    def __init__(self, *, ahead: int = 4, arrivals: Arrivals | None = None) -> None:
        self._ahead = ahead
        self._arrivals = arrivals
        self._lines: dict[int, Line] = {}
        self._rowless: deque[int] = deque()  # requests without a row, in turn; some may be stale
        self._rows: dict[int, Attempt] = {}
        self._vacated: list[int] = []
        self._n_submitted = 0

    def submit(
        self,
        segments: Sequence[Job],
        words: Iterator[str] | None = None,
        *,
        in_turn: bool = False,
        hears: bool = False,
    ) -> int:
        """The number of the new request.

        With `words`, its one segment's text is pulled from there; with `hears`, it comes by `say`.
        With `in_turn`, a segment starts when all of the one before has left.
        """
        request = self._n_submitted
        self._n_submitted += 1
        ahead = 0 if in_turn else self._ahead
        self._lines[request] = Line(iter(segments), len(segments), words, ahead, is_open=hears)
        self._rowless.append(request)
        return request

    def cancel(self, request: int) -> None:
        """Forget a request; the loop frees its rows before the next step."""
        self._lines.pop(request, None)

    def say(self, request: int, more: Words | EndOfText) -> None:
        """Give words, or their end, to a request that hears; nothing where it is over."""
        line = self._lines.get(request)
        if line is not None:
            assert line.is_open, f"the text of request {request} is complete"
            line.arrived.append(more)
            line.is_open = isinstance(more, Words)

    def hold(self, request: int) -> None:
        """Start nothing more of a request; what is in rows runs to its segment's end."""
        if request in self._lines:
            self._lines[request].is_held = True

    def go_on(self, request: int) -> None:
        """Start further segments of a request that was held."""
        line = self._lines.get(request)
        if line is not None and line.is_held:
            line.is_held = False
            self._rowless.append(request)

    @property
    def open(self) -> bool:
        """Whether something is still to be spoken, or may still come."""
        return bool(self._lines) or (self._arrivals is not None and self._arrivals.open)

    @property
    def rows(self) -> Sequence[int]:
        """The rows that hold an utterance."""
        return tuple(self._rows)

    def take_in(self) -> Iterator[Delivered]:
        """Let in what has arrived; block for it only while there is no request at all."""
        yield from self._taken_in(wait=not self._lines)

    def _taken_in(self, *, wait: bool) -> Iterator[Delivered]:
        if self._arrivals is not None and self._arrivals.take_in(self, wait=wait):
            yield ARRIVED

    def ready(self, free_rows: Sequence[int]) -> Iterator[tuple[int, Attempt]]:
        """The tries that join now, each with its row: requests with the fewest rows come first.

        Those without a row take turns, segment by segment, so that a long text holds up nobody.
        """
        for row in tuple(free_rows):
            request = self._next_to_join()
            if request is None:
                return
            self._lines[request].n_rows += 1
            self._rows[row] = self._next_attempt(request)
            yield row, self._rows[row]

    def _next_to_join(self) -> int | None:
        """The request whose turn it is; what is looked at is bounded by the number of rows."""
        while self._rowless:
            request = self._rowless.popleft()
            if self._may_join(request) and self._lines[request].n_rows == 0:
                return request
        in_rows = {attempt.request for attempt in self._rows.values()}
        joining = [request for request in in_rows if self._may_join(request)]
        return min(joining, key=lambda r: (self._lines[r].n_rows, r), default=None)

    def _may_join(self, request: int) -> bool:
        line = self._lines.get(request)
        if line is None or line.is_held:
            return False
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

    def wait(self) -> Iterator[Delivered]:
        """Block until words come for a row that cannot move without them, or anything arrives."""
        if self._pull():
            return
        lines = [self._lines.get(attempt.request) for attempt in self._rows.values()]
        is_lost = any(line is not None and not line.is_open for line in lines)
        if is_lost or self._arrivals is None:
            raise MenuraError("no row can move and no words can come: the engine lost a row.")
        yield from self._taken_in(wait=True)

    def _pull(self) -> bool:
        """Whether a row's next words were pulled; the rows that wait for some take turns."""
        for row, attempt in self._rows.items():
            line = self._lines.get(attempt.request)
            if line is not None and line.words is not None:
                piece = next(line.words, None)
                if piece is None:
                    line.words = None
                line.arrived.append(EndOfText() if piece is None else Words(piece))
                self._rows[row] = self._rows.pop(row)
                return True
        return False

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
            self._leave_row(step.row, line)
            if reason := why_again(step, attempt, line):
                forget(line, segment)
                line.again.append(attempt.again(reason))
                return []
        delivered = Delivered(attempt.request, segment, step, attempt.given_up)
        line.held.setdefault(segment, []).append(delivered)
        return self._leaving(attempt.request, line)

    def _leave_row(self, row: int, line: Line) -> None:
        """Nothing; the row is to be freed, and its request queues up again if it has no other."""
        attempt = self._rows.pop(row)
        self._vacated.append(row)
        line.n_rows -= 1
        if line.n_rows == 0:
            self._rowless.append(attempt.request)

    def _leaving(self, request: int, line: Line) -> list[Delivered]:
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

    def _checked(self, step: RowStep, line: Line, segment: int) -> RowStep:
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


def run(decoder: Decoder, jobs: Jobs) -> Generator[Delivered, None, None]:
    """Everything that the jobs give, as it comes. Closing the generator frees all rows at once."""
    try:
        while jobs.open:
            yield from jobs.take_in()
            for row in jobs.vacated():
                decoder.release(row)
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
                yield from jobs.wait()
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
