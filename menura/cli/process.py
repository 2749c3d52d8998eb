"""The process of the command `menura`, guarded from its first import to its last byte."""

import os
import sys
from typing import NoReturn

from menura.cli import signals

_STANDARD_STREAMS = range(3)


def main() -> NoReturn:
    """Nothing comes back: the process ends with the exit code of its command line."""
    signals.listen()
    _occupy_closed_streams()
    try:
        from menura.cli.main import main as command  # noqa: PLC0415 - signals are heard by now
    except ImportError as error:
        sys.exit(
            f"error: this installation of Menura is broken: {error}. "
            "Mend it with: pip install --force-reinstall menura"
        )
    try:
        code = command()
    except KeyboardInterrupt:  # it came between the failure of the command and its report
        code = signals.exit_code(signals.arrived() or 0)
    signals.end()
    sys.exit(code)


def _occupy_closed_streams() -> None:
    """Nothing; a standard stream that is closed leads nowhere.

    Its number would go to the next file that is opened, and what a library prints would stand
    in the audio.
    """
    for descriptor in _STANDARD_STREAMS:
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
