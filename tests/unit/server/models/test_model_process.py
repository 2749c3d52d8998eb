"""One process of one model: whatever happens to it, every order that it has is told."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from menura.errors import (
    InvalidValueError,
    MenuraError,
    ModelFilesError,
    OverloadedError,
    WorkerDiedError,
)
from menura.server.models import child_process
from menura.server.models.messages import Load
from menura.server.models.model_process import STOP_S, ModelProcess
from menura.server.models.performance import Chunk, Order, Performance, Segment
from menura.server.models.pool_limits import PoolLimits, ReaderLimits
from menura.speech import FinishReason, SpeechRequest
from tests.unit.server.fake_child import PROGRAM, at_gate
from tests.unit.server.hand_clock import HandClock

LIMITS = PoolLimits(load_s=50, hang_s=100, reader=ReaderLimits(buffer_s=2, stall_s=10**6))


class Scene:
    """A process of the fake child, and what it was told."""

    def __init__(self, process: ModelProcess, clock: HandClock, freed: list[float | None]) -> None:
        self.process = process
        self.clock = clock
        self.freed = freed
        self.performances: list[Performance] = []

    async def ask(self, text: str, *, words: bool = False) -> Performance:
        """The performance of a text, when it has begun."""
        order = Order("served", SpeechRequest(text, voice="low"), "me", words=words)
        performance = self.process.perform(order, lambda: None)
        self.performances.append(performance)
        await performance.started()
        return performance


@asynccontextmanager
async def started(folder: Path, limits: PoolLimits = LIMITS) -> AsyncIterator[Scene]:
    clock, freed = HandClock(), list[float | None]()
    process = await ModelProcess.start(Load(str(folder)), limits, clock, freed.append, PROGRAM)
    scene = Scene(process, clock, freed)
    try:
        yield scene
    finally:
        process.end()
        clock.move(STOP_S)  # a test's own failure must not wait for a process that hangs
        await process.stop()
        for performance in scene.performances:
            performance.close()
        assert clock.timers == []


def played(folder: Path, act: Callable[[Scene], Awaitable[None]]) -> None:
    async def run() -> None:
        async with started(folder) as scene:
            await act(scene)

    asyncio.run(run())


def start(folder: Path, clock: HandClock | None = None) -> MenuraError:
    """The error that a start fails with."""

    async def run() -> None:
        await ModelProcess.start(
            Load(str(folder)), LIMITS, clock or HandClock(), lambda _: None, PROGRAM
        )

    with pytest.raises(MenuraError) as caught:
        asyncio.run(run())
    return caught.value


def n_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def is_gone(pid: int) -> bool:
    """Whether no process has the number; a zombie still has it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_an_order_is_spoken(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        assert scene.process.facts.model == "tone"
        assert scene.process.applied == {"device": "cpu", "precision": "fp32"}
        assert scene.process.capacity == 2
        async with await scene.ask("one two") as performance:
            assert performance.begun.voice == "low"
            assert performance.begun.sample_rate_hz == 8_000
            events = [event async for event in performance]
        assert [type(event) for event in events] == [Chunk, Chunk, Segment]
        assert isinstance(events[0], Chunk)
        assert events[0].samples.shape == (8_000,)
        assert performance.finish is FinishReason.STOP
        assert performance.applied == {"seed": 7}
        assert scene.process.n_orders == 0
        assert scene.process.rss_bytes == 12_345
        assert scene.freed == [0.0]

    played(tmp_path, act)


def test_a_voice_of_the_library_goes_by_its_id(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        order = Order("tone", SpeechRequest("one"), "me", voice_id="voice_0")
        async with scene.process.perform(order, lambda: None) as performance:
            await performance.started()
            assert performance.begun.voice == "voice_0"

    played(tmp_path, act)


def test_a_saved_voice_is_told_by_its_name_here(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        order = Order(
            "tone", SpeechRequest("one"), "me", voice_file=Path("a/file"), voice_label="Me"
        )
        async with scene.process.perform(order, lambda: None) as performance:
            await performance.started()
            assert performance.begun.voice == performance.begun.applied["voice"] == "Me"

    played(tmp_path, act)


def test_orders_keep_their_own_audio(tmp_path: Path) -> None:
    (tmp_path / "rows").write_text("8")

    async def act(scene: Scene) -> None:
        performances = [await scene.ask("a b c") for _ in range(8)]
        for key, performance in enumerate(performances):
            async with performance:
                heard = [e.samples async for e in performance if isinstance(e, Chunk)]
            assert np.unique(np.concatenate(heard)).tolist() == [key]

    played(tmp_path, act)


def test_a_wrong_order_touches_no_other(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        other = await scene.ask("ENDLESS")
        with pytest.raises(InvalidValueError, match="cannot") as caught:
            await scene.ask("WRONG")
        assert caught.value.param == "text"
        assert caught.value.message == "'served' cannot."  # and not 'tone', the engine's name
        assert not other.is_over
        assert scene.process.n_orders == 1

    played(tmp_path, act)


def test_an_order_that_is_too_large_never_reaches_the_process(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        order = Order("tone", SpeechRequest("x" * 2**24), "me")
        with pytest.raises(InvalidValueError, match="cannot be spoken"):
            scene.process.perform(order, lambda: None)
        assert scene.process.n_orders == 0
        assert not scene.process.ended.is_set()

    played(tmp_path, act)


def test_words_flush_and_holds_cross(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        performance = await scene.ask("", words=True)
        await performance.say("x" * 100)
        assert isinstance(chunk := await anext(performance), Chunk)
        assert len(chunk.samples) == 100
        await performance.say("x" * 24_000)  # over the buffer's two seconds: hold
        await performance.flush()
        await anext(performance)  # go on
        await performance.end_words()
        assert [type(event) async for event in performance] == [Segment]
        assert (tmp_path / "told").read_text().split() == ["Flush", "Hold", "GoOn"]

    played(tmp_path, act)


def test_leaving_frees_the_place_when_the_process_says_so(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        async with await scene.ask("ENDLESS"):
            assert scene.process.n_orders == 1
        async with await scene.ask("one") as after:  # the answer to the cancel came before
            assert [type(event) async for event in after] == [Chunk, Segment]
        assert scene.process.n_orders == 0

    played(tmp_path, act)


@pytest.mark.parametrize("word", ["CRASH", "GARBAGE", "STRANGER"])
def test_whatever_ends_it_all_its_orders_are_told(tmp_path: Path, word: str) -> None:
    (tmp_path / "rows").write_text("3")

    async def act(scene: Scene) -> None:
        others = [await scene.ask("one ENDLESS") for _ in range(2)]
        culprit = await scene.ask(f"one {word}")
        for performance in (*others, culprit):
            assert isinstance(await anext(performance), Chunk)  # what was heard is not lost
            with pytest.raises(WorkerDiedError) as caught:
                await anext(performance)
            assert caught.value.retry_after_s == 1.0
        await scene.process.ended.wait()
        assert not scene.process.has_room(words=False)
        assert not scene.process.was_asked_to_stop
        assert is_gone(scene.process.pid)

    played(tmp_path, act)


def test_audio_before_its_order_has_begun_is_a_broken_process(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        with pytest.raises(WorkerDiedError):
            await scene.ask("EARLY")

    played(tmp_path, act)


def test_a_kill_from_outside_while_idle_is_noticed(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        os.kill(scene.process.pid, signal.SIGKILL)
        await scene.process.ended.wait()
        assert not scene.process.is_running

    played(tmp_path, act)


def test_an_order_that_the_process_drops_is_a_failure(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        performance = await scene.ask("one DROP")
        await anext(performance)
        with pytest.raises(WorkerDiedError):
            await anext(performance)

    played(tmp_path, act)


def test_a_process_that_does_not_move_is_killed(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        performance = await scene.ask("HANG")
        scene.clock.move(99)
        assert not performance.is_over
        scene.clock.move(1)
        with pytest.raises(WorkerDiedError):
            await anext(performance)
        await scene.process.ended.wait()
        assert is_gone(scene.process.pid)

    played(tmp_path, act)


def test_each_sign_of_life_counts(tmp_path: Path) -> None:
    async def act(scene: Scene) -> None:
        performance = await scene.ask("", words=True)
        for _ in range(3):
            scene.clock.move(90)
            await performance.say("x" * 10)
            await anext(performance)
        assert not performance.is_over
        performance.close()
        async with await scene.ask("one") as after:
            assert [type(event) async for event in after] == [Chunk, Segment]
        scene.clock.move(1000)  # with nothing to do it owes nothing
        assert scene.process.is_running

    played(tmp_path, act)


def test_a_process_that_stays_is_killed(tmp_path: Path) -> None:
    (tmp_path / "stays").touch()

    async def act(scene: Scene) -> None:
        performance = await scene.ask("ENDLESS")
        scene.process.end()
        with pytest.raises(OverloadedError):
            await anext(performance)
        assert not scene.process.has_room(words=False)
        scene.clock.move(STOP_S)
        await scene.process.ended.wait()
        assert scene.process.was_asked_to_stop

    played(tmp_path, act)


def test_an_error_of_loading_comes_out_as_itself(tmp_path: Path) -> None:
    (tmp_path / "fails").write_text("the weights are damaged.")
    error = start(tmp_path)
    assert type(error) is ModelFilesError
    assert error.message == "the weights are damaged."


def test_a_value_that_is_wrong_for_loading_is_no_mistake_of_who_asks(tmp_path: Path) -> None:
    (tmp_path / "fails").write_text("WRONG: there is no such device.")
    error = start(tmp_path)
    assert (type(error), error.http_status) == (MenuraError, 500)
    assert (error.message, error.param) == ("WRONG: there is no such device.", None)


@pytest.mark.parametrize(("file", "words"), [("dies", "ended while"), ("garbage", "broken frame")])
def test_a_process_that_does_not_get_up_is_told_as_such(
    tmp_path: Path, file: str, words: str
) -> None:
    (tmp_path / file).write_text("1")
    error = start(tmp_path)
    assert type(error) is WorkerDiedError
    assert words in error.message


def test_loading_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")

    async def run() -> None:
        clock = HandClock()
        starting = asyncio.create_task(
            ModelProcess.start(Load(str(tmp_path)), LIMITS, clock, lambda _: None, PROGRAM)
        )
        gate = await at_gate(tmp_path)
        clock.move(50)
        with pytest.raises(WorkerDiedError, match="took over 50 s"):
            await starting
        gate.close()

    asyncio.run(run())


def test_a_start_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")

    async def run() -> int:
        clock = HandClock()
        starting = asyncio.create_task(
            ModelProcess.start(Load(str(tmp_path)), LIMITS, clock, lambda _: None, PROGRAM)
        )
        gate = await at_gate(tmp_path)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        gate.close()
        return int((tmp_path / "starts").read_text())

    assert is_gone(asyncio.run(run()))


def test_a_program_that_is_not_there_is_told_as_such(tmp_path: Path) -> None:
    async def run() -> None:
        await child_process.launched([str(tmp_path / "absent")])

    with pytest.raises(WorkerDiedError, match="no process could be started"):
        asyncio.run(run())


def test_a_model_is_described_by_a_process_that_ends(tmp_path: Path) -> None:
    async def run() -> None:
        load = Load(str(tmp_path), describe_only=True)
        ready = await child_process.describe(load, 50, HandClock(), PROGRAM)
        assert ready.facts.model == "tone"

    asyncio.run(run())
    assert is_gone(int((tmp_path / "looks").read_text()))


def test_a_process_leaves_no_descriptor_behind(tmp_path: Path) -> None:
    async def run() -> int:
        n_before = n_descriptors()
        for word in ("one", "CRASH", "GARBAGE"):
            async with started(tmp_path) as scene:
                performance = await scene.ask(word)
                if word != "one":
                    await scene.process.ended.wait()
                performance.close()
        return n_descriptors() - n_before

    assert asyncio.run(run()) <= 0


def test_the_child_finds_the_modules_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", ["/first", "", "/second"])
    found = child_process.environment({"PYTHONPATH": "/other", "A": "1"})
    assert found == {"PYTHONPATH": f"/first{os.pathsep}/second", "A": "1"}
