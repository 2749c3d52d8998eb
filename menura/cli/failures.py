"""How a command fails: one line on stderr, and the exit code of the error's class.

With `--json` the error stands on stdout too, as one object. The codes are listed in `EXIT_CODES`,
which the help shows.
"""

import errno
import signal
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import typer

from menura.cli import signals
from menura.cli.commands import USAGE
from menura.cli.terminal import emit_json, error_line, note, settle, visible
from menura.errors import MenuraError

# The codes of our own errors are those of `menura.errors`; the others are what shells expect.
EXIT_CODES = {
    0: "done",
    1: "failure",
    2: "usage: a wrong flag or value",
    3: "the model or voice is not on this machine",
    4: "the model cannot do that",
    5: "partly done: some of several things failed",
    6: "nothing to speak",
    7: "an engine or package is not installed",
    129: "the terminal went away (SIGHUP)",
    130: "interrupted by Ctrl-C",
    141: "the reader of a pipe went away",
    143: "told to stop (SIGTERM)",
}
PIPE_CLOSED = 141


@dataclass(frozen=True)
class _Failure:
    """What is told of a failure; `answers`: a program that asked for JSON gets it as an object."""

    message: str
    code: str
    exit_code: int
    param: str | None = None
    is_error: bool = True
    answers: bool = True


def exit_code_of(run: Callable[[], object], *, as_json: bool, debug: bool) -> int:
    """The exit code after `run`; its failure is reported so that a person or program can read it.

    With `debug` Python's own report of where an error comes from stands before it.
    """
    try:
        run()
        code = 0
    except typer.Exit as done:
        code = done.exit_code
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        signals.leave()
        if isinstance(error, SystemExit) and signals.arrived() is None:
            raise
        failure = _failure_of(error)
        if debug and failure.is_error:
            note("".join(traceback.format_exception(error)).rstrip())
        code = _reported(failure, as_json=as_json)
    signals.leave()
    settle()
    return code


def _failure_of(error: BaseException) -> _Failure:
    """What is told of an exception; what comes after a signal comes of it, whatever it says."""
    number = signals.arrived()
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        number = signal.SIGINT
    if number is not None:
        message = "interrupted" if number == signal.SIGINT else signal.Signals(number).name
        return _Failure(message, "interrupted", signals.exit_code(number), is_error=False)
    if isinstance(error, MenuraError):
        return _Failure(error.message, error.code, error.exit_code, error.param)
    if isinstance(error, typer.TyperException):
        return _Failure(_usage_line(error), "usage", USAGE)
    if isinstance(error, OSError) and error.errno == errno.EPIPE:
        return _Failure("", "pipe_closed", PIPE_CLOSED, is_error=False, answers=False)
    return _Failure(_unexpected_line(error), MenuraError.code, MenuraError.exit_code)


def _reported(failure: _Failure, *, as_json: bool) -> int:
    """The exit code, after all who may ask were told; that nobody listens changes nothing."""
    if failure.is_error:
        error_line(failure.message)
    elif failure.exit_code == signals.exit_code(signal.SIGINT):
        note(failure.message)
    if as_json and failure.answers:
        told = visible(failure.message)
        try:
            emit_json({"error": {"message": told, "code": failure.code, "param": failure.param}})
        except BrokenPipeError:
            return PIPE_CLOSED
        except MenuraError as error:
            error_line(error.message)
    return failure.exit_code


def _unexpected_line(error: BaseException) -> str:
    """What failed, in the exception's own words."""
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}."
    words = ""
    with suppress(Exception):  # an exception whose words fail too
        words = str(error)
    named = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return f"unexpected {named.rstrip('.')}. --debug shows where."


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
