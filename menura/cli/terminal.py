"""Words on the terminal: data goes to stdout, everything else to stderr.

What comes from the user's text, file names or a model's files may hold escape sequences that would
steer the terminal; `visible` takes them out of every line that is printed here.
"""

import json
import logging
import os
import re
import sys
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from menura.errors import InvalidValueError, OutputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

Stream = Literal["stdin", "stdout", "stderr"]

_ACCENT = "cyan"
# Terminal sequences: CSI (colours, cursor), OSC (titles, links) and the short ones.
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
# Format characters that write words and emoji rightly: zero width non-joiner and joiner.
_KEPT = "\u200c\u200d"
_WIDE_CHARACTERS = 10_000
_NAME_CHARACTERS = 12
_STREAM_NAMES = {
    "stdin": "standard input",
    "stdout": "standard output",
    "stderr": "standard error",
}


def visible(text: str) -> str:
    """The text as one line without escape sequences, control, bidi and surrogate characters."""
    line = " ".join(_SEQUENCE.sub("", text).split())
    plain = "".join(c for c in line if c in _KEPT or unicodedata.category(c)[0] != "C")
    return " ".join(plain.split())


def shortened(text: str, n_characters: int) -> str:
    """The visible text, cut with an ellipsis where it is longer than `n_characters`."""
    line = visible(text)
    return line if len(line) <= n_characters else line[: n_characters - 1].rstrip() + "…"


def takes_colour(stream: Stream) -> bool:
    """Whether the stream is a terminal whose user did not ask for no colours."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def is_terminal(stream: Stream) -> bool:
    """Whether a person is at the other end of the stream. One that is closed has nobody there."""
    found = getattr(sys, stream)
    return found is not None and not found.closed and bool(found.isatty())


def check_open(stream: Stream) -> None:
    """Nothing, or InvalidValueError where the standard stream was closed from the start."""
    if getattr(sys, stream) is None:
        name = _STREAM_NAMES[stream]
        raise InvalidValueError(
            f"{name} is closed: give the command one, or use a file in its place.", param=stream
        )


@contextmanager
def writing_to(place: str) -> Iterator[None]:
    """A block that writes there. A reader who went away (EPIPE) stays the system's own error.

    Raises: OutputError: what was written did not arrive; the message names the place.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"{place} cannot be written: {reason}.", param="--output") from error


def settle() -> None:
    """Nothing; what Python still holds for a stream that takes no more goes nowhere.

    Python would try it again when the process ends, complain, and change the exit code.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is None or stream.closed:
            continue
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)


def accent(text: str, stream: Stream) -> str:
    """The text in the one accent colour, where the stream takes colours."""
    return typer.style(text, fg=_ACCENT) if takes_colour(stream) else text


def dim(text: str, stream: Stream) -> str:
    """The text in a quiet tone, where the stream takes colours."""
    return typer.style(text, dim=True) if takes_colour(stream) else text


def note(line: str) -> None:
    """Nothing; the line, whose user text must be `visible` already, stands on stderr.

    Where nobody takes it the work goes on: it is no part of what was asked for.
    """
    with suppress(OSError):
        typer.echo(line, err=True)


@contextmanager
def log_shown(*, shown: bool) -> Iterator[None]:
    """A block in which all that Menura logs stands on stderr, if it is to be `shown`."""
    log, handler = logging.getLogger("menura"), _LogLines()
    level = log.level
    if shown:
        log.addHandler(handler)
        log.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


class _LogLines(logging.Handler):
    """Each record as one line on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record's words."""
        note(f"{record.levelname.lower()}: {visible(record.getMessage())}")


def error_line(message: str) -> None:
    """Nothing; `error: message` stands on stderr, in one line."""
    label = typer.style("error:", fg="red", bold=True) if takes_colour("stderr") else "error:"
    note(f"{label} {visible(message)}")


def emit_json(value: object) -> None:
    """Nothing; the value stands on stdout as one JSON object. Raises: as `emit`.

    It is ASCII, so that no character of a text can steer a terminal or break on an encoding.
    """
    emit(json.dumps(value, indent=2, default=_plain))


def emit(line: str = "") -> None:
    """Nothing; the line stands on stdout.

    Raises: InvalidValueError: stdout is closed; OutputError: it is full or broken.
    """
    check_open("stdout")
    with writing_to("standard output"):
        typer.echo(line)


def emit_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Container[str] = ()
) -> None:
    """Nothing; an aligned table stands on stdout, its first column in the accent colour.

    The columns named in `numbers` stand to the right. On a terminal long cells wrap; in a pipe
    every row is one line.
    """
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, name in enumerate(header):
        table.add_column(
            name,
            style=_ACCENT if index == 0 else "",
            justify="right" if name in numbers else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(visible(cell)) for cell in row))
    _emit_rendered(table)


def emit_facts(facts: Iterable[tuple[str, str]], *, indent: str = "") -> None:
    """Nothing; names and values stand on stdout in two columns; empty values are left out."""
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True, min_width=_NAME_CHARACTERS)
    table.add_column(overflow="fold")
    for name, value in facts:
        if value:
            table.add_row(Text(indent + visible(name)), Text(visible(value)))
    _emit_rendered(table)


def _emit_rendered(table: "Table") -> None:
    console = console_on("stdout")
    with console.capture() as captured:
        console.print(table)
    emit("\n".join(line.rstrip() for line in captured.get().splitlines()))


def console_on(stream: Stream) -> "Console":
    """The stream as a console of rich: no sequences at all where the stream takes no colours."""
    from rich.console import Console  # noqa: PLC0415

    return Console(
        file=getattr(sys, stream),
        width=None if is_terminal(stream) else _WIDE_CHARACTERS,
        color_system="auto" if takes_colour(stream) else None,
        highlight=False,
    )


def _plain(value: object) -> object:
    """What JSON takes in place of a value that it does not know."""
    if isinstance(value, Path):
        return str(value)
    number = getattr(value, "item", None)  # a numpy number, without importing numpy here
    if callable(number):
        return number()
    raise TypeError(f"{type(value).__name__} has no place in a JSON answer: {value!r}")
