"""All models of the server: who may ask, which are in memory, and which make room for others.

A model is loaded when somebody needs it, and stays until nobody has needed it for a while or
another one needs its place. What speaks or is waited for is never unloaded.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace

from menura import api
from menura.catalogue import BUILTIN, lookup
from menura.errors import BusyError, MenuraError, OverloadedError, WorkerDiedError
from menura.runtime.devices import available_bytes
from menura.server.models import child_process
from menura.server.models.child_process import PROGRAM
from menura.server.models.clock import Clock, LoopClock
from menura.server.models.free_memory import needed_bytes
from menura.server.models.messages import Load
from menura.server.models.model_facts import ModelFacts, facts_of
from menura.server.models.model_stage import ModelStage, State
from menura.server.models.names import Names
from menura.server.models.performance import Order, Performance
from menura.server.models.pool_limits import PoolLimits

_log = logging.getLogger(__name__)
_KEEP_ERROR_S = 60.0  # how long a model that could not be described is not asked again


@dataclass(frozen=True)
class Launch:
    """How models are loaded; None is what the settings say."""

    device: str | None = None
    precision: str | None = None
    threads: int | None = None


@dataclass(frozen=True)
class LoadedModel:
    """A model that was used: where it is, how much it has to do, what it takes.

    `rows`: the orders that its process has. `queue`: those that wait. `rss_bytes` is 0, and
    `device` and `precision` are empty, where they are not known. `idle_s`: since it was last used.
    """

    name: str
    state: State
    rows: int
    queue: int
    rss_bytes: int
    device: str
    precision: str
    idle_s: float
    n_restarts: int


@dataclass(frozen=True)
class _Described:
    """What is known of a model that was asked for, or why nothing is, and until when it holds."""

    outcome: ModelFacts | MenuraError
    generation: int
    until: float


class ModelPool:
    """The models, each in its own process, and the orders that they are given."""

    def __init__(
        self,
        names: Names,
        limits: PoolLimits | None = None,
        launch: Launch = Launch(),
        *,
        clock: Clock | None = None,
        available: Callable[[], int | None] = available_bytes,
        program: tuple[str, ...] = PROGRAM,
    ) -> None:
        """`available` says how much memory is left; `program` is what a model runs in."""
        self._names = names
        self._limits = limits or PoolLimits()
        self._launch = launch
        self._clock = clock or LoopClock()
        self._available = available
        self._program = program
        self._stages: dict[str, ModelStage] = {}
        self._owners: Counter[str] = Counter()
        self._nobody = asyncio.Event()
        self._nobody.set()
        self._room = asyncio.Lock()
        self._described: dict[str, _Described] = {}
        self._describing: dict[str, asyncio.Task[_Described]] = {}
        self._one_at_a_time = asyncio.Lock()
        self._is_open = True

    async def start(self) -> None:
        """Look at the default model, so that the first request need not wait for that."""
        self._describe_task(self._names.default)

    def preload(self, model: str) -> None:
        """Have a model loaded; it goes on after this returns."""
        self._stage(model).warm_up()

    async def unload(self, model: str) -> bool:
        """Whether the model is out of memory now: it stays where somebody needs it."""
        stage = self._stages.get(model)
        if stage is None:
            return True
        if stage.n_orders or stage.n_waiting:
            return False
        await stage.unload()
        return True

    async def speak(self, order: Order) -> Performance:
        """The performance of an order, when its turn has come and it has begun.

        Raises: BusyError: its owner has too many under way; OverloadedError: there is too much to
            do, or the server is stopping; WorkerDiedError; DeadlineError; any error of loading the
            model, and whatever is wrong with the order.
        """
        try:
            return await self._speak(order)
        except WorkerDiedError:  # before it began: nothing was heard, so another one may speak it
            return await self._speak(order)

    async def _speak(self, order: Order) -> Performance:
        stage = self._stage(order.model)
        place = self._place_for(order.owner, stage)
        try:
            performance = await stage.perform(order, place.leave)
        except BaseException:
            place.leave()
            raise
        try:
            await performance.started()
        except BaseException:
            performance.close()
            raise
        return performance

    async def describe(self, model: str) -> ModelFacts:
        """What a model is and can do, by the name that it is served as, without loading it.

        Raises: as `menura.describe`.
        """
        stage = self._stages.get(model)
        known = self._known(model)
        if known is None and stage is not None:
            await stage.settled()  # what is being loaded need not be looked at too
        if stage is not None and stage.facts is not None:
            return replace(stage.facts, model=model)
        if known is None:
            known = await asyncio.shield(self._describe_task(model))
        if isinstance(known.outcome, MenuraError):
            raise copy(known.outcome)  # a raised one would grow by a traceback each time
        return replace(known.outcome, model=model)

    def fault(self, model: str) -> MenuraError | None:
        """Why a model cannot be used, as far as that is known; now and then it is looked at."""
        if self._is_open and self._known(model) is None:
            self._describe_task(model)
        known = self._described.get(model)
        return known.outcome if known and isinstance(known.outcome, MenuraError) else None

    def loaded(self) -> list[LoadedModel]:
        """The models that were used since the start, in that order."""
        return [self._shown(stage) for stage in self._stages.values()]

    async def drain(self, limit_s: float) -> None:
        """Nothing, when what is spoken has been heard, or the time is over. Nobody new gets in."""
        self._is_open = False
        for stage in self._stages.values():
            stage.turn_away(_stopping())
        timer = self._clock.call_later(limit_s, self._nobody.set)
        await self._nobody.wait()
        timer.cancel()

    async def close(self) -> None:
        """Nothing, when no process is left. What is still spoken ends with an error."""
        self._is_open = False
        looks = list(self._describing.values())
        for look in looks:
            look.cancel()
        await asyncio.gather(
            *(stage.close() for stage in self._stages.values()), *looks, return_exceptions=True
        )

    def _stage(self, model: str) -> ModelStage:
        if not self._is_open:
            raise _stopping()
        if model not in self._stages:
            self._stages[model] = ModelStage(
                model,
                self._load(model),
                self._limits,
                self._clock,
                self._make_room,
                self._program,
            )
        return self._stages[model]

    def _load(self, model: str) -> Load:
        launch = self._launch
        source = self._names.source(model)
        return Load(source, launch.device, launch.precision, launch.threads)

    def _place_for(self, owner: str, stage: ModelStage) -> "_Place":
        """The owner's place for one more order. Raises: BusyError: all are taken."""
        if self._owners[owner] >= self._limits.per_owner:
            raise BusyError(
                f"{self._limits.per_owner} requests of yours are under way, the most that one may "
                "have: wait for one of them.",
                retry_after_s=stage.until_free_s(),
            )
        return _Place(self._owners, owner, self._nobody)

    async def _make_room(self, stage: ModelStage) -> None:
        """Nothing, when the model may be loaded: others that nobody needs were unloaded for it.

        Raises: OverloadedError: the others are all needed, or the memory does not suffice.
        """
        async with self._room:
            needed = await asyncio.to_thread(needed_bytes, self._names.source(stage.name))
            while True:
                others = [s for s in self._stages.values() if s is not stage and s.takes_memory]
                available = self._available()
                is_short = available is not None and available < needed
                if len(others) < self._limits.max_models and not is_short:
                    return
                idle = [other for other in others if other.is_idle]
                if not idle:
                    raise _no_room(stage.name, others, needed if is_short else None)
                await min(idle, key=lambda other: other.last_used).unload()

    def _known(self, model: str) -> _Described | None:
        """What an earlier look at the model gave, if it still holds."""
        known = self._described.get(model)
        if known is None or known.generation != self._names.generation:
            return None
        return known if self._clock.now() < known.until else None

    def _describe_task(self, model: str) -> "asyncio.Task[_Described]":
        """The look at a model that is under way, for all who wait for it."""
        if model not in self._describing:
            look = asyncio.create_task(self._describe(model), name=f"look at {model}")
            self._describing[model] = look
            look.add_done_callback(lambda _: self._describing.pop(model))
        return self._describing[model]

    async def _describe(self, model: str) -> _Described:
        generation, until = self._names.generation, float("inf")
        outcome: ModelFacts | MenuraError
        try:
            async with self._one_at_a_time:
                outcome = await self._look_at(model)
        except MenuraError as error:
            _log.error("the model %r cannot be used: %s", model, error.message)
            outcome, until = error, self._clock.now() + _KEEP_ERROR_S
        self._described[model] = _Described(outcome, generation, until)
        return self._described[model]

    async def _look_at(self, model: str) -> ModelFacts:
        """The facts of a model. Only the built-in voice's engine is imported by the server."""
        load = self._load(model)
        known = lookup(load.model or "")
        if known is not None and known.engine == BUILTIN:
            return facts_of(await asyncio.to_thread(api.describe, load.model))
        ready = await child_process.describe(
            Load(load.model, describe_only=True), self._limits.load_s, self._clock, self._program
        )
        return ready.facts

    def _shown(self, stage: ModelStage) -> LoadedModel:
        process = stage.process
        applied = {} if process is None else process.applied
        return LoadedModel(
            name=stage.name,
            state=stage.state,
            rows=stage.n_orders,
            queue=stage.n_waiting,
            rss_bytes=0 if process is None else process.rss_bytes or 0,
            device=str(applied.get("device", "")),
            precision=str(applied.get("precision", "")),
            idle_s=self._clock.now() - stage.last_used,
            n_restarts=stage.n_restarts,
        )


class _Place:
    """One order's share of what its owner may have under way; left once, however often asked."""

    def __init__(self, owners: "Counter[str]", owner: str, nobody: asyncio.Event) -> None:
        self._owners = owners
        self._owner = owner
        self._nobody = nobody
        self._is_left = False
        owners[owner] += 1
        nobody.clear()

    def leave(self) -> None:
        """Give the place back."""
        if self._is_left:
            return
        self._is_left = True
        self._owners[self._owner] -= 1
        if self._owners[self._owner] == 0:
            del self._owners[self._owner]
        if not self._owners:
            self._nobody.set()


def _stopping() -> OverloadedError:
    return OverloadedError("the server is stopping.")


def _no_room(name: str, others: list[ModelStage], needed: int | None) -> OverloadedError:
    wait_s = min((other.until_free_s() for other in others), default=30.0)
    why = f"the {len(others)} models in memory are all in use"
    if needed is not None:
        why = f"it needs about {needed / 1e9:.1f} GB of memory, and there is less"
    return OverloadedError(f"the model {name!r} cannot be loaded now: {why}.", retry_after_s=wait_s)
