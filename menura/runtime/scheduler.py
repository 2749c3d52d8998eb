"""The only loop in the product: utterances join, move and leave as rows of one decoder.

One request is the loop with one row; several requests, and the segments of one long text, are
several rows. Audio leaves in the order of each request's segments. Nothing here needs torch.
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
    """One segment of one request. `build` makes its prompt when a row is free for it."""

    segment: int
    build: Callable[[], Prompt]
    noise: NoiseSource
    delivery: Delivery


@dataclass(frozen=True)
class Delivered:
    """What left the loop: one row's step, with the request and the segment that it belongs to."""

    request: int
    segment: int
    step: RowStep


@dataclass
class _Line:
    """One request on its way: what waits, what is in rows, and what must not leave yet."""

    waiting: Iterator[Job]
    n_segments: int
    words: Iterator[str] | None
    arrived: deque[Words | EndOfText] = field(default_factory=deque)
    admitted: int = 0
    next_segment: int = 0
    held: dict[int, list[RowStep]] = field(default_factory=dict)
    n_samples: dict[int, int] = field(default_factory=dict)


class Jobs:
    """The requests that the loop works on; `ahead` bounds how early a segment may start."""

    def __init__(self, *, ahead: int = 4) -> None:
        self._ahead = ahead
        self._lines: dict[int, _Line] = {}
        self._rows: dict[int, tuple[int, int]] = {}  # row: request and segment
        self._vacated: list[int] = []
        self._n_submitted = 0

    def submit(self, segments: Sequence[Job], words: Iterator[str] | None = None) -> int:
        """The number of the new request. With `words`, its one segment's text comes from there."""
        request = self._n_submitted
        self._n_submitted += 1
        self._lines[request] = _Line(iter(segments), len(segments), words)
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

    def ready(self, free_rows: Sequence[int]) -> Iterator[tuple[int, Job]]:
        """The jobs that join now, each with its row: requests with the fewest rows come first."""
        for row in tuple(free_rows):
            line_rows = [request for request, _ in self._rows.values()]
            waiting = [request for request, line in self._lines.items() if self._may_join(line)]
            if not waiting:
                return
            request = min(waiting, key=line_rows.count)
            line = self._lines[request]
            job = next(line.waiting)
            line.admitted += 1
            self._rows[row] = (request, job.segment)
            yield row, job

    def _may_join(self, line: _Line) -> bool:
        in_reach = line.admitted <= line.next_segment + self._ahead
        return line.admitted < line.n_segments and in_reach

    def words(self) -> Iterator[tuple[int, Words | EndOfText]]:
        """The words that have arrived, each with the row that they are for."""
        for row, (request, _) in tuple(self._rows.items()):
            line = self._lines.get(request)
            while line is not None and line.arrived:
                yield row, line.arrived.popleft()

    def wait(self) -> None:
        """Block until words arrive for a row that cannot move without them."""
        for request, _ in self._rows.values():
            line = self._lines.get(request)
            if line is not None and line.words is not None:
                piece = next(line.words, None)
                if piece is None:
                    line.words = None
                line.arrived.append(EndOfText() if piece is None else Words(piece))
                return
        raise MenuraError("no row can move and no words can come: the engine lost a row.")

    def settle(self, step: RowStep) -> list[Delivered]:
        """What may leave because of this step: its own audio, or audio that had to wait for it."""
        if step.row not in self._rows or self._rows[step.row][0] not in self._lines:
            return []  # a failure of its request, or a cancel, came earlier in the same step
        request, segment = self._rows[step.row]
        line = self._lines[request]
        step = self._checked(step, line, segment)
        if step.finish is not None:
            del self._rows[step.row]
            self._vacated.append(step.row)
        line.held.setdefault(segment, []).append(step)
        leaving: list[Delivered] = []
        while steps := line.held.pop(line.next_segment, None):
            leaving += [Delivered(request, line.next_segment, held) for held in steps]
            finish = steps[-1].finish
            if finish is None:
                break
            line.next_segment += 1
            if finish is FinishReason.ERROR or line.next_segment == line.n_segments:
                del self._lines[request]
                break
        return leaving

    def vacated(self) -> Iterator[int]:
        """The rows to free: their utterance ended, or its request was cancelled or has failed."""
        for row, (request, _) in tuple(self._rows.items()):
            if request not in self._lines:
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


def failed(row: int, error: MenuraError) -> RowStep:
    """The step of a row that ends with an error."""
    return RowStep(row, finish=FinishReason.ERROR, error=error)


def run(decoder: Decoder, jobs: Jobs) -> Generator[Delivered, None, None]:
    """Everything that the jobs give, as it comes. Closing the generator frees all rows at once."""
    try:
        while jobs.open:
            admitted = False
            for row, job in jobs.ready(decoder.free_rows):
                admitted = True
                try:
                    decoder.admit(row, job.build(), job.noise, job.delivery)
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
