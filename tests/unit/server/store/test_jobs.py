"""Jobs: one at a time, each told of as it goes, and one that is cancelled is gone for good."""

import asyncio
import os
from collections.abc import Awaitable, Callable

import pytest

from menura.server.border.problems import Problem
from menura.server.store.jobs import JobKind, JobState, StoreJob, StoreJobs, new_job
from tests.unit.server.store.fake_worker import PROGRAM


class Scene:
    """Jobs of the fake process, and how often it was told that one is over."""

    def __init__(self) -> None:
        self.n_told = 0
        self.jobs = StoreJobs(self._told, PROGRAM, kept=2)

    def _told(self) -> None:
        self.n_told += 1

    async def until(self, job_id: str, is_enough: Callable[[StoreJob], bool]) -> StoreJob:
        async with asyncio.timeout(60):
            while not is_enough(self.jobs.one(job_id)):  # noqa: ASYNC110 - as a page asks
                await asyncio.sleep(0)
        return self.jobs.one(job_id)

    async def over(self, job_id: str) -> StoreJob:
        return await self.until(job_id, lambda job: job.state is not JobState.RUNNING)


def played(act: Callable[[Scene], Awaitable[None]]) -> None:
    async def run() -> None:
        scene = Scene()
        try:
            await act(scene)
        finally:
            await scene.jobs.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        assert not [task.get_name() for task in others if not task.done()]

    asyncio.run(run())


def is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


def test_a_job_is_told_of_and_its_report_kept() -> None:
    async def act(scene: Scene) -> None:
        job = scene.jobs.start(new_job(JobKind.VERIFY, "good"), {"full": True})
        assert (job.state, job.done_bytes, job.report) == (JobState.RUNNING, 0, None)
        ended = await scene.over(job.id)
        assert (ended.state, ended.done_bytes, ended.total_bytes) == (JobState.DONE, 10, 10)
        assert ended.report is not None
        assert ended.report["told"] == {"kind": "verify", "model": "good", "full": True}
        assert (scene.n_told, scene.jobs.n_ended) == (1, 1)

    played(act)


def test_a_job_without_a_report_has_none() -> None:
    async def act(scene: Scene) -> None:
        job = scene.jobs.start(new_job(JobKind.PULL, "empty"), {})
        assert (await scene.over(job.id)).report is None

    played(act)


@pytest.mark.parametrize(
    ("model", "words"),
    [("bad", "cannot be reached"), ("crash", "ended before"), ("garbage", "ended before")],
)
def test_a_job_that_fails_says_why(model: str, words: str) -> None:
    async def act(scene: Scene) -> None:
        job = scene.jobs.start(new_job(JobKind.PULL, model), {})
        ended = await scene.over(job.id)
        assert ended.state is JobState.FAILED
        assert words in ended.message
        assert (ended.done_bytes, ended.total_bytes) == (3, 10)

    played(act)


def test_without_a_process_the_job_fails() -> None:
    async def run() -> None:
        jobs = StoreJobs(program=("/nowhere/at/all",))
        job = jobs.start(new_job(JobKind.PULL, "good"), {})
        while jobs.one(job.id).state is JobState.RUNNING:  # noqa: ASYNC110 - as a page asks
            await asyncio.sleep(0)
        assert "no process could be started" in jobs.one(job.id).message

    asyncio.run(run())


def test_a_cancelled_job_leaves_no_process() -> None:
    async def act(scene: Scene) -> None:
        job = scene.jobs.start(new_job(JobKind.PULL, "slow"), {})
        going = await scene.until(job.id, lambda job: job.message != "")
        assert is_alive(going.message)
        ended = await scene.jobs.cancel(job.id)
        assert (ended.state, ended.done_bytes) == (JobState.CANCELLED, 3)
        assert not is_alive(going.message)
        assert (await scene.jobs.cancel(job.id)).state is JobState.CANCELLED
        again = scene.jobs.start(new_job(JobKind.PULL, "empty"), {})
        assert (await scene.over(again.id)).state is JobState.DONE
        assert [job.id for job in scene.jobs.all()] == [again.id, job.id]

    played(act)


def test_one_job_runs_at_a_time_and_the_same_one_is_the_same() -> None:
    async def act(scene: Scene) -> None:
        job = scene.jobs.start(new_job(JobKind.PULL, "slow"), {})
        assert scene.jobs.start(new_job(JobKind.PULL, "slow"), {}).id == job.id
        for other in (new_job(JobKind.VERIFY, "slow"), new_job(JobKind.PULL, "good")):
            with pytest.raises(Problem) as caught:
                scene.jobs.start(other, {})
            assert (caught.value.status_code, caught.value.code) == (409, "job_running")
        assert len(scene.jobs.all()) == 1

    played(act)


def test_the_end_of_the_server_ends_the_job() -> None:
    async def act(scene: Scene) -> None:
        job = scene.jobs.start(new_job(JobKind.PULL, "slow"), {})
        going = await scene.until(job.id, lambda job: job.message != "")
        await scene.jobs.close()
        assert not is_alive(going.message)

    played(act)


def test_old_jobs_are_forgotten_and_unknown_ones_are_not_there() -> None:
    async def act(scene: Scene) -> None:
        first = scene.jobs.start(new_job(JobKind.PULL, "empty"), {})
        await scene.over(first.id)
        for _ in range(2):
            last = scene.jobs.start(new_job(JobKind.PULL, "empty"), {})
            await scene.over(last.id)
        assert len(scene.jobs.all()) == 2
        with pytest.raises(Problem) as caught:
            scene.jobs.one(first.id)
        assert caught.value.status_code == 404

    played(act)


def test_an_id_cannot_be_guessed() -> None:
    first, second = new_job(JobKind.PULL, "a"), new_job(JobKind.PULL, "a")
    assert first.id != second.id
    assert len(first.id.removeprefix("job_")) == 32
