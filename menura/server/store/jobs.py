"""Jobs of the model store, each in a process of its own: bring a model, check a model.

One runs at a time. A job that is cancelled is a process that is killed: nothing of it goes on.
"""

import asyncio
import secrets
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from menura.errors import MenuraError
from menura.server.border.problems import Problem
from menura.server.models import frames
from menura.server.models.child_process import gone, launched
from menura.server.models.frames import Frame, FrameError

# `-P`: a file of the current folder never takes the place of a package's module.
PROGRAM = (sys.executable, "-P", "-m", "menura.server.store.worker")
_KEPT = 20


class JobKind(StrEnum):
    """What a job does."""

    PULL = "pull"
    VERIFY = "verify"


class JobState(StrEnum):
    """Whether a job runs, or how it ended."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class StoreJob:
    """One job as it is now. `total_bytes` is 0 while nobody knows; `report` is that of a check."""

    id: str
    kind: JobKind
    model: str
    state: JobState = JobState.RUNNING
    done_bytes: int = 0
    total_bytes: int = 0
    phase: str = ""
    message: str = ""
    report: Mapping[str, object] | None = None


class StoreJobs:
    """The jobs since the server's start. `n_ended` counts those that are over."""

    def __init__(
        self,
        on_end: Callable[[], None] = lambda: None,
        program: tuple[str, ...] = PROGRAM,
        kept: int = _KEPT,
    ) -> None:
        """`on_end` is called when a job is over: what is installed may have changed.

        `kept` is how many jobs are told of, the running one among them.
        """
        self.n_ended = 0
        self._on_end = on_end
        self._program = program
        self._kept = kept
        self._jobs: dict[str, StoreJob] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def all(self) -> tuple[StoreJob, ...]:
        """The jobs, the newest first."""
        return tuple(reversed(self._jobs.values()))

    def one(self, job_id: str) -> StoreJob:
        """A job by its id. Raises: Problem (404)."""
        if job_id not in self._jobs:
            raise Problem(404, "no_such_job", "There is no such job here.", param="job_id")
        return self._jobs[job_id]

    def start(self, job: StoreJob, more: Mapping[str, object]) -> StoreJob:
        """The job, which runs from now on; the running one, if that does just the same.

        `more` is what the process must know beside the kind and the model, which it may call
        otherwise. Raises: Problem (409).
        """
        for running in (job for job in self._jobs.values() if job.state is JobState.RUNNING):
            if (running.kind, running.model) == (job.kind, job.model):
                return running
            raise Problem(
                409,
                "job_running",
                f"One job runs at a time, and the {running.kind} of {running.model!r} is under "
                "way: wait for it, or cancel it.",
            )
        told = frames.pack({"kind": job.kind, "model": job.model, **more})
        self._jobs[job.id] = job
        task = asyncio.create_task(self._run(job.id, told), name=f"{job.kind} {job.model}")
        self._tasks[job.id] = task
        task.add_done_callback(lambda _: self._over(job.id))
        while len(self._jobs) > self._kept:
            self._jobs.pop(next(iter(self._jobs)))
        return job

    async def cancel(self, job_id: str) -> StoreJob:
        """The job, of which nothing goes on; one that is over stays as it is. Raises: Problem."""
        job = self.one(job_id)
        task = self._tasks.get(job_id)
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        return self._jobs.get(job_id, job)

    async def close(self) -> None:
        """Nothing, when no process is left."""
        for job_id in list(self._tasks):
            await self.cancel(job_id)

    async def _run(self, job_id: str, told: bytes) -> None:
        try:
            await self._listen(job_id, told)
        except asyncio.CancelledError:
            self._end(job_id, JobState.CANCELLED, "It was cancelled; what has arrived is kept.")
        except MenuraError as error:
            self._end(job_id, JobState.FAILED, error.message)
        else:
            self._end(job_id, JobState.FAILED, "Its process ended before it was done.")

    async def _listen(self, job_id: str, told: bytes) -> None:
        """Nothing, when the process has ended. Raises: WorkerDiedError: there is none."""
        child = await launched(self._program)
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(told)  # its end stays open: closing it ends the process
            with suppress(FrameError, ConnectionError):
                while (frame := await frames.read_from(child.stdout)) is not None:
                    self._hear(job_id, frame)
        finally:
            await asyncio.shield(gone(child))

    def _hear(self, job_id: str, frame: Frame) -> None:
        if frame.has("error"):
            self._end(job_id, JobState.FAILED, frame.text("error"))
        elif frame.has("done"):
            self._end(job_id, JobState.DONE, "", frame.named("done") or None)
        else:
            self._jobs[job_id] = replace(
                self._jobs[job_id],
                phase=frame.text("phase"),
                message=frame.text("file"),
                done_bytes=frame.whole("done_bytes"),
                total_bytes=frame.whole("total_bytes"),
            )

    def _end(
        self,
        job_id: str,
        state: JobState,
        message: str,
        report: Mapping[str, object] | None = None,
    ) -> None:
        """Note how a job ended; the first word about that counts."""
        job = self._jobs[job_id]
        if job.state is not JobState.RUNNING:
            return
        done_bytes = job.total_bytes if state is JobState.DONE else job.done_bytes
        self._jobs[job_id] = replace(
            job, state=state, message=message, done_bytes=done_bytes, report=report
        )
        self.n_ended += 1
        self._on_end()

    def _over(self, job_id: str) -> None:
        del self._tasks[job_id]


def new_job(kind: JobKind, model: str, total_bytes: int = 0) -> StoreJob:
    """A job that nobody can guess the id of."""
    return StoreJob(f"job_{secrets.token_hex(16)}", kind, model, total_bytes=total_bytes)
