"""One request on its way through the loop, as data: its segments, its tries, what leaves of it."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from menura.engines.contract import (
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


ARRIVED = Delivered(-1, -1, RowStep(-1))
"""News of no row: something has arrived that whoever reads the deliveries may want to look at."""


@dataclass
class Line:
    """One request on its way: what waits, what is in rows, and what must not leave yet.

    `words` are pulled when no row can move; `is_open` says that words may still be pushed.
    """

    waiting: Iterator[Job]
    n_segments: int
    words: Iterator[str] | None
    ahead: int
    is_open: bool
    is_held: bool = False
    n_rows: int = 0
    arrived: deque[Words | EndOfText] = field(default_factory=deque)
    given: list[Words | EndOfText] = field(default_factory=list)
    again: deque[Attempt] = field(default_factory=deque)
    admitted: int = 0
    next_segment: int = 0
    has_left: bool = False  # something of the next segment
    held: dict[int, list[Delivered]] = field(default_factory=dict)
    n_samples: dict[int, int] = field(default_factory=dict)


def why_again(step: RowStep, attempt: Attempt, line: Line) -> str:
    """Why a row that ended like this is to be drawn again, in words; empty where it is not."""
    has_left = line.has_left and attempt.job.segment == line.next_segment
    if has_left or len(attempt.given_up) >= attempt.job.retries:
        return ""
    if step.finish is FinishReason.LENGTH:
        return step.reason or "it reached a limit"
    is_luck = isinstance(step.error, NumericsError | NoAudioError)
    return step.error.message if step.error is not None and is_luck else ""


def forget(line: Line, segment: int) -> None:
    """Nothing; no audio of the segment is held, and its words will be given again."""
    line.held.pop(segment, None)
    line.n_samples.pop(segment, None)
    line.arrived.extendleft(reversed(line.given))
    line.given.clear()


def failed(row: int, error: MenuraError) -> RowStep:
    """The step of a row that ends with an error."""
    return RowStep(row, finish=FinishReason.ERROR, error=error)
