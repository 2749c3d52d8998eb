"""The process of one loaded model: `python -m menura.server.models.child`, started by the server.

Frames come in by the standard input and leave by what was the standard output; whatever else wants
to print there goes to the standard error. A thread reads errands while the main thread runs the
desk. The end of the input ends the process at once, in the middle of a step or of loading, so that
no model outlives its server. Nothing of a request's text is ever logged: of a failure that nobody
foresaw, only its kind and its place in the code.
"""

import faulthandler
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from traceback import extract_tb
from typing import BinaryIO, NoReturn

from menura import api
from menura.desk import Desk
from menura.errands import Ask, Ended, Errand
from menura.errors import MenuraError
from menura.server.models import messages
from menura.server.models.frames import FrameError
from menura.server.models.messages import Close, Failed, FromProcess, Load, Memory, Ready
from menura.server.models.model_facts import facts_of

BEAT_S = 1.0
"""How often the loop says that it moves, while requests live."""


class Line:
    """The process's two ends of the line: errands in, by a thread of its own, and messages out.

    It is the desk's inbox. It tells the server that the loop moves, since the loop looks into its
    inbox between two steps.
    """

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self.open = True
        self._source = source
        self._sink = sink
        self._errands: SimpleQueue[Errand | Close] = SimpleQueue()
        self._n_live = 0
        self._last_beat = monotonic()

    def listen(self) -> None:
        """Nothing; what comes in is taken from now on."""
        Thread(target=self._listen, name="errands", daemon=True).start()

    def tell(self, message: FromProcess) -> None:
        """Send a message; blocks while the server has not read the ones before."""
        self._n_live -= isinstance(message, Ended)
        self._sink.write(messages.encode(message))
        self._sink.flush()

    def take(self, *, wait: bool) -> list[Errand]:
        """What has come, oldest first; with `wait`, blocks until something has."""
        errands = list(self._come())
        while wait and self.open and not errands:
            self._beat()
            with suppress(Empty):
                first = self._errands.get(timeout=BEAT_S if self._n_live else None)
                errands = list(self._opened(first)) + list(self._come())
        self._beat()
        self._n_live += sum(isinstance(errand, Ask) for errand in errands)
        return errands

    def _come(self) -> Iterator[Errand]:
        while self.open and not self._errands.empty():
            yield from self._opened(self._errands.get())

    def _opened(self, errand: Errand | Close) -> Iterator[Errand]:
        if isinstance(errand, Close):
            self.open = False
        else:
            yield errand

    def _beat(self) -> None:
        """Say that the loop moves, where that was not said for a while and somebody waits."""
        if self._n_live and monotonic() - self._last_beat >= BEAT_S:
            self.beat()

    def beat(self) -> None:
        """Say that the loop moves."""
        self._last_beat = monotonic()
        self.tell(Memory(_resident_bytes(), self._n_live))

    def _listen(self) -> None:
        """Put what comes in where `take` finds it, until the input ends: then so does all else."""
        try:
            while (message := messages.read(self._source)) is not None:
                if isinstance(message, Load):
                    raise FrameError("a process loads one model")
                self._errands.put(message)
        except FrameError as error:
            _end_at_once(f"a broken message: {error}", 1)
        _end_at_once("", 0)


def main() -> int:
    """The exit code, after the server has closed the line, or the model could not be loaded."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the server, which decides
    faulthandler.enable()
    sys.excepthook = _log_failure
    source, sink = _own_line()
    load = messages.read(source)
    if load is None:
        return 0
    if not isinstance(load, Load):
        _end_at_once("the first message must be 'load'", 1)
    line = Line(source, sink)
    line.listen()
    try:
        return _serve(load, line)
    except BrokenPipeError:  # the server is gone, and what waits in the sink has no reader
        _end_at_once("", 0)


def _serve(load: Load, line: Line) -> int:
    """The exit code, after all that the server asked for."""
    try:
        if load.describe_only:
            line.tell(Ready(facts_of(api.describe(load.model))))
            return 0
        tts = _loaded(load)
    except MenuraError as error:
        line.tell(Failed(error))
        return 1
    line.tell(Ready(facts_of(tts.spec), tts.loop.applied))
    line.beat()
    for event in Desk(tts, line).run():
        if isinstance(event, Ended) and event.error is not None:
            _log_fault(event.error)
        line.tell(event)
    return 0


def _loaded(load: Load) -> api.TTS:
    """The model. Raises: MenuraError, whatever went wrong."""
    try:
        return api.load(
            load.model,
            device=load.device,
            precision=load.precision,
            threads=load.threads,
            **load.extra,
        )
    except MenuraError:
        raise
    except Exception as error:
        _log_cause(error)
        kind = type(error).__name__
        raise MenuraError(f"the model could not be loaded ({kind}: {error}).") from error


def _own_line() -> tuple[BinaryIO, BinaryIO]:
    """The line's two ends; what prints to the standard output prints to the standard error now.

    The source is raw: a thread that waits for it holds no lock when the process ends.
    """
    source = os.fdopen(os.dup(0), "rb", buffering=0)
    sink = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    return source, sink


def _resident_bytes() -> int | None:
    """The memory that the process holds, in bytes; None where nobody tells."""
    try:
        with open("/proc/self/statm", "rb") as pages:  # noqa: PTH123 - once a second
            return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _log_failure(kind: type[BaseException], error: BaseException, trace: object) -> None:
    """Write where the process failed; the message could hold a request's text."""
    del kind, trace
    _log_cause(error)


def _log_fault(error: MenuraError) -> None:
    """Write what is behind an error to the log, if it is not the request's own mistake."""
    if error.http_status >= 500 and error.__cause__ is not None:
        _log_cause(error.__cause__)


def _log_cause(error: BaseException) -> None:
    """Write an error's kind and places to the log, without its message."""
    places = [
        f"{place.filename}:{place.lineno} {place.name}" for place in extract_tb(error.__traceback__)
    ]
    _log(f"{type(error).__name__} at " + " < ".join(reversed(places)))


def _log(line: str) -> None:
    sys.stderr.write(f"menura model process {os.getpid()}: {line}\n")
    sys.stderr.flush()


def _end_at_once(reason: str, exit_code: int) -> NoReturn:
    """End the process, whatever its other threads do."""
    if reason:
        _log(reason)
    os._exit(exit_code)


if __name__ == "__main__":
    sys.exit(main())
