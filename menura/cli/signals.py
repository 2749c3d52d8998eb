"""How a process is told to stop: Ctrl-C, SIGTERM and SIGHUP, from its first moment to its last.

While modules are imported at the start a signal is only noted: Python's import system and other
packages' first lines turn an exception into a wrong one, or lose it. While the command works it is
an exception, so that every `with` closes. Once the exit code is known it ends the process at once.
A server asks for the first one as a call, so that it can finish what it is doing.
"""

import _thread
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from types import FrameType

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # Windows has no SIGHUP
_FIRST_CODE = 128  # shells count the signals from here
_SOON_S = 0.01


class _Phase(Enum):
    STARTING = 1
    WORKING = 2
    STOPPING = 3  # the first signal asked for an end, and the next one does not wait for it
    LEAVING = 4


class _Listener:
    """What hears the signals: the last one that came, and what one means now."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.phase = _Phase.STARTING
        self.stop: Callable[[], None] | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.phase in (_Phase.STOPPING, _Phase.LEAVING):
            os._exit(exit_code(number))
        elif self.stop is not None:
            self.phase = _Phase.STOPPING
            self.stop()
        else:
            self.number = number
            if self.phase is _Phase.WORKING:
                raise _stop(number)


def listen() -> None:
    """Nothing; signals are noted from now on, but those that the parent process switched off."""
    listener = _Listener()
    for name in _NAMES:
        number = getattr(signal, name, None)
        untouched = (signal.SIG_DFL, signal.default_int_handler)
        if number is not None and signal.getsignal(number) in untouched:
            signal.signal(number, listener)
    sys.unraisablehook = _send_again


def work() -> None:
    """Nothing; from now on a signal is an exception, and one that came before is raised here.

    Raises: KeyboardInterrupt: for Ctrl-C; SystemExit: for the others.
    """
    listener = _listener()
    if listener is not None:
        listener.phase = _Phase.WORKING
        if listener.number is not None:
            raise _stop(listener.number)


@contextmanager
def handed_to(stop: Callable[[], None]) -> Iterator[None]:
    """A block in which the first signal is a call of `stop`, and a second ends the process."""
    listener = _listener()
    if listener is None:
        yield
        return
    listener.stop = stop
    try:
        yield
    finally:
        listener.stop = None


def leave() -> None:
    """Nothing; from now on a signal ends the process at once: there is nothing left to close."""
    listener = _listener()
    if listener is not None:
        listener.phase = _Phase.LEAVING


def end() -> None:
    """Nothing; all is told, and Ctrl-C changes nothing any more while Python takes itself apart.

    Python would give the signal back to the system then, which ends the process another way.
    """
    if isinstance(signal.getsignal(signal.SIGINT), _Listener):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def arrived() -> int | None:
    """The number of the signal that came, or None."""
    listener = _listener()
    return None if listener is None else listener.number


def exit_code(number: int) -> int:
    """The exit code of a process that a signal of this number ended."""
    return _FIRST_CODE + number


def _listener() -> _Listener | None:
    """The process's listener, if it has one: a program that only imports Menura has not."""
    numbers = (getattr(signal, name, None) for name in _NAMES)
    handlers = (signal.getsignal(number) for number in numbers if number is not None)
    return next((each for each in handlers if isinstance(each, _Listener)), None)


def _stop(number: int) -> BaseException:
    return KeyboardInterrupt() if number == signal.SIGINT else SystemExit(exit_code(number))


def _send_again(unraisable: "sys.UnraisableHookArgs") -> None:
    """Nothing; a signal that became an exception where none can be raised comes once more, soon.

    Such places are callbacks of the import system and of the garbage collector.
    """
    number = arrived()
    if number is None or not isinstance(unraisable.exc_value, (KeyboardInterrupt, SystemExit)):
        sys.__unraisablehook__(unraisable)
        return
    _thread.start_new_thread(_send_soon, (_thread.get_ident(), signal.Signals(number)))


def _send_soon(thread: int, number: signal.Signals) -> None:
    time.sleep(_SOON_S)  # until the callback has returned
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, number)  # this wakes a thread that waits, too
    else:
        _thread.interrupt_main(number)
