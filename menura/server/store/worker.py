"""The process that brings or checks one model: `python -m menura.server.store.worker`.

One frame comes in and says what to do; frames go out and say how far it is, and the last one what
came of it. The process ends with its work, or when the server closes its input: at once, wherever
the work stands. Killing it is how a job is cancelled: what has arrived is kept by the store, and
the same job goes on from there.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from threading import Thread
from time import monotonic
from typing import BinaryIO, NoReturn

from menura import models
from menura.errors import MenuraError
from menura.models import FileReport, VerifyReport
from menura.server.models import frames
from menura.server.models.frames import Frame

_PAUSE_S = 0.1  # between two words about how far it is

_Told = Mapping[str, object]


def main() -> NoReturn:
    """Never; the process ends when its job is done."""
    sink = _sink()
    job = frames.read(sys.stdin.buffer)
    if job is not None:
        Thread(target=_end_with_the_input, daemon=True).start()
        for told in spaced(steps_of(job)):
            sink.write(frames.pack(told))
            sink.flush()
    os._exit(0)


def steps_of(job: Frame) -> Iterator[_Told]:
    """How far the job is, again and again, and at last `done` or `error`."""
    try:
        yield from _KINDS[job.text("kind")](job)
    except MenuraError as error:
        yield {"error": error.message}


def spaced(steps: Iterator[_Told], now: Callable[[], float] = monotonic) -> Iterator[_Told]:
    """The steps, without those that come too soon after another; the last words always come."""
    told_at = float("-inf")
    for step in steps:
        is_last, moment = "phase" not in step, now()
        if is_last or moment - told_at >= _PAUSE_S:
            told_at = moment
            yield step


def _pull(job: Frame) -> Iterator[_Told]:
    for step in models.pull(job.text("model"), source=job.text("source")):
        yield {
            "phase": str(step.phase),
            "file": step.file,
            "done_bytes": step.done_bytes,
            "total_bytes": step.total_bytes,
        }
    yield {"done": {}}


def _verify(job: Frame) -> Iterator[_Told]:
    name = job.text("model")
    total_bytes = models.show(name).n_bytes
    before, file, file_bytes = 0, "", 0
    for step in models.verify_steps(name, full=job.flag("full")):
        if isinstance(step, VerifyReport):
            yield {"done": report_of(step)}
            return
        if step.file != file:
            before, file = before + file_bytes, step.file
        file_bytes = step.file_bytes
        done_bytes = min(before + step.done_bytes, total_bytes)
        yield {
            "phase": "check", "file": file, "done_bytes": done_bytes, "total_bytes": total_bytes
        }  # fmt: skip


def report_of(report: VerifyReport) -> _Told:
    """The verdict; its words name files by their place in the model, not on this machine."""
    files = [
        {
            "name": file.name,
            "n_bytes": file.n_bytes,
            "is_checked": file.is_checked,
            "problems": _without_place(file, file.problems),
            "notes": _without_place(file, file.notes),
        }
        for file in report.files
    ]
    return {"ok": report.ok, "files": files}


def _without_place(file: FileReport, words: tuple[str, ...]) -> list[str]:
    inside, folder = f"{file.folder}{os.sep}", str(file.folder)
    return [each.replace(inside, "").replace(folder, "the model's folder") for each in words]


_KINDS: Mapping[str, Callable[[Frame], Iterator[_Told]]] = {"pull": _pull, "verify": _verify}


def _sink() -> BinaryIO:
    """Where frames leave; what prints to the standard output prints to the standard error now."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return sink


def _end_with_the_input() -> NoReturn:
    """End the process when the server closes its line, or is no more."""
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
