"""The process of a model as the system sees it: started with pipes, asked first, ended for sure."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial

from menura.errors import MenuraError, WorkerDiedError
from menura.server.models import messages
from menura.server.models.clock import Clock
from menura.server.models.frames import FrameError
from menura.server.models.messages import Failed, Load, Ready

# `-P`: a file of the current folder never takes the place of a package's module.
PROGRAM = (sys.executable, "-P", "-m", "menura.server.models.child")


def environment(own: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a model's process, which finds the same modules as this one."""
    return {**own, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}


async def first_answer(
    child: asyncio.subprocess.Process, load: Load, load_s: float, clock: Clock
) -> Ready:
    """What the process says when it has loaded or described its model.

    Raises: the error that the model could not be loaded with, a server's error in any case;
        WorkerDiedError: it said nothing, or what nobody understands.
    """
    assert child.stdin is not None
    assert child.stdout is not None
    give_up_at = clock.now() + load_s
    timer = clock.call_later(load_s, partial(kill, child))
    try:
        child.stdin.write(messages.encode(load))
        answer = await messages.read_from(child.stdout)
    except FrameError as error:
        raise WorkerDiedError(f"the model's process sent a broken frame: {error}.") from error
    finally:
        timer.cancel()
    if isinstance(answer, Failed):
        raise _ours(answer.error)
    if not isinstance(answer, Ready):
        late = clock.now() >= give_up_at
        why = f"took over {load_s:g} s and was ended" if late else "ended"
        raise WorkerDiedError(f"the model's process {why} while it loaded the model.")
    return answer


def _ours(error: MenuraError) -> MenuraError:
    """The error of loading a model, which no request can help: a wrong device, files that left."""
    return error if error.http_status >= 500 else MenuraError(error.message)


async def launched(program: Sequence[str]) -> asyncio.subprocess.Process:
    """A new process with pipes. It is in a session of its own: the terminal's Ctrl-C is ours.

    Raises: WorkerDiedError: the system has no room for another process.
    """
    try:
        return await asyncio.create_subprocess_exec(
            *program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment(),
            start_new_session=True,
        )
    except OSError as error:
        raise WorkerDiedError(f"no process could be started for the model: {error}.") from error


async def describe(load: Load, load_s: float, clock: Clock, program: Sequence[str]) -> Ready:
    """What a model is, from a process that ends again. Raises: as `first_answer`."""
    child = await launched(program)
    try:
        return await first_answer(child, load, load_s, clock)
    finally:
        await gone(child)


async def gone(child: asyncio.subprocess.Process) -> None:
    """Nothing, when the process was killed, if it had not ended, and its pipes are closed."""
    kill(child)
    await ended(child)


async def ended(child: asyncio.subprocess.Process) -> None:
    """Nothing, when the process has ended and its pipes are closed."""
    assert child.stdin is not None
    child.stdin.close()
    await child.communicate()  # not `wait`, which waits for ever while unread output is there


def kill(child: asyncio.subprocess.Process) -> None:
    """End the process now, if it has not ended."""
    if child.returncode is not None:
        return
    if sys.platform == "win32":
        child.kill()
        return
    # Not `child.kill`: that may reap the process before asyncio does, and its exit code is lost.
    with contextlib.suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)
