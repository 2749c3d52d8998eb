"""A performance buffers, holds, cuts and ends as it should, whoever is slow."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

from menura.errors import DeadlineError, MenuraError, NoAudioError, WorkerDiedError
from menura.server.models.performance import Begun, Chunk, Order, Performance, Segment
from menura.server.models.pool_limits import ReaderLimits
from menura.speech import FinishReason, SegmentReport, SpeechRequest
from tests.unit.server.hand_clock import HandClock

RATE_HZ = 10
LIMITS = ReaderLimits(buffer_s=20, full_s=50, request_s=100, stall_s=30)


@dataclass
class SaidReins:
    """Reins that keep what they were told."""

    told: list[str] = field(default_factory=list)
    are_wanted: bool = False

    def say(self, text: str) -> None:
        self.told.append(f"say {text}")

    def flush(self) -> None:
        self.told.append("flush")

    def end_words(self) -> None:
        self.told.append("end words")

    def cancel(self) -> None:
        self.told.append("cancel")

    def hold(self) -> None:
        self.told.append("hold")

    def go_on(self) -> None:
        self.told.append("go on")

    async def drained(self) -> None:
        self.told.append("drained")


@dataclass
class Scene:
    """A performance that has begun, and what is around it."""

    clock: HandClock
    reins: SaidReins
    performance: Performance
    closed: list[str]

    def hear(self, seconds: float, segment: int = 0) -> None:
        samples = np.full(round(seconds * RATE_HZ), segment, np.float32)
        self.performance.hear(Chunk(samples, segment))


def scene(*, begun: bool = True, limits: ReaderLimits = LIMITS) -> Scene:
    clock, reins, closed = HandClock(), SaidReins(), list[str]()
    order = Order("tone", SpeechRequest("Hello."), "me")
    performance = Performance(order, reins, limits, clock, lambda: closed.append("closed"))
    if begun:
        performance.begin(Begun("tone", "low", {"seed": 7}, RATE_HZ, 7))
    return Scene(clock, reins, performance, closed)


def played(act: Callable[[Scene], Awaitable[None]], *, begun: bool = True) -> Scene:
    """The scene after an act, which must not fail."""

    async def run() -> Scene:
        stage = scene(begun=begun)
        await act(stage)
        return stage

    return asyncio.run(run())


def report(text: str = "Hello.") -> SegmentReport:
    return SegmentReport(text, 0, len(text), 0, 10, 7, FinishReason.STOP)


async def turns(n: int = 5) -> None:
    """Let the other tasks go on until they wait."""
    for _ in range(n):
        await asyncio.sleep(0)


def test_what_came_is_read_in_order_and_then_it_is_over() -> None:
    async def act(stage: Scene) -> None:
        performance = stage.performance
        stage.hear(1, 0)
        performance.report(report())
        stage.hear(2, 1)
        performance.end(FinishReason.STOP, {"seed": 7, "rows": 1})
        async with performance:
            kinds = [type(event) async for event in performance]
            assert kinds == [Chunk, Segment, Chunk]
        assert performance.finish is FinishReason.STOP
        assert performance.applied == {"seed": 7, "rows": 1}
        assert performance.segments == (report(),)
        assert performance.begun.seed == 7

    stage = played(act)
    assert stage.reins.told == []  # what is over needs no cancel
    assert stage.closed == ["closed"]
    assert stage.clock.timers == []


def test_a_reader_waits_for_what_is_still_to_come() -> None:
    async def act(stage: Scene) -> None:
        reading = asyncio.create_task(anext(stage.performance))
        await turns()
        assert not reading.done()
        stage.hear(1)
        assert isinstance(await reading, Chunk)

    played(act)


def test_words_that_stay_away_give_their_row_to_who_wants_it() -> None:
    async def act(stage: Scene) -> None:
        stage.reins.are_wanted = True
        await stage.performance.say("one ")
        stage.clock.move(LIMITS.pause_s)
        await stage.performance.say("two")
        await stage.performance.end_words()
        stage.clock.move(LIMITS.pause_s)
        stage.performance.close()
        await stage.performance.say("three")

    stage = played(act)
    told = [word for word in stage.reins.told if word != "drained"]
    assert told == ["say one ", "flush", "say two", "end words", "cancel"]
    assert stage.clock.timers == []


def test_leaving_early_cancels_once() -> None:
    async def act(stage: Scene) -> None:
        stage.hear(1)
        async with stage.performance as performance:
            await anext(performance)
        await performance.cancel()
        stage.hear(1)  # what comes meanwhile is dropped
        performance.report(report())
        assert [event async for event in performance] == []

    stage = played(act)
    assert stage.reins.told == ["cancel"]
    assert stage.closed == ["closed"]
    assert stage.clock.timers == []


def test_a_task_that_is_cancelled_leaves_at_once() -> None:
    async def act(stage: Scene) -> None:
        async def read() -> None:
            async with stage.performance as performance:
                await anext(performance)

        reading = asyncio.create_task(read())
        await turns()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    assert played(act).reins.told == ["cancel"]


def test_a_slow_reader_holds_the_model_until_half_was_read() -> None:
    async def act(stage: Scene) -> None:
        for _ in range(20):
            stage.hear(1)
        assert stage.reins.told == []
        stage.hear(1)
        stage.hear(1)
        assert stage.reins.told == ["hold"]
        for _ in range(11):
            await anext(stage.performance)
        assert stage.reins.told == ["hold"]
        await anext(stage.performance)
        assert stage.reins.told == ["hold", "go on"]
        for _ in range(11):
            stage.hear(1)
        assert stage.reins.told == ["hold", "go on", "hold"]

    played(act)


def test_the_buffer_is_never_over_its_bound() -> None:
    async def act(stage: Scene) -> None:
        for _ in range(51):
            stage.hear(1)
        assert stage.reins.told == ["hold", "cancel"]
        stage.hear(1)
        with pytest.raises(DeadlineError, match="too slow"):
            await anext(stage.performance)

    played(act)


def test_the_deadline_stops_what_takes_too_long_before_audio() -> None:
    async def act(stage: Scene) -> None:
        starting = asyncio.create_task(stage.performance.started())
        await turns()
        stage.clock.move(99)
        await turns()
        assert not starting.done()
        stage.clock.move(1)
        with pytest.raises(DeadlineError, match="100 s"):
            await starting

    assert played(act, begun=False).reins.told == ["cancel"]


def test_the_deadline_cuts_audio_that_has_begun() -> None:
    async def act(stage: Scene) -> None:
        async with stage.performance as performance:
            for _ in range(10):
                stage.hear(1)
                await anext(performance)
                stage.clock.move(9)
            reading = asyncio.create_task(anext(performance))
            await turns()
            stage.clock.move(10)
            with pytest.raises(DeadlineError):
                await reading
            assert performance.finish is FinishReason.ERROR

    assert played(act).reins.told == ["cancel"]


def test_the_deadline_is_over_when_the_work_is() -> None:
    async def act(stage: Scene) -> None:
        stage.hear(1)
        stage.performance.end(FinishReason.STOP, {})
        for _ in range(10):
            stage.clock.move(20)
            stage.performance.reader_moved()
        assert isinstance(await anext(stage.performance), Chunk)

    played(act)


def test_words_begin_the_deadline_anew() -> None:
    async def act(stage: Scene) -> None:
        performance = stage.performance
        reading = asyncio.create_task(anext(performance))
        await turns()
        stage.clock.move(80)
        await performance.say("one ")
        stage.clock.move(80)
        await performance.flush()
        await performance.end_words()
        stage.clock.move(80)
        assert not performance.is_over
        stage.clock.move(20)
        with pytest.raises(DeadlineError):
            await reading

    told = played(act, begun=True).reins.told
    assert [word for word in told if word != "drained"] == [
        "say one ", "flush", "end words", "cancel",
    ]  # fmt: skip
    assert told.count("drained") == 3


def test_words_after_the_end_are_nothing() -> None:
    async def act(stage: Scene) -> None:
        stage.performance.fail(WorkerDiedError("gone"))
        await stage.performance.say("more")
        await stage.performance.flush()
        await stage.performance.end_words()

    assert played(act).reins.told == []


def test_a_reader_that_takes_nothing_is_interrupted_wherever_it_is() -> None:
    async def act(stage: Scene) -> None:
        blocked = asyncio.Event()

        async def read() -> None:
            async with stage.performance as performance:
                await anext(performance)
                await blocked.wait()  # as a send to a client that takes nothing

        stage.hear(1)
        stage.hear(1)
        reading = asyncio.create_task(read())
        await turns()
        stage.clock.move(29)
        await turns()
        assert not reading.done()
        stage.clock.move(1)
        with pytest.raises(DeadlineError, match="took nothing for 30 s"):
            await reading
        assert not reading.cancelled()

    stage = played(act)
    assert stage.reins.told == ["cancel"]
    assert stage.closed == ["closed"]


def test_a_reader_that_moves_is_not_cut() -> None:
    async def act(stage: Scene) -> None:
        stage.hear(1)
        async with stage.performance as performance:
            await anext(performance)
            for _ in range(3):
                stage.clock.move(29)
                performance.reader_moved()
            assert not performance.is_over

    played(act)


def test_a_reader_that_waits_for_audio_is_not_cut() -> None:
    async def act(stage: Scene) -> None:
        reading = asyncio.create_task(anext(stage.performance))
        await turns()
        stage.clock.move(60)
        stage.hear(1)
        assert isinstance(await reading, Chunk)

    played(act)


def test_who_cancels_the_task_too_has_the_last_word() -> None:
    async def act(stage: Scene) -> None:
        async def read() -> None:
            async with stage.performance:
                await asyncio.Event().wait()

        reading = asyncio.create_task(read())
        await turns()
        stage.clock.move(30)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    played(act)


def test_what_fails_is_raised_after_what_was_heard() -> None:
    async def act(stage: Scene) -> None:
        stage.hear(1)
        stage.performance.end(FinishReason.ERROR, {"a": 1}, NoAudioError("nothing"))
        stage.performance.fail(WorkerDiedError("too late to matter"))
        assert isinstance(await anext(stage.performance), Chunk)
        for _ in range(2):
            with pytest.raises(NoAudioError):
                await anext(stage.performance)
        assert stage.performance.applied == {"a": 1}

    played(act)


def test_an_order_that_is_wrong_never_begins() -> None:
    async def act(stage: Scene) -> None:
        starting = asyncio.create_task(stage.performance.started())
        await turns()
        stage.performance.end(FinishReason.ERROR, {}, NoAudioError("nothing"))
        with pytest.raises(NoAudioError):
            await starting

    played(act, begun=False)


def test_an_order_that_ends_before_it_begins_is_a_fault() -> None:
    async def act(stage: Scene) -> None:
        stage.performance.end(FinishReason.STOP, {})
        with pytest.raises(MenuraError, match="before it began"):
            await stage.performance.started()

    played(act, begun=False)
