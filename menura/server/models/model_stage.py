"""One model of the server: who waits for it, the process that speaks, and what starts it again.

A task lives as long as the model is in memory or on its way there: it finds room, starts the
process, and starts it again when it ends unasked, the first time at once and then after a pause. A
process that ends three times within a minute is *failing*: who waits is told so, and so is who asks
in the time after. The same holds, for a shorter time, for a model that cannot be loaded.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from menura.errors import MenuraError, OverloadedError, WaitError, WorkerDiedError
from menura.server.models.child_process import PROGRAM
from menura.server.models.clock import Clock, Timer
from menura.server.models.fair_queue import FairQueue
from menura.server.models.messages import Load
from menura.server.models.model_process import ModelProcess
from menura.server.models.performance import Order, Performance
from menura.server.models.pool_limits import PoolLimits
from menura.server.models.waiting_times import WaitingTimes

if TYPE_CHECKING:
    from menura.server.models.model_facts import ModelFacts

CRASHES = 3  # so many within the window, and the model is failing
CRASH_WINDOW_S = 60.0
PAUSE_S = 1.0  # before the second new start within the window
FAILING_S = 10.0
REFUSAL_S = 5.0  # how long an error of loading stands

_log = logging.getLogger(__name__)


class State(StrEnum):
    """Where a model is: not in memory, on its way, there, on its way again, or not to be had."""

    COLD = "cold"
    LOADING = "loading"
    READY = "ready"
    RESTARTING = "restarting"
    FAILING = "failing"


@dataclass(eq=False)
class _Ticket:
    """An order that waits, and the one who is told when its turn has come."""

    order: Order
    on_close: Callable[[], None]
    turn: "asyncio.Future[Performance]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    timer: Timer | None = None


@dataclass(frozen=True)
class _Refusal:
    """Why a model cannot be had, and until when that is said without another try."""

    error: MenuraError
    until: float


class ModelStage:
    """One model: its queue, and its process, which is started when it is needed."""

    def __init__(
        self,
        name: str,
        load: Load,
        limits: PoolLimits,
        clock: Clock,
        make_room: "Callable[[ModelStage], Awaitable[None]]",
        program: tuple[str, ...] = PROGRAM,
    ) -> None:
        """`make_room` returns when the model may be loaded, or raises an OverloadedError."""
        self.name = name
        self.load = load
        self.process: ModelProcess | None = None
        self.last_used = clock.now()
        self.n_restarts = 0
        self._state = State.COLD
        self._limits = limits
        self._clock = clock
        self._make_room = make_room
        self._program = program
        # Orders whose words come later wait apart: they need no place beside the others.
        self._queues: dict[bool, FairQueue[_Ticket]] = {False: FairQueue(), True: FairQueue()}
        self._times = WaitingTimes()
        self._crashes: deque[float] = deque(maxlen=CRASHES)
        self._refusal: _Refusal | None = None
        self._life: asyncio.Task[None] | None = None
        self._idle: Timer | None = None
        self._settled = asyncio.Event()
        self._settled.set()
        self._is_leaving = False
        self._is_closed = False

    @property
    def state(self) -> State:
        """Where the model is."""
        return State.FAILING if self._standing_refusal() is not None else self._state

    @property
    def facts(self) -> "ModelFacts | None":
        """What the model is, while it is in memory."""
        return None if self.process is None else self.process.facts

    @property
    def n_waiting(self) -> int:
        """The orders that wait here."""
        return sum(map(len, self._queues.values()))

    @property
    def n_orders(self) -> int:
        """The orders that the process has."""
        return 0 if self.process is None else self.process.n_orders

    @property
    def takes_memory(self) -> bool:
        """Whether the model is in memory or on its way there."""
        return self._state is not State.COLD

    @property
    def is_idle(self) -> bool:
        """Whether nobody needs the model that is in memory."""
        return self._state is State.READY and self.n_waiting == 0 and self.n_orders == 0

    def until_free_s(self) -> float:
        """When it is likely to have room for one more order, in seconds."""
        n_places = 1 if self.process is None else self.process.capacity
        return self._times.until_free_s(self.n_waiting, n_places)

    async def perform(self, order: Order, on_close: Callable[[], None]) -> Performance:
        """The performance of an order, when its turn has come.

        Raises: OverloadedError: the queue is full, the turn did not come in time, or there is no
            room for the model; WorkerDiedError: the model is failing; any error of loading it.
        """
        self._check_can_wait()
        ticket, queue = _Ticket(order, on_close), self._queues[order.words]
        queue.put(order.owner, ticket)
        self._use()
        self._admit()
        if not ticket.turn.done() and self.n_waiting > self._limits.queue:
            queue.remove(order.owner, ticket)
            raise self._too_much(f"the {self._limits.queue} places to wait in are taken")
        self.warm_up()
        self._wait_on(ticket)
        try:
            return await ticket.turn
        except asyncio.CancelledError:
            if not ticket.turn.cancelled() and ticket.turn.exception() is None:
                ticket.turn.result().close()  # its turn came in the moment when nobody waited
            raise
        finally:
            if ticket.timer is not None:
                ticket.timer.cancel()
            queue.remove(order.owner, ticket)
            self._rest()

    def warm_up(self) -> None:
        """Have the model loaded, if it is not and nothing speaks against it."""
        if self._life is None and not self._is_closed and self._standing_refusal() is None:
            self._settled.clear()
            self._life = asyncio.create_task(self._live(), name=f"model {self.name}")
            self._life.add_done_callback(self._go_cold)

    async def settled(self) -> None:
        """Nothing, when a model on its way is in memory, or will not be."""
        await self._settled.wait()

    def turn_away(self, error: MenuraError) -> None:
        """Tell all who wait why their turn does not come."""
        for queue in self._queues.values():
            for ticket in queue.clear():
                if not ticket.turn.done():
                    ticket.turn.set_exception(copy(error))

    async def unload(self) -> None:
        """Nothing, when the model is out of memory. Orders that come meanwhile wait."""
        life = self._life
        if life is None:
            return
        self._is_leaving = True
        if self.process is not None:
            await self.process.stop()
        else:
            life.cancel()
        await asyncio.wait([life])

    async def close(self) -> None:
        """Nothing, when the model is out of memory for good."""
        self._is_closed = True
        self._use()
        self.turn_away(OverloadedError("the server is stopping."))
        await self.unload()

    def _check_can_wait(self) -> None:
        if self._is_closed:
            raise OverloadedError("the server is stopping.")
        if refusal := self._standing_refusal():
            error = copy(refusal.error)  # a raised one would grow by a traceback each time
            if isinstance(error, WaitError):
                error.retry_after_s = max(refusal.until - self._clock.now(), 1.0)
            raise error

    def _standing_refusal(self) -> _Refusal | None:
        if self._refusal is not None and self._clock.now() >= self._refusal.until:
            self._refusal = None
        return self._refusal

    def _too_much(self, why: str) -> OverloadedError:
        return OverloadedError(
            f"the model {self.name!r} has too much to do: {why}.",
            retry_after_s=self.until_free_s(),
        )

    def _wait_on(self, ticket: _Ticket) -> None:
        ticket.timer = self._clock.call_later(self._limits.queue_s, partial(self._give_up, ticket))

    def _give_up(self, ticket: _Ticket) -> None:
        """Tell that the turn did not come. A first load has a limit of its own: it may go on."""
        if self._state is State.LOADING:
            self._wait_on(ticket)
        elif not ticket.turn.done():
            waited = f"the turn did not come within {self._limits.queue_s:g} s"
            ticket.turn.set_exception(self._too_much(waited))

    def _admit(self) -> None:
        """Give the process what it has room for, in fair turns."""
        for words, queue in self._queues.items():
            while queue and self.process is not None and self.process.has_room(words=words):
                ticket = queue.take()
                if ticket.turn.done():
                    continue  # who waited has just given up
                try:
                    ticket.turn.set_result(self.process.perform(ticket.order, ticket.on_close))
                except MenuraError as error:
                    ticket.turn.set_exception(error)

    def _freed(self, seconds: float | None) -> None:
        """An order has ended after so many seconds, or is held: the next ones may go."""
        if seconds is not None:
            self._times.add(seconds)
        self.last_used = self._clock.now()
        self._admit()
        self._rest()

    def _use(self) -> None:
        self.last_used = self._clock.now()
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _rest(self) -> None:
        """Look at the clock when nobody needs the model any more."""
        if self.is_idle and self._idle is None and self._limits.idle_s is not None:
            self._idle = self._clock.call_later(self._limits.idle_s, self._fall_asleep)

    def _fall_asleep(self) -> None:
        self._idle = None
        if self.is_idle and self.process is not None:
            self.process.end()  # the task of this model does the rest

    async def _live(self) -> None:
        """Have the model in memory until it is unloaded or cannot be had."""
        try:
            await self._make_room(self)
            self._state = State.LOADING
            lives = True
            while lives:
                lives = await self._lives_on()
        except WorkerDiedError as error:
            self._refuse(error, FAILING_S)
        except OverloadedError as error:
            self.turn_away(error)
        except MenuraError as error:
            self._refuse(error, REFUSAL_S)

    async def _lives_on(self) -> bool:
        """Whether to start again, after the process has ended: not if it was asked to.

        Raises: WorkerDiedError: it has ended too often; any error of loading.
        """
        try:
            process = await ModelProcess.start(
                self.load, self._limits, self._clock, self._freed, self._program
            )
        except WorkerDiedError as error:
            _log.error("the model %r was not loaded: %s", self.name, error.message)
        else:
            self.process = process
            self._state = State.READY
            self._settled.set()
            self._admit()
            self._rest()
            await process.ended.wait()
            self.process = None
            if process.was_asked_to_stop or self._is_leaving:
                return False
            self._settled.clear()
        await self._recover()
        return True

    async def _recover(self) -> None:
        """Nothing, when the model may be started again. Raises: WorkerDiedError: too often."""
        now = self._clock.now()
        self.n_restarts += 1
        self._crashes.append(now)
        n_recent = sum(now - crash < CRASH_WINDOW_S for crash in self._crashes)
        if n_recent >= CRASHES:
            raise WorkerDiedError(
                f"the process of the model {self.name!r} ended {n_recent} times within "
                f"{CRASH_WINDOW_S:g} s; the server waits before it tries again.",
                retry_after_s=FAILING_S,
            )
        self._state = State.RESTARTING
        if n_recent > 1:
            pause = asyncio.Event()
            timer = self._clock.call_later(PAUSE_S, pause.set)
            try:
                await pause.wait()
            finally:
                timer.cancel()

    def _refuse(self, error: MenuraError, for_s: float) -> None:
        _log.error("the model %r cannot be had: %s", self.name, error.message)
        self._refusal = _Refusal(error, self._clock.now() + for_s)
        self.turn_away(error)

    def _go_cold(self, life: "asyncio.Task[None]") -> None:
        """The task has ended: the model is out of memory, until it is loaded for who waits."""
        self._state, self._life, self.process = State.COLD, None, None
        self._is_leaving = False
        self._settled.set()
        if not life.cancelled() and (fault := life.exception()) is not None:
            self.turn_away(MenuraError("the model's supervision failed."))
            raise fault
        if self.n_waiting:
            self.warm_up()
