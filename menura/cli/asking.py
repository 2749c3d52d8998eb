"""Questions to the person at the terminal; a program is never asked, and is told what to give.

Questions stand on stderr, all of them: typer's own put a space on stdout.
"""

import sys

import typer

from menura.cli.commands import JsonFlags
from menura.cli.terminal import dim, is_terminal, note, visible
from menura.errors import InvalidValueError


def can_ask(flags: JsonFlags) -> bool:
    """Whether a person sees a question and can answer it."""
    return not flags.json and is_terminal("stdin") and is_terminal("stderr")


def answer_to(question: str, hint: str = "", default: str = "") -> str:
    """What the person answers, without spaces around; `default` where they only press Enter.

    Raises: typer.Abort: Ctrl-C, or the end of the input.
    """
    if hint:
        note(dim(hint, "stderr"))
    shown = f"{question} [{visible(default)}]" if default else question
    typer.echo(f"{shown} ", err=True, nl=False)
    line = sys.stdin.readline()
    if not line:
        raise typer.Abort
    return line.strip() or default


def number_to(question: str, most: int) -> int:
    """A number from 1 to `most`, asked for until one is given. Raises: typer.Abort."""
    while True:
        word = answer_to(f"{question} (1 to {most})")
        if word.isdecimal() and 1 <= int(word) <= most:
            return int(word)


def confirm_removal(flags: JsonFlags, what: str, *, yes: bool) -> None:
    """Nothing, where --yes was given or the person says so.

    Raises: InvalidValueError: there is nobody to ask; typer.Abort: the answer is no.
    """
    if yes:
        return
    if not can_ask(flags):
        raise InvalidValueError(
            f"nothing was removed: say --yes to remove {what} without a question.", param="--yes"
        )
    if answer_to(f"Remove {what} from this machine? [y/N]").casefold() not in ("y", "yes"):
        raise typer.Abort
