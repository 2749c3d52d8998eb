"""All models together: who may ask, what stays in memory, and that nothing is left behind."""

import asyncio
import os
import signal
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from menura.errors import (
    BusyError,
    InvalidValueError,
    ModelFilesError,
    OverloadedError,
    WorkerDiedError,
)
from menura.server.models.model_pool import Launch, ModelPool
from menura.server.models.model_stage import State
from menura.server.models.names import Names
from menura.server.models.performance import Chunk, Order, Performance
from menura.server.models.pool_limits import PoolLimits
from menura.speech import SpeechRequest
from tests.unit.server.fake_child import PROGRAM
from tests.unit.server.hand_clock import HandClock

LIMITS = PoolLimits(per_owner=4, max_models=2)
PLENTY = 2**40


@dataclass
class Available:
    """The memory that is left, as it is asked for: the last number stays."""

    said: list[int] = field(default_factory=lambda: [PLENTY])

    def __call__(self) -> int:
        return self.said.pop(0) if len(self.said) > 1 else self.said[0]


@dataclass
class Scene:
    """A pool of the fake child's models `a`, `b` and `c`."""

    folder: Path
    clock: HandClock
    pool: ModelPool
    memory: Available

    async def ask(self, text: str = "one", model: str = "a", owner: str = "me") -> Performance:
        return await self.pool.speak(Order(model, SpeechRequest(text), owner))

    async def hear(self, text: str = "one", model: str = "a", owner: str = "me") -> int:
        """How many events came until a text was spoken."""
        async with await self.ask(text, model, owner) as performance:
            return len([event async for event in performance])

    def states(self) -> dict[str, str]:
        return {model.name: str(model.state) for model in self.pool.loaded()}

    def pid(self, model: str) -> int:
        return int((self.folder / model / "starts").read_text().splitlines()[-1])


def played(
    folder: Path, act: Callable[[Scene], Awaitable[None]], limits: PoolLimits = LIMITS
) -> None:
    for model in "abc":
        (folder / model).mkdir(exist_ok=True)
        (folder / model / "tone.json").write_text("{}")

    async def run() -> None:
        clock = HandClock()
        folders = [str(folder / model) for model in "abc"]
        names = Names.at_start(folders, {}, folders[0], clock=clock)
        available = Available()
        pool = ModelPool(names, limits, clock=clock, available=available, program=PROGRAM)
        scene = Scene(folder, clock, pool, available)
        try:
            await act(scene)
        finally:
            await pool.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not [task.get_name() for task in others if not task.done()]

    asyncio.run(run())


def n_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def turns(n: int = 10) -> None:
    """Let the other tasks go on until they wait."""
    for _ in range(n):
        await asyncio.sleep(0)


