import asyncio
import os
import sys
from pathlib import Path

import pytest

from menura.errors import (
    AudioTooLargeError,
    DiskFullError,
    MenuraError,
    OverloadedError,
    UnreadableAudioError,
    WorkerDiedError,
)
from menura.server.border.problems import Problem
from menura.server.voices.workshop_process import Workshop

FAKE = (sys.executable, str(Path(__file__).with_name("fake_workshop.py")))


def done(what: str, **given: float) -> dict[str, object]:
    workshop = Workshop(FAKE, limit_s=given.get("limit_s", 60))
    return dict(asyncio.run(workshop.done({"file": what})).head)


def test_the_answer_comes_and_the_process_is_gone() -> None:
    answer = done("hello")
    assert answer["said"] == "hello"
    with pytest.raises(ProcessLookupError):
        os.kill(int(str(answer["pid"])), 0)


@pytest.mark.parametrize("way", ["crash", "exit", "noise"])
def test_a_process_that_dies_over_a_file_says_that_the_file_is_bad(way: str) -> None:
    with pytest.raises(UnreadableAudioError, match="cannot be read"):
        done(way)


def test_f14_a_file_that_hangs_a_decoder_is_given_up() -> None:
    with pytest.raises(AudioTooLargeError, match=r"more than 0\.5 s"):
        done("hang", limit_s=0.5)


def test_what_is_wrong_with_the_file_is_said_as_it_is() -> None:
    with pytest.raises(Problem) as caught:
        done("400 recording_unfit")
    problem = caught.value
    assert (problem.status_code, problem.code) == (400, "recording_unfit")
    assert (problem.message, problem.param) == ("words", "label")


@pytest.mark.parametrize(
    ("told", "kind"),
    [("507 disk_full", DiskFullError), ("500 failure", MenuraError), ("503 wait", OverloadedError)],
)
def test_what_is_the_servers_own_fault_stays_so(told: str, kind: type[MenuraError]) -> None:
    with pytest.raises(kind) as caught:
        done(told)
    assert type(caught.value) is kind


def test_a_program_that_cannot_be_started_is_the_servers_fault() -> None:
    with pytest.raises(WorkerDiedError):
        asyncio.run(Workshop(("/no/such/program",)).done({"file": "hello"}))


def test_few_wait_and_the_next_is_told_to_come_again() -> None:
    async def ask() -> list[object]:
        workshop = Workshop(FAKE, at_once=1, waiting=1)
        jobs = [workshop.done({"file": what}) for what in ("first", "second", "third")]
        answers = await asyncio.gather(*jobs, return_exceptions=True)
        after = await workshop.done({"file": "fourth"})
        return [*answers, after]

    first, second, third, fourth = asyncio.run(ask())
    assert isinstance(third, OverloadedError)
    said = [getattr(found, "head", {}).get("said") for found in (first, second, fourth)]
    assert said == ["first", "second", "fourth"]


def test_a_client_that_leaves_ends_the_process() -> None:
    async def ask() -> str:
        workshop = Workshop(FAKE)
        task = asyncio.create_task(workshop.done({"file": "hang"}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return str((await workshop.done({"file": "next"})).head["said"])

    assert asyncio.run(ask()) == "next"
