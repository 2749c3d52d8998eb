"""How a command fails: one line on stderr, and the exit code of the error's class.

With `--json` the error stands on stdout too, as one object. The codes are listed in `EXIT_CODES`,
which the help shows.
"""

import errno
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType

import typer

from menura.cli.commands import USAGE
from menura.cli.terminal import emit_json, error_line, note, visible
from menura.errors import MenuraError

EXIT_CODES = {
    0: "done",
    1: "failure",
    2: "usage: a wrong flag or value",
    3: "the model is not on this machine",
    4: "the model cannot do that",
    5: "partly done: some of several things failed",
    6: "nothing to speak",
    7: "an engine or package is not installed",
    130: "interrupted by Ctrl-C",
    141: "the reader of a pipe went away",
}
INTERRUPTED, PIPE_CLOSED = 130, 141


def exit_code_of(run: Callable[[], object], *, as_json: bool, debug: bool) -> int:
    """The exit code after `run`; its failure is reported so that a person or program can read it.

    With `debug` an error is raised again, so that Python shows where it comes from.
    """
    try:
        return _exit_code_of(run, as_json=as_json, debug=debug)
    except OSError as error:
        if error.errno == errno.EPIPE:
            _silence_stdout()
            return PIPE_CLOSED
        if debug:
            raise
        where = f"{error.filename}: " if error.filename else ""
        message = f"{where}{error.strerror or error}."
        error_line(message)
        return _reported(message, MenuraError.code, None, MenuraError.exit_code, as_json)


def _exit_code_of(run: Callable[[], object], *, as_json: bool, debug: bool) -> int:
    try:
        run()
    except typer.Exit as done:
        return done.exit_code
    except (KeyboardInterrupt, typer.Abort):
        note("interrupted")
        return _reported("interrupted", "interrupted", None, INTERRUPTED, as_json)
    except MenuraError as error:
        if debug:
            raise
        error_line(error.message)
        return _reported(error.message, error.code, error.param, error.exit_code, as_json)
    except typer.TyperException as error:
        message = _usage_line(error)
        error_line(message)
        return _reported(message, "usage", None, USAGE, as_json)
    return 0


def stop_on_signals() -> None:
    """Nothing; from now on SIGTERM and SIGHUP end the process the way Ctrl-C does: tidied up."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _stop)


def _stop(number: int, frame: FrameType | None) -> None:
    """Ends the process by an exception, so that every `with` closes. Shells count from 128."""
    del frame
    raise SystemExit(128 + number)


def _silence_stdout() -> None:
    """Nothing; what Python still holds for the closed pipe goes nowhere when the process ends."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _reported(message: str, code: str, param: str | None, exit_code: int, as_json: bool) -> int:
    """The exit code, after a program that asked for JSON was answered."""
    if as_json:
        emit_json({"error": {"message": visible(message), "code": code, "param": param}})
    return exit_code


def _usage_line(error: typer.TyperException) -> str:
    """What is wrong with the command line, the closest flag if one is meant, and where to look."""
    message = error.format_message().rstrip(".")
    close: object = getattr(error, "possibilities", None)
    if isinstance(close, (list, tuple)) and close:
        names = " or ".join(repr(name) for name in close[:2])
        message = f"{message.partition(' (Possible options')[0]}. Did you mean {names}?"
    elif not message.endswith("?"):
        message += "."
    context: object = getattr(error, "ctx", None)
    command = getattr(context, "command_path", "menura")
    return f"{message} See: {command} --help"
