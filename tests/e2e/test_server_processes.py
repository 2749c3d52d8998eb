"""The server's models in their real processes: each hears its own voice, whatever dies or waits."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from menura.errors import (
    DeadlineError,
    InvalidValueError,
    MenuraError,
    VoiceNotFoundError,
    WorkerDiedError,
)
from menura.server.models.child_process import PROGRAM
from menura.server.models.model_pool import ModelPool
from menura.server.models.model_process import ModelProcess
from menura.server.models.model_stage import CRASH_WINDOW_S, State
from menura.server.models.names import Names
from menura.server.models.performance import Chunk, Order, Performance, Segment
from menura.server.models.pool_limits import PoolLimits, ReaderLimits
from menura.speech import FinishReason, SpeechRequest
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.record import VoiceDefaults
from tests.kept_voices import kept
from tests.tone.engine import heard_hz, tone_hz
from tests.unit.server.hand_clock import HandClock

# Only the tone engine is asked whose a folder is: the others import torch first.
_QUICK = """
import sys
from menura.engines import registry
registry.names = lambda: ["tone"]
from menura.server.models import child
sys.exit(child.main())
"""
QUICK = (sys.executable, "-P", "-c", _QUICK)
LIMITS = PoolLimits(per_owner=100, queue=100, reader=ReaderLimits(buffer_s=5, full_s=50))
RESTART_S = 10.0


class Server:
    """A pool that serves the tone engine."""

    def __init__(self, pool: ModelPool, clock: HandClock) -> None:
        self.pool = pool
        self.clock = clock

    async def ask(self, text: str, owner: str = "me", **request: object) -> Performance:
        words = bool(request.pop("words", False))
        asked = SpeechRequest(text, seed=7, **request)  # type: ignore[arg-type]
        return await self.pool.speak(Order("tone", asked, owner, words=words))

    async def hear(self, text: str, owner: str = "me") -> list[int]:
        """The tones of a text, one for each frame."""
        async with await self.ask(text, owner) as performance:
            return await tones(performance)

    def process(self) -> ModelProcess:
        process = self.pool._stages["tone"].process
        assert process is not None
        return process

    def pid(self) -> int:
        return self.process().pid


async def tones(performance: Performance) -> list[int]:
    chunks = [event.samples async for event in performance if isinstance(event, Chunk)]
    return heard_hz(np.concatenate(chunks)) if chunks else []


def n_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def of(words: str) -> list[int]:
    """The tones of words that sound for two frames each."""
    return [tone_hz(word) for word in words.split() for _ in range(2)]


def served(
    folder: Path,
    act: Callable[[Server], Awaitable[None]],
    limits: PoolLimits = LIMITS,
    program: tuple[str, ...] = QUICK,
) -> None:
    (folder / "tone").mkdir()
    (folder / "tone" / "tone.json").write_text("{}")

    async def run() -> None:
        names = Names.at_start([], {}, str(folder / "tone"))
        clock = HandClock()
        pool = ModelPool(names, limits, clock=clock, program=program)
        try:
            await act(Server(pool, clock))
        finally:
            await pool.close()

    asyncio.run(run())


def test_a_storm_on_a_cold_model_loads_it_once_and_each_hears_its_own(tmp_path: Path) -> None:
    async def act(server: Server) -> None:
        texts = [f"word{n} other{n} last{n}" for n in range(50)]
        heard = await asyncio.gather(
            *(server.hear(text, f"owner {n % 5}") for n, text in enumerate(texts))
        )
        assert heard == [of(text) for text in texts]
        [model] = server.pool.loaded()
        assert (model.state, model.n_restarts, model.device) == (State.READY, 0, "cpu")
        assert model.rss_bytes > 0

    served(tmp_path, act, program=PROGRAM)


def test_what_is_used_and_where_the_segments_are_comes_with_the_audio(tmp_path: Path) -> None:
    async def act(server: Server) -> None:
        async with await server.ask("One two. Three four.", voice="high") as performance:
            assert (performance.begun.voice, performance.begun.seed) == ("high", 7)
            assert performance.begun.sample_rate_hz == 8_000
            events = [event async for event in performance]
        assert performance.finish is FinishReason.STOP
        reports = [event.report for event in events if isinstance(event, Segment)]
        assert performance.segments == tuple(reports)
        n_samples = sum(len(event.samples) for event in events if isinstance(event, Chunk))
        assert reports[-1].sample_end == n_samples
        assert performance.applied["seed"] == 7

    served(tmp_path, act)


def test_a_voice_of_the_library_is_made_once_and_never_after_it_was_removed(
    tmp_path: Path,
) -> None:
    voice = kept("Anna", defaults=VoiceDefaults(language="zh"))
    order = Order("tone", SpeechRequest("one", seed=7), "me", voice_id=voice.id)

    async def act(server: Server) -> None:
        for _ in range(2):
            async with await server.pool.speak(order) as performance:
                assert performance.begun.voice == "Anna"
                assert performance.begun.applied["voice_id"] == voice.id
                assert performance.begun.applied["voice_defaults"] == {"language": "zh"}
                assert await tones(performance) == of("one")
        assert len(list((voice.folder / "prompts").iterdir())) == 1
        VoiceLibrary().remove("Anna")
        with pytest.raises(VoiceNotFoundError, match="there is no voice") as gone:
            await server.pool.speak(order)
        assert (gone.value.http_status, gone.value.param) == (404, "voice")
        assert await server.hear("two") == of("two")

    served(tmp_path, act)


def test_wrong_orders_are_told_and_touch_no_other(tmp_path: Path) -> None:
    async def act(server: Server) -> None:
        async with await server.ask("", "you", words=True) as other:
            with pytest.raises(InvalidValueError) as caught:
                await server.ask("one", options={"loudness": 7})
            assert caught.value.param == "loudness"
            with pytest.raises(VoiceNotFoundError, match="'nobody'"):
                await server.ask("one", voice="nobody")
            async with await server.ask("one FAIL") as failing:
                with pytest.raises(MenuraError, match="this word fails"):
                    await tones(failing)
            assert await server.hear("one two") == of("one two")
            assert not other.is_over

    served(tmp_path, act)


def test_words_are_spoken_as_they_come(tmp_path: Path) -> None:
    async def act(server: Server) -> None:
        async with await server.ask("", words=True) as performance:
            await performance.say("one two ")
            first = await anext(performance)
            assert isinstance(first, Chunk)
            assert heard_hz(first.samples)[0] == tone_hz("one")
            await performance.say("three")
            await performance.end_words()
            assert heard_hz(first.samples) + await tones(performance) == of("one two three")

    served(tmp_path, act)


def test_a_kill_in_the_middle_is_heard_and_the_next_one_is_served(tmp_path: Path) -> None:
    async def act(server: Server) -> None:
        first = server.ask("ENDLESS", "you")
        async with await first as performance:
            await anext(performance)
            killed = server.pid()
            os.kill(killed, signal.SIGKILL)
            with pytest.raises(WorkerDiedError):
                await tones(performance)
        assert await asyncio.wait_for(server.hear("one"), RESTART_S) == of("one")
        assert server.pid() != killed
        server.clock.move(CRASH_WINDOW_S)
        os.kill(server.pid(), signal.SIGKILL)  # idle
        assert await asyncio.wait_for(server.hear("two"), RESTART_S) == of("two")

    served(tmp_path, act, replace(LIMITS, reader=ReaderLimits()))


def test_a_hundred_who_go_away_leave_every_row_free(tmp_path: Path) -> None:
    async def act(server: Server) -> None:
        assert await server.hear("one") == of("one")
        pid, n_open = server.pid(), n_descriptors()
        n_tasks = len(asyncio.all_tasks())
        for n in range(100):
            async with await server.ask("ENDLESS") as performance:
                if n % 2:
                    await anext(performance)
        assert await server.hear("one two") == of("one two")
        [model] = server.pool.loaded()
        assert (model.rows, model.queue, server.pid()) == (0, 0, pid)
        assert len(asyncio.all_tasks()) <= n_tasks
        assert n_descriptors() <= n_open

    served(tmp_path, act)


def test_a_reader_that_takes_nothing_is_cut_and_others_are_served(tmp_path: Path) -> None:
    async def act(server: Server) -> None:
        slow = await server.ask("ENDLESS", "slow")
        n_heard = 0
        while not slow.is_over or n_heard < 20:
            n_heard += 1
            assert await server.hear(f"word{n_heard}", "fast") == of(f"word{n_heard}")
        async with slow:
            with pytest.raises(DeadlineError):
                await tones(slow)  # never ends by itself

    served(tmp_path, act)


def test_a_step_that_raises_ends_the_process_and_a_new_one_comes(tmp_path: Path) -> None:
    async def act(server: Server) -> None:
        for _ in range(2):
            async with await server.ask("one CRASH") as performance:
                with pytest.raises(MenuraError):
                    await tones(performance)
            assert await server.hear("one two") == of("one two")
            server.clock.move(CRASH_WINDOW_S)

    served(tmp_path, act)


def test_a_process_that_is_stopped_is_replaced_and_the_queue_is_served(tmp_path: Path) -> None:
    async def act(server: Server) -> None:
        held = [await server.ask("", words=True) for _ in range(5)]  # four rows, and one more
        waiting = [asyncio.create_task(server.hear(f"word{n}")) for n in range(3)]
        process = server.process()
        os.kill(process.pid, signal.SIGSTOP)
        while not process.ended.is_set():
            server.clock.move(LIMITS.hang_s / 4)
            await asyncio.sleep(0)
        for performance in held:
            async with performance:
                with pytest.raises(WorkerDiedError):
                    await anext(performance)
        assert await asyncio.gather(*waiting) == [of(f"word{n}") for n in range(3)]

    patient = replace(LIMITS, queue_s=10**9, load_s=10**9, reader=ReaderLimits(stall_s=10**9))
    served(tmp_path, act, replace(patient, reader=replace(patient.reader, request_s=10**9)))


def test_owners_take_turns_however_many_orders_one_has(tmp_path: Path) -> None:
    async def act(server: Server) -> None:
        held = [await server.ask("ENDLESS", "greedy") for _ in range(5)]
        came: list[str] = []

        async def wait(owner: str) -> None:
            performance = await server.ask("one", owner)
            came.append(owner)
            async with performance:
                assert await tones(performance) == of("one")

        tasks = [asyncio.create_task(wait("greedy")) for _ in range(20)]
        tasks += [asyncio.create_task(wait("modest")) for _ in range(4)]
        await asyncio.sleep(0)
        [model] = server.pool.loaded()
        assert (model.rows, model.queue) == (5, 24)
        for performance in held:
            performance.close()
        await asyncio.gather(*tasks)
        assert came == ["greedy", "modest"] * 4 + ["greedy"] * 16

    never_full = ReaderLimits(buffer_s=10**9, full_s=10**9)  # a full one would give its place away
    served(tmp_path, act, replace(LIMITS, reader=never_full))


def test_the_deadline_ends_what_never_ends_by_itself(tmp_path: Path) -> None:
    async def act(server: Server) -> None:
        async with await server.ask("ENDLESS") as performance:
            await anext(performance)
            server.clock.move(LIMITS.reader.request_s)
            with pytest.raises(DeadlineError):
                await tones(performance)
        assert await server.hear("one") == of("one")

    served(tmp_path, act, replace(LIMITS, hang_s=10**9, reader=ReaderLimits(stall_s=10**9)))


def test_an_idle_model_leaves_memory_and_comes_back(tmp_path: Path) -> None:
    async def act(server: Server) -> None:
        assert await server.hear("one") == of("one")
        process = server.process()
        server.clock.move(600)
        await process.ended.wait()
        with pytest.raises(ProcessLookupError):
            os.kill(process.pid, 0)
        assert await server.hear("two") == of("two")
        [model] = server.pool.loaded()
        assert model.n_restarts == 0

    served(tmp_path, act)
