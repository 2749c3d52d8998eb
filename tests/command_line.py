"""The command `menura` run inside the test's own process, with streams that are told apart."""

import io
import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from menura.cli import main


@dataclass(frozen=True)
class Ran:
    """What a command line came to."""

    code: int
    stdout: bytes
    stderr: str

    @property
    def out(self) -> str:
        return self.stdout.decode()

    @property
    def answer(self) -> dict[str, object]:
        """The one JSON object on stdout; anything beside it is an error."""
        answer: object = json.loads(self.out)
        assert isinstance(answer, dict)
        return answer

    @property
    def segments(self) -> list[dict[str, object]]:
        segments = self.answer["segments"]
        assert isinstance(segments, list)
        return segments


class Stream(io.TextIOWrapper):
    """A standard stream in memory, which may claim to be a terminal."""

    def __init__(self, content: bytes = b"", *, terminal: bool = False) -> None:
        self.bytes = io.BytesIO(content)
        self._terminal = terminal
        super().__init__(self.bytes, "utf-8", newline="", write_through=True)

    def isatty(self) -> bool:
        return self._terminal


def run(*arguments: str | Path, stdin: bytes = b"", terminals: Sequence[str] = ()) -> Ran:
    """What `menura ARGUMENTS` does; the streams named in `terminals` are a person's."""
    out = Stream(terminal="stdout" in terminals)
    err = Stream(terminal="stderr" in terminals)
    given = Stream(stdin, terminal="stdin" in terminals)
    with redirect_stdout(out), redirect_stderr(err), mock.patch.object(sys, "stdin", given):
        code = main.run([str(argument) for argument in arguments])
    return Ran(code, out.bytes.getvalue(), err.bytes.getvalue().decode())
