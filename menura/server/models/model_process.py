"""One process of one model: started, told what to speak, listened to, and watched.

The task that reads the process's pipe hands every event to its `Performance` and waits for nobody.
However the process ends (by itself, by a signal, with a broken frame, or because it stopped moving
and was killed), all its orders are told at once, and `ended` is set.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from menura import errands
from menura.errors import InvalidValueError, MenuraError, OverloadedError, WorkerDiedError
from menura.server.models import messages
from menura.server.models.child_process import PROGRAM, ended, first_answer, gone, kill, launched
from menura.server.models.clock import Clock, Timer
from menura.server.models.frames import FrameError
from menura.server.models.messages import Close, FromProcess, Load, Memory, Ready, ToProcess
from menura.server.models.performance import Begun, Chunk, Order, Performance
from menura.server.models.pool_limits import PoolLimits
from menura.speech import FinishReason

LAST_WORDS_S = 1.0  # for a process that has closed its line: its exit code says why
STOP_S = 5.0  # for a process that was asked to end; it is killed after that

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Asked:
    """An order that the process has and has not ended."""

    performance: Performance
    since: float
    is_cancelled: bool = False
    is_held: bool = False


class ModelProcess:
    """A loaded model in its own process, with the orders that it has."""

    def __init__(
        self,
        child: asyncio.subprocess.Process,
        ready: Ready,
        limits: PoolLimits,
        clock: Clock,
        on_free: Callable[[float | None], None],
    ) -> None:
        """`on_free` is called with the time in seconds that an order took, when it has ended, and
        with None when one is held: there may be room for others.
        """
        assert child.stdin is not None
        assert child.stdout is not None
        self.facts = ready.facts
        self.applied = ready.applied
        self.rss_bytes: int | None = None
        self.was_asked_to_stop = False
        self.ended = asyncio.Event()
        self.pid = child.pid
        self._child = child
        self._stdin, self._stdout = child.stdin, child.stdout
        self._limits = limits
        self._clock = clock
        self._on_free = on_free
        self._asked: dict[int, _Asked] = {}
        self._next_key = 0
        self._owes_since: float | None = None
        self._watch: Timer | None = None
        self._stop: Timer | None = None
        self._is_gone = False
        self._reading = asyncio.create_task(self._read(), name=f"model process {child.pid}")

    @classmethod
    async def start(
        cls,
        load: Load,
        limits: PoolLimits,
        clock: Clock,
        on_free: Callable[[float | None], None],
        program: Sequence[str] = PROGRAM,
    ) -> "ModelProcess":
        """The process, when its model is loaded. Raises: as `first_answer`."""
        child = await launched(program)
        try:
            ready = await first_answer(child, load, limits.load_s, clock)
            return cls(child, ready, limits, clock, on_free)
        except BaseException:
            await gone(child)
            raise

    @property
    def n_orders(self) -> int:
        """How many orders it has."""
        return len(self._asked)

    @property
    def capacity(self) -> int:
        """How many orders it takes: one for each row, and one that is ready when a row is free."""
        rows = self.facts.max_rows
        return (rows if self._limits.rows is None else min(rows, self._limits.rows)) + 1

    def has_room(self, *, words: bool) -> bool:
        """Whether it can take another order, with words that come later or without.

        One that is parked, since its words come later or its reader is slow, takes nobody's place.
        """
        alike = [each for each in self._asked.values() if each.performance.order.words is words]
        n_parked = sum(words or each.is_held for each in alike)
        has_place = len(alike) - n_parked < self.capacity
        return self.is_running and has_place and n_parked < self._limits.parked

    @property
    def is_running(self) -> bool:
        """Whether it still works."""
        return not (self.was_asked_to_stop or self._is_gone)

    def perform(self, order: Order, on_close: Callable[[], None]) -> Performance:
        """The performance of an order, which the process has been asked for.

        Raises: InvalidValueError: the order cannot be told to a process.
        """
        key, self._next_key = self._next_key, self._next_key + 1
        file = None if order.voice_file is None else str(order.voice_file)
        ask = errands.Ask(key, order.request, order.words, order.stream, file, order.voice_id)
        try:
            self._send(ask)
        except FrameError as error:
            raise InvalidValueError(f"the request cannot be spoken: {error}.") from error
        reins = _Reins(self, key)
        performance = Performance(order, reins, self._limits.reader, self._clock, on_close)
        self._asked[key] = _Asked(performance, self._clock.now())
        self._expect()
        return performance

    def tell(self, message: ToProcess) -> None:
        """Tell the process something about an order that it has; else nothing happens."""
        if isinstance(message, Load | Close) or message.key not in self._asked:
            return
        asked = self._asked[message.key]
        self._send(message)
        match message:
            case errands.Cancel():
                asked.is_cancelled = True
            case errands.GoOn():
                asked.is_held = False
            case errands.Hold():
                asked.is_held = True
                self._on_free(None)

    @property
    def lacks_rows(self) -> bool:
        """Whether somebody may wait for a row that an order without further words keeps."""
        return self.facts.streams_text and len(self._asked) > self.facts.max_rows

    async def drained(self) -> None:
        """Nothing, when the process has taken most of what it was told, or has ended."""
        with contextlib.suppress(ConnectionError):
            await self._stdin.drain()

    def end(self) -> None:
        """Ask the process to end; it is killed where it does not. Its orders are told so."""
        if not self.is_running:
            return
        self.was_asked_to_stop = True
        for asked in self._asked.values():
            asked.performance.fail(OverloadedError("the server has stopped this model."))
        self._send(Close())
        self._stdin.close()
        self._stop = self._clock.call_later(STOP_S, partial(kill, self._child))

    async def stop(self) -> None:
        """Nothing, when the process was asked to end and has ended."""
        self.end()
        try:
            await self.ended.wait()
        finally:
            kill(self._child)

    def _send(self, message: ToProcess) -> None:
        frame = messages.encode(message)
        if not self._stdin.is_closing():
            self._stdin.write(frame)

    async def _read(self) -> None:
        """Hand on what the process says until it ends, then tell everybody that it has."""
        why = "it ended"
        try:
            while (message := await messages.read_from(self._stdout)) is not None:
                self._take(message)
                self._owes_since = None
                self._expect()
        except FrameError as error:
            why = f"it sent a broken frame: {error}"
            kill(self._child)
        finally:
            await self._bury(why)

    async def _bury(self, why: str) -> None:
        """Tell everybody that the process is gone, and see to it that it is."""
        self._is_gone = True
        for timer in (self._watch, self._stop):
            if timer is not None:
                timer.cancel()
        asked, self._asked = self._asked, {}
        for entry in asked.values():
            entry.performance.fail(died())
        timer = self._clock.call_later(LAST_WORDS_S, partial(kill, self._child))
        await ended(self._child)
        timer.cancel()
        if not self.was_asked_to_stop:
            code = self._child.returncode
            _log.error("the process of %r is gone: %s (%s)", self.facts.model, why, code)
        self.ended.set()

    def _take(self, message: FromProcess) -> None:
        """Take note of one message. Raises: FrameError: it may not come now."""
        match message:
            case Memory(rss_bytes, _):
                self.rss_bytes = rss_bytes
            case errands.Begun(key, applied, rate_hz, seed):
                performance = self._performance(key)
                used = _as_named(applied, performance.order)
                voice = used.get("voice")
                label = voice if isinstance(voice, str) else None
                performance.begin(Begun(performance.order.model, label, used, rate_hz, seed))
            case errands.Heard(key, chunk):
                performance = self._performance(key)
                if not performance.has_begun:
                    raise FrameError("audio came before its order had begun")
                performance.hear(Chunk(chunk.samples, chunk.segment))
            case errands.SegmentDone(key, report):
                self._performance(key).report(report)
            case errands.Ended(key, finish, applied, error):
                performance = self._performance(key)
                asked = self._asked.pop(key)
                if finish is FinishReason.CANCELLED and not asked.is_cancelled:
                    error = died()  # nobody here wanted that: for its reader it is a failure
                elif error is not None:  # requests know the model by the server's name for it
                    ours = repr(performance.order.model)
                    error.message = error.message.replace(repr(self.facts.model), ours)
                performance.end(finish, _as_named(applied, performance.order), error)
                self._on_free(self._clock.now() - asked.since)
            case _:
                raise FrameError(f"a {type(message).__name__} came while it runs")

    def _performance(self, key: int) -> Performance:
        """The performance of a key. Raises: FrameError: no order has it."""
        if key not in self._asked:
            raise FrameError(f"there is no order {key}")
        return self._asked[key].performance

    def _expect(self) -> None:
        """See to it that a process that owes a sign of life is looked at when it is too late.

        With orders it gives one each second or so, whatever the engine does between two steps.
        """
        if not self._asked:
            self._owes_since = None
            if self._watch is not None:
                self._watch.cancel()
                self._watch = None
        elif self._owes_since is None:
            self._owes_since = self._clock.now()
            if self._watch is None:
                self._watch = self._clock.call_later(self._limits.hang_s, self._check)

    def _check(self) -> None:
        """Kill the process if it owes a sign of life for too long, else look again."""
        self._watch = None
        if self._owes_since is None or self._is_gone:
            return
        left_s = self._owes_since + self._limits.hang_s - self._clock.now()
        if left_s > 0:
            self._watch = self._clock.call_later(left_s, self._check)
            return
        _log.error("%r has not moved for %g s", self.facts.model, self._limits.hang_s)
        kill(self._child)


def _as_named(applied: Mapping[str, object], order: Order) -> Mapping[str, object]:
    """What was used, with a saved voice by its name here; its file may say another."""
    is_saved = order.voice_label is not None and "voice" in applied
    return {**applied, "voice": order.voice_label} if is_saved else applied


def died() -> MenuraError:
    """The error of an order whose process has ended."""
    return WorkerDiedError(
        "the model's process ended before the request did: ask once more.",
        retry_after_s=1.0,
    )


class _Reins:
    """What the performance of one order tells its process."""

    def __init__(self, process: ModelProcess, key: int) -> None:
        self._process = process
        self._key = key

    @property
    def are_wanted(self) -> bool:
        return self._process.lacks_rows

    def say(self, text: str) -> None:
        self._process.tell(errands.Say(self._key, text))

    def flush(self) -> None:
        self._process.tell(errands.Flush(self._key))

    def end_words(self) -> None:
        self._process.tell(errands.EndWords(self._key))

    def cancel(self) -> None:
        self._process.tell(errands.Cancel(self._key))

    def hold(self) -> None:
        self._process.tell(errands.Hold(self._key))

    def go_on(self) -> None:
        self._process.tell(errands.GoOn(self._key))

    async def drained(self) -> None:
        await self._process.drained()
