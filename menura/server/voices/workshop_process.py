"""The workshop as the server sees it: a process for each file that a client sends.

A client's file is only ever opened there. What becomes of the process (a crash in a decoder, memory
without end, a file that takes minutes) is an answer to that client and nothing else. Few run at a
time, and few more wait.
"""

import asyncio
import logging
import sys
from collections.abc import Mapping, Sequence

from menura.errors import (
    AudioTooLargeError,
    EngineNotInstalledError,
    OverloadedError,
    UnreadableAudioError,
    WaitError,
)
from menura.server.border.problems import Problem
from menura.server.models import frames
from menura.server.models.child_process import gone, launched
from menura.server.models.frames import Frame, FrameError
from menura.server.models.values_wire import error_of
from menura.server.turns import Turns

LIMIT_S = 60.0
"""The most time for one file."""

_AT_ONCE = 2
_WAITING = 16
_BUSY_S = 5.0
_OURS = 500  # from this status on it is the server's fault
# `-P`: a file of the current folder never takes the place of a package's module.
PROGRAM = (sys.executable, "-P", "-m", "menura.server.voices.workshop")
_log = logging.getLogger(__name__)


class Workshop:
    """Runs jobs, each in a process of its own, few at a time. `forms`: turns to send a file."""

    def __init__(
        self,
        program: Sequence[str] = PROGRAM,
        *,
        limit_s: float = LIMIT_S,
        at_once: int = _AT_ONCE,
        waiting: int = _WAITING,
    ) -> None:
        self._program = program
        self._limit_s = limit_s
        self._turns = Turns(at_once, waiting, limit_s)
        self.forms = Turns(at_once + waiting, 0, limit_s)

    async def done(self, job: Mapping[str, object]) -> Frame:
        """What the process answered to the job.

        Raises: Problem: what it found wrong; UnreadableAudioError: it crashed;
            AudioTooLargeError: it took too long, or too much memory; OverloadedError: too many
            wait; WorkerDiedError: no process could be started.
        """
        async with self._turns.turn():
            return _answer(await self._run(frames.pack(job)))

    async def _run(self, job: bytes) -> Frame | None:
        child = await launched(self._program)
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            async with asyncio.timeout(self._limit_s):
                child.stdin.write(job)  # its end stays open: closing it ends the process
                return await frames.read_from(child.stdout)
        except TimeoutError:
            raise AudioTooLargeError(
                f"the file took more than {self._limit_s:g} s to read: send a shorter one."
            ) from None
        except (FrameError, ConnectionError):
            return None
        finally:
            await asyncio.shield(gone(child))
            _log.debug("the workshop's process ended with %s", child.returncode)


def _answer(frame: Frame | None) -> Frame:
    """The answer, if it is one. Raises: as `Workshop.done`."""
    if frame is None:
        raise UnreadableAudioError(
            "the file cannot be read: it is damaged, or made to look like what it is not."
        )
    if not frame.has("error"):
        return frame
    error = frame.inside("error")
    status = error.whole("status")
    if error.text("code") == WaitError.code:  # its words name a place
        raise OverloadedError(
            "another program is writing to the voice library: try again.", retry_after_s=_BUSY_S
        )
    if status >= _OURS and status != EngineNotInstalledError.http_status:
        raise error_of(error)  # its words go to the log alone
    param = error.text("param") if error.has("param") else None
    raise Problem(status, error.text("code"), error.text("message"), param=param)