def test_an_order_is_spoken_by_its_own_model(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        async with await scene.ask("one two", "b") as performance:
            assert performance.begun.model == "b"
            assert performance.begun.seed == 7
            assert len([e async for e in performance if isinstance(e, Chunk)]) == 2
        assert await scene.hear(model="a") == 2
        b, a = scene.pool.loaded()
        assert (b.name, b.state, b.rows, b.queue) == ("b", State.READY, 0, 0)
        assert (b.rss_bytes, b.device, b.precision, b.n_restarts) == (12_345, "cpu", "fp32", 0)
        assert (a.name, a.idle_s) == ("a", 0.0)

    played(tmp_path, act)


def test_how_models_are_loaded_is_told_to_each(tmp_path: Path) -> None:
    names = Names.at_start([], {}, "builtin")
    launch = Launch("cpu", "exact", 2)

    async def run() -> None:
        pool = ModelPool(names, launch=launch)
        load = pool._load("builtin")
        assert (load.model, load.device, load.precision, load.threads) == (
            "builtin", "cpu", "exact", 2,
        )  # fmt: skip

    asyncio.run(run())


def test_an_owner_has_only_so_many_orders_under_way(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = [await scene.ask("ENDLESS") for _ in range(2)]
        waiting = [asyncio.create_task(scene.ask(model="b", owner="me")) for _ in range(2)]
        await turns()
        with pytest.raises(BusyError, match="4 requests of yours") as caught:
            await scene.ask()
        assert caught.value.retry_after_s >= 1.0
        assert caught.value.http_status == 429
        assert await scene.hear(model="b", owner="you") == 2
        for performance in await asyncio.gather(*waiting):
            performance.close()
            performance.close()
        await (await scene.ask(model="b")).cancel()
        for performance in held:
            performance.close()

    played(tmp_path, act)


def test_a_place_is_given_back_whatever_happens(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "fails").write_text("damaged.")

    async def act(scene: Scene) -> None:
        for _ in range(2):
            with pytest.raises(InvalidValueError):
                await scene.hear("WRONG")
            with pytest.raises(ModelFilesError):
                await scene.hear(model="b")
        with pytest.raises(WorkerDiedError):
            await scene.hear("CRASH")
        assert await scene.hear() == 2

    played(tmp_path, act, replace(LIMITS, per_owner=1))


def test_a_disconnect_leaves_nothing_however_often(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert await scene.hear() == 2
        n_tasks, n_open = len(asyncio.all_tasks()), n_descriptors()
        n_threads = threading.active_count()
        for n in range(100):
            asking = asyncio.create_task(scene.ask("one ENDLESS"))
            if n % 3 == 0:  # before it has begun
                await asyncio.sleep(0)
                asking.cancel()
                await asyncio.wait([asking])
                continue
            async with await asking as performance:
                if n % 3 == 1:
                    await anext(performance)
        assert await scene.hear() == 2
        [model] = scene.pool.loaded()
        assert (model.rows, model.queue) == (0, 0)
        assert len(asyncio.all_tasks()) <= n_tasks
        assert n_descriptors() <= n_open
        assert threading.active_count() <= n_threads
        assert len(scene.clock.timers) == 1  # of the idle model

    played(tmp_path, act)


def test_a_slow_reader_stalls_nobody(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "rows").write_text("2")

    async def act(scene: Scene) -> None:
        slow = await scene.ask(" ".join(["word"] * 400), owner="slow")
        for _ in range(20):
            assert await scene.hear("one two", owner="fast") == 3
        assert slow.is_over  # all was taken from the process, nothing by the reader
        async with slow:
            assert len([event async for event in slow]) == 401

    played(tmp_path, act)


def test_the_least_recently_used_model_makes_room(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for model in "aba":
            assert await scene.hear(model=model) == 2
            scene.clock.move(1)
        assert await scene.hear(model="c") == 2
        assert scene.states() == {"a": "ready", "b": "cold", "c": "ready"}
        with pytest.raises(ProcessLookupError):
            os.kill(scene.pid("b"), 0)

    played(tmp_path, act)


def test_a_model_that_speaks_or_is_waited_for_is_never_unloaded(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = [await scene.ask("ENDLESS", model) for model in "ab"]
        with pytest.raises(OverloadedError, match="the 2 models in memory are all in use"):
            await scene.ask(model="c")
        assert scene.states() == {"a": "ready", "b": "ready", "c": "cold"}
        held.pop().close()
        assert await scene.hear(model="b") == 2
        assert await scene.hear(model="c") == 2
        assert scene.states() == {"a": "ready", "b": "cold", "c": "ready"}
        held.pop().close()

    played(tmp_path, act)


def test_two_cold_models_share_what_room_there_is(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        outcomes = await asyncio.gather(
            *(scene.hear(model=model) for model in "abc"), return_exceptions=True
        )
        assert outcomes.count(2) == 2
        assert [type(o) for o in outcomes if o != 2] == [OverloadedError]

    played(tmp_path, act)


def test_short_memory_unloads_who_is_idle(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert await scene.hear(model="a") == 2
        scene.memory.said = [200_000_000, PLENTY]
        assert await scene.hear(model="b") == 2
        assert scene.states() == {"a": "cold", "b": "ready"}
        scene.memory.said = [200_000_000]
        with pytest.raises(OverloadedError, match=r"needs about 0\.3 GB of memory"):
            await scene.hear(model="c")
        assert scene.states() == {"a": "cold", "b": "cold", "c": "cold"}

    played(tmp_path, act)


def test_a_model_is_described_once_and_not_loaded(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        found = await asyncio.gather(*(scene.pool.describe("a") for _ in range(10)))
        assert {facts.model for facts in found} == {"a"}  # not the engine's name for it
        await scene.pool.describe("a")
        assert len((scene.folder / "a" / "looks").read_text().splitlines()) == 1
        assert not (scene.folder / "a" / "starts").exists()
        assert scene.pool.loaded() == []

    played(tmp_path, act)


def test_a_model_that_is_loaded_needs_no_look(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.pool.preload("a")
        assert (await scene.pool.describe("a")).model == "a"
        assert not (scene.folder / "a" / "looks").exists()
        assert scene.states() == {"a": "ready"}

    played(tmp_path, act)


def test_a_model_that_cannot_be_described_is_asked_again_after_a_while(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "fails").write_text("damaged.")

    async def act(scene: Scene) -> None:
        for _ in range(3):
            with pytest.raises(ModelFilesError, match="damaged"):
                await scene.pool.describe("a")
        assert len((scene.folder / "a" / "looks").read_text().splitlines()) == 1
        assert isinstance(scene.pool.fault("a"), ModelFilesError)
        (scene.folder / "a" / "fails").unlink()
        scene.clock.move(60)
        assert isinstance(scene.pool.fault("a"), ModelFilesError)  # until the look is over
        assert (await scene.pool.describe("a")).model == "a"
        assert scene.pool.fault("a") is None

    played(tmp_path, act)


def test_the_built_in_voice_is_described_without_a_process(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        facts = await scene.pool.describe("builtin")
        assert (facts.engine, facts.languages) == ("builtin", ("english",))

    played(tmp_path, act)


def test_draining_lets_what_is_spoken_end_and_nobody_else_in(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        spoken = await scene.pool.speak(Order("a", SpeechRequest(""), "me", words=True))
        others = [await scene.ask("ENDLESS", owner=owner) for owner in ("you", "they")]
        waiting = asyncio.create_task(scene.ask("one"))
        await turns()
        draining = asyncio.create_task(scene.pool.drain(20))
        await turns()
        for late in (scene.ask("one"), waiting):
            with pytest.raises(OverloadedError, match="stopping"):
                await late
        with pytest.raises(OverloadedError):
            scene.pool.preload("b")
        async with spoken:
            await spoken.say("the last words")
            await spoken.end_words()
            assert len([event async for event in spoken]) == 2
        assert not draining.done()
        for other in others:
            other.close()
        await draining

    played(tmp_path, act)


def test_draining_has_a_limit_and_closing_cuts_the_rest(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        spoken = await scene.ask("ENDLESS")
        draining = asyncio.create_task(scene.pool.drain(20))
        await turns()
        scene.clock.move(20)
        await draining
        await scene.pool.close()
        async with spoken:
            with pytest.raises(OverloadedError):
                await anext(spoken)
        with pytest.raises(ProcessLookupError):
            os.kill(scene.pid("a"), 0)

    played(tmp_path, act)


def test_a_crash_of_one_model_is_nothing_to_another(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        async with await scene.ask("one ENDLESS", "b") as other:
            await anext(other)
            assert await scene.hear(model="a") == 2
            os.kill(scene.pid("a"), signal.SIGKILL)
            assert await scene.hear(model="a") == 2
            assert not other.is_over
        restarts = {model.name: model.n_restarts for model in scene.pool.loaded()}
        assert restarts == {"b": 0, "a": 1}

    played(tmp_path, act)


def test_an_order_that_had_not_begun_when_its_process_died_is_spoken_by_the_next(
    tmp_path: Path,
) -> None:
    async def act(scene: Scene) -> None:
        assert await scene.hear() == 2
        os.kill(scene.pid("a"), signal.SIGKILL)
        heard = await asyncio.gather(*(scene.hear(owner=f"owner {n}") for n in range(5)))
        assert heard == [2] * 5
        [model] = scene.pool.loaded()
        assert model.n_restarts == 1

    played(tmp_path, act)


def test_a_model_is_unloaded_by_hand_but_never_from_under_a_speaker(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert await scene.pool.unload("a")  # it never was in memory
        performance = await scene.ask("one two")
        async with performance:
            assert not await scene.pool.unload("a")
            assert [event async for event in performance]
        await turns()
        assert scene.states() == {"a": "ready"}
        assert await scene.pool.unload("a")
        assert scene.states() == {"a": "cold"}
        assert await scene.hear() == 2  # and it comes back for who needs it

    played(tmp_path, act)
