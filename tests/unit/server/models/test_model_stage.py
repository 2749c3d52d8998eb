"""One model: who waits gets its turn or is told why not, and a dead process comes back."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from menura.errors import (
    InvalidValueError,
    MenuraError,
    ModelFilesError,
    OverloadedError,
    WorkerDiedError,
)
from menura.server.models import model_stage
from menura.server.models.messages import Load
from menura.server.models.model_stage import ModelStage, State
from menura.server.models.performance import Order, Performance
from menura.server.models.pool_limits import PoolLimits, ReaderLimits
from menura.speech import SpeechRequest
from tests.unit.server.fake_child import PROGRAM, at_gate
from tests.unit.server.hand_clock import HandClock

LIMITS = PoolLimits(queue=64, queue_s=60, idle_s=300, load_s=500, hang_s=10**6)


class Scene:
    """A stage of the fake child, and orders for it."""

    def __init__(self, folder: Path, limits: PoolLimits) -> None:
        self.folder = folder
        self.clock = HandClock()
        self.n_rooms = 0
        self.no_room: MenuraError | None = None
        load = Load(str(folder))
        self.stage = ModelStage("tone", load, limits, self.clock, self._make_room, PROGRAM)

    async def _make_room(self, stage: ModelStage) -> None:
        assert stage is self.stage
        self.n_rooms += 1
        if self.no_room is not None:
            raise self.no_room

    @property
    def n_starts(self) -> int:
        file = self.folder / "starts"
        return len(file.read_text().splitlines()) if file.exists() else 0

    async def ask(
        self, text: str = "one", owner: str = "me", *, words: bool = False
    ) -> Performance:
        """The performance of a text, when its turn has come."""
        order = Order("tone", SpeechRequest(text), owner, words=words)
        return await self.stage.perform(order, lambda: None)

    async def hear(self, text: str = "one", owner: str = "me") -> int:
        """How many events came until a text was spoken."""
        async with await self.ask(text, owner) as performance:
            await performance.started()
            return len([event async for event in performance])

    def state(self) -> State:
        return self.stage.state

    def kill(self) -> None:
        assert self.stage.process is not None
        os.kill(self.stage.process.pid, signal.SIGKILL)

    async def gone(self) -> None:
        """Nothing, when the process that is there now has ended and was noticed."""
        assert self.stage.process is not None
        await self.stage.process.ended.wait()
        await turns()

    async def crash(self) -> None:
        """Nothing, after an order that kills the process was told so, and the stage knows it."""
        performance = await self.ask("CRASH")
        process = self.stage.process
        assert process is not None
        async with performance:
            with pytest.raises(WorkerDiedError):
                assert [event async for event in performance] == []
        await process.ended.wait()
        await turns()


def played(
    folder: Path, act: Callable[[Scene], Awaitable[None]], limits: PoolLimits = LIMITS
) -> None:
    async def run() -> None:
        scene = Scene(folder, limits)
        try:
            await act(scene)
        finally:
            await scene.stage.close()
        assert not scene.stage.takes_memory
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not [task.get_name() for task in others if not task.done()]

    asyncio.run(run())


async def turns(n: int = 10) -> None:
    """Let the other tasks go on until they wait."""
    for _ in range(n):
        await asyncio.sleep(0)


def test_the_model_is_loaded_when_somebody_needs_it(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert scene.state() is State.COLD
        assert await scene.hear("one two") == 3
        assert scene.state() is State.READY
        assert scene.stage.facts is not None
        assert await scene.hear("one") == 2
        assert (scene.n_starts, scene.n_rooms) == (1, 1)

    played(tmp_path, act)


def test_a_storm_on_a_cold_model_loads_it_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")

    async def act(scene: Scene) -> None:
        storm = [asyncio.create_task(scene.hear("one", f"owner {n % 7}")) for n in range(50)]
        gate = await at_gate(tmp_path)
        assert scene.state() is State.LOADING
        assert scene.stage.n_waiting == 50
        gate.close()
        assert await asyncio.gather(*storm) == [2] * 50
        assert scene.n_starts == 1

    played(tmp_path, act)


def test_a_first_load_may_take_longer_than_a_turn(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")

    async def act(scene: Scene) -> None:
        waiting = asyncio.create_task(scene.hear())
        gate = await at_gate(tmp_path)
        scene.clock.move(3 * LIMITS.queue_s)
        gate.close()
        assert await waiting == 2

    played(tmp_path, act)


def test_all_who_wait_are_told_why_the_model_cannot_be_loaded(tmp_path: Path) -> None:
    (tmp_path / "fails").write_text("the weights are damaged.")

    async def act(scene: Scene) -> None:
        outcomes = await asyncio.gather(*(scene.hear() for _ in range(20)), return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {ModelFilesError}
        assert len({id(outcome) for outcome in outcomes}) == 20
        assert scene.state() is State.FAILING
        with pytest.raises(ModelFilesError):  # said again without another try
            await scene.hear()
        assert scene.n_starts == 1
        (tmp_path / "fails").unlink()
        scene.clock.move(model_stage.REFUSAL_S)
        assert await scene.hear() == 2

    played(tmp_path, act)


def test_without_room_who_waits_is_told_and_may_ask_again(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.no_room = OverloadedError("no room.")
        with pytest.raises(OverloadedError, match="no room"):
            await scene.hear()
        assert scene.state() is State.COLD
        scene.no_room = None
        assert await scene.hear() == 2

    played(tmp_path, act)


def test_a_full_queue_turns_away(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = [await scene.ask("ENDLESS") for _ in range(2)]  # one row, and one ready
        waiting = [asyncio.create_task(scene.ask()) for _ in range(3)]
        await turns()
        with pytest.raises(OverloadedError, match="3 places to wait in are taken") as caught:
            await scene.ask()
        assert caught.value.retry_after_s == 10.0  # four in turn, each of five seconds, in two
        assert scene.stage.n_waiting == 3
        for performance in held:
            performance.close()
        for performance in await asyncio.gather(*waiting):
            performance.close()

    played(tmp_path, act, replace(LIMITS, queue=3))


def test_without_a_queue_only_free_rows_take_orders(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        scene.stage.warm_up()
        await scene.stage.settled()
        assert await scene.hear() == 2
        held = [await scene.ask("ENDLESS") for _ in range(2)]
        with pytest.raises(OverloadedError):
            await scene.ask()
        for performance in held:
            performance.close()

    played(tmp_path, act, replace(LIMITS, queue=0))


def test_a_turn_that_does_not_come_in_time_is_given_up(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = [await scene.ask("ENDLESS") for _ in range(2)]
        waiting = asyncio.create_task(scene.ask())
        await turns()
        scene.clock.move(59)
        await turns()
        assert not waiting.done()
        scene.clock.move(1)
        with pytest.raises(OverloadedError, match="did not come within 60 s"):
            await waiting
        assert scene.stage.n_waiting == 0
        for performance in held:
            performance.close()

    played(tmp_path, act)


def test_who_goes_away_leaves_the_queue(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = [await scene.ask("ENDLESS") for _ in range(2)]
        waiting = asyncio.create_task(scene.ask())
        await turns()
        assert scene.stage.n_waiting == 1
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert scene.stage.n_waiting == 0
        for performance in held:
            performance.close()
        assert await scene.hear() == 2

    played(tmp_path, act)


def test_who_goes_away_as_its_turn_comes_gives_the_row_back(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = [await scene.ask("ENDLESS") for _ in range(2)]
        asking = asyncio.create_task(scene.ask("ENDLESS"))
        await turns()
        process = scene.stage.process
        assert process is not None
        process.facts = replace(process.facts, max_rows=2)  # a row is free
        scene.stage._admit()
        assert process.n_orders == 3
        asking.cancel()  # before it was woken
        with pytest.raises(asyncio.CancelledError):
            await asking
        for performance in held:
            performance.close()
        assert await scene.hear() == 2
        assert scene.stage.n_orders == 0

    played(tmp_path, act)


def test_owners_take_turns_however_many_orders_one_has(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = [await scene.ask("ENDLESS", "greedy") for _ in range(2)]
        came: list[str] = []

        async def wait(owner: str) -> None:
            performance = await scene.ask("one", owner)
            came.append(owner)
            async with performance:
                assert len([event async for event in performance]) == 2

        tasks = [asyncio.create_task(wait("greedy")) for _ in range(10)]
        tasks += [asyncio.create_task(wait("modest")) for _ in range(3)]
        await turns()
        for performance in held:
            performance.close()
        await asyncio.gather(*tasks)
        assert came == ["greedy", "modest"] * 3 + ["greedy"] * 7

    played(tmp_path, act)


def test_a_killed_process_is_started_again_at_once_and_the_queue_stays(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = [await scene.ask("one ENDLESS") for _ in range(2)]
        waiting = [asyncio.create_task(scene.hear()) for _ in range(5)]
        await turns()
        scene.kill()
        for performance in held:
            async with performance:
                with pytest.raises(WorkerDiedError):
                    assert [event async for event in performance] == []
        assert await asyncio.gather(*waiting) == [2] * 5
        assert (scene.n_starts, scene.stage.n_restarts) == (2, 1)

    played(tmp_path, act)


def test_a_process_that_is_killed_while_idle_is_started_again(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert await scene.hear() == 2
        scene.kill()
        await scene.gone()
        assert scene.state() is State.RESTARTING
        await scene.stage.settled()
        assert scene.state() is State.READY
        assert scene.n_starts == 2

    played(tmp_path, act)


def test_the_second_crash_waits_a_moment_and_the_third_is_one_too_many(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        await scene.crash()
        await scene.crash()
        assert scene.state() is State.RESTARTING
        waiting = asyncio.create_task(scene.crash())
        await turns()
        assert scene.n_starts == 2
        scene.clock.move(model_stage.PAUSE_S)
        await waiting
        assert scene.state() is State.FAILING
        assert scene.n_starts == 3
        scene.clock.move(4)
        with pytest.raises(WorkerDiedError, match="3 times within 60 s") as caught:
            await scene.hear()
        assert caught.value.retry_after_s == 6.0
        scene.clock.move(6)
        assert scene.state() is State.COLD
        assert await scene.hear() == 2
        assert scene.n_starts == 4

    played(tmp_path, act)


def test_the_queue_is_told_when_a_model_fails(tmp_path: Path) -> None:
    (tmp_path / "dies").write_text("3")

    async def act(scene: Scene) -> None:
        waiting = [asyncio.create_task(scene.hear()) for _ in range(5)]
        await scene.clock.waits_for(model_stage.PAUSE_S)
        assert scene.n_starts == 2
        scene.clock.move(model_stage.PAUSE_S)
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {WorkerDiedError}
        assert scene.n_starts == 3
        assert scene.state() is State.FAILING

    played(tmp_path, act)


def test_crashes_that_are_long_ago_are_forgiven(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        for _ in range(5):
            await scene.crash()
            assert await scene.hear() == 2
            scene.clock.move(model_stage.CRASH_WINDOW_S)
        assert scene.state() is State.READY

    played(tmp_path, act)


def test_a_process_that_dies_while_loading_is_tried_again_for_who_waits(tmp_path: Path) -> None:
    (tmp_path / "dies").write_text("1")

    async def act(scene: Scene) -> None:
        assert await scene.hear() == 2
        assert scene.n_starts == 2

    played(tmp_path, act)


def test_a_model_that_nobody_needs_is_unloaded(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = await scene.ask("ENDLESS")
        scene.clock.move(1000)
        assert scene.state() is State.READY
        held.close()
        assert await scene.hear() == 2
        scene.clock.move(299)
        assert await scene.hear() == 2  # begins the time anew
        scene.clock.move(299)
        assert scene.state() is State.READY
        pid = int((tmp_path / "starts").read_text())
        scene.clock.move(1)
        assert scene.stage.process is not None
        await scene.gone()
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert scene.state() is State.COLD
        assert scene.stage.n_restarts == 0
        assert await scene.hear() == 2
        assert scene.n_starts == 2

    limits = replace(LIMITS, reader=replace(LIMITS.reader, request_s=10_000, stall_s=10_000))
    played(tmp_path, act, limits)


def test_an_order_that_comes_while_the_model_leaves_loads_it_again(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert await scene.hear() == 2
        unloading = asyncio.create_task(scene.stage.unload())
        await asyncio.sleep(0)
        assert await scene.hear() == 2
        await unloading
        assert scene.n_starts == 2

    played(tmp_path, act)


def test_a_model_may_stay_for_ever(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert await scene.hear() == 2
        scene.clock.move(10**7)
        assert scene.state() is State.READY

    played(tmp_path, act, replace(LIMITS, idle_s=None))


def test_orders_whose_words_stay_away_hold_nobody_up(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        silent = [await scene.ask("", words=True) for _ in range(4)]
        assert await scene.hear() == 2
        fifth = asyncio.create_task(scene.ask("", words=True))
        await turns()
        assert (scene.stage.n_waiting, await scene.hear()) == (1, 2)
        silent[0].close()
        for performance in (await fifth, *silent):
            performance.close()

    played(tmp_path, act, replace(LIMITS, parked=4))


def test_orders_whose_readers_are_slow_hold_nobody_up(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        slow = [await scene.ask("one two three ENDLESS") for _ in range(2)]
        for performance in slow:
            await performance.started()
        assert await scene.hear() == 2
        for performance in slow:
            performance.close()

    reader = ReaderLimits(buffer_s=2)
    played(tmp_path, act, replace(LIMITS, reader=reader))


def test_a_wrong_order_gives_its_place_to_the_next(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        wrong = [asyncio.create_task(scene.hear("WRONG")) for _ in range(10)]
        assert await scene.hear() == 2
        outcomes = await asyncio.gather(*wrong, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {InvalidValueError}
        assert scene.stage.n_orders == 0

    played(tmp_path, act)


def test_closing_ends_everything_and_takes_nothing_more(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        held = [await scene.ask("ENDLESS") for _ in range(2)]
        waiting = asyncio.create_task(scene.ask())
        await turns()
        await scene.stage.close()
        for performance in held:
            async with performance:
                with pytest.raises(OverloadedError):
                    await anext(performance)
        with pytest.raises(OverloadedError, match="stopping"):
            await waiting
        with pytest.raises(OverloadedError, match="stopping"):
            await scene.ask()

    played(tmp_path, act)


def test_closing_while_the_model_is_loaded_ends_that(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")

    async def act(scene: Scene) -> None:
        waiting = asyncio.create_task(scene.ask())
        gate = await at_gate(tmp_path)
        await scene.stage.close()
        gate.close()
        with pytest.raises(OverloadedError):
            await waiting
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "starts").read_text()), 0)

    played(tmp_path, act)


def test_closing_as_the_process_dies_starts_no_other(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert await scene.hear() == 2
        scene.kill()
        await scene.stage.close()
        assert scene.n_starts == 1

    played(tmp_path, act)
