from dataclasses import dataclass
from typing import Annotated

import pytest
import typer

from menura.cli.commands import HELP_WIDTH, Command, HelpWanted, JsonFlags, argument, flag, takes
from tests.command_line import Stream

_EPILOG = "Examples:\n  one\n\nMore words.\n"


@dataclass(frozen=True)
class ShoutFlags(JsonFlags):
    word: Annotated[str, argument("WORD", help="What to shout.", under="Text")] = ""
    times: Annotated[int, flag("--times", "-n", metavar="N", help="How often.")] = 1


def command_for(seen: list[ShoutFlags]) -> Command:
    app = typer.Typer(rich_markup_mode=None, add_completion=False)

    def shout(flags: ShoutFlags) -> None:
        """Shout a word."""
        if not flags.word:
            raise HelpWanted
        seen.append(flags)

    app.command("shout", cls=Command, context_settings=HELP_WIDTH, epilog=_EPILOG)(
        takes(ShoutFlags, shout)
    )
    found = typer.main.get_command(app)
    assert isinstance(found, Command)
    return found


def test_the_flags_arrive_as_one_value() -> None:
    seen: list[ShoutFlags] = []
    command_for(seen).main(["hey", "-n", "3", "--json", "--debug"], standalone_mode=False)
    assert seen == [ShoutFlags(word="hey", times=3, json=True)]


def test_help_leads_with_examples_and_has_shared_flags_last(
    capsys: pytest.CaptureFixture[str],
) -> None:
    command_for([]).main(["--help"], prog_name="shout", standalone_mode=False)
    assert capsys.readouterr().out == (
        "Usage: shout [OPTIONS] [WORD]\n"
        "\n"
        "  Shout a word.\n"
        "\n"
        "Examples:\n"
        "  one\n"
        "\n"
        "Text:\n"
        "  WORD  What to shout.\n"
        "\n"
        "Options:\n"
        "  -n, --times N  How often.\n"
        "  --json         Print one JSON object.\n"
        "  --debug        Show where an error comes from, and what is logged.\n"
        "  --no-color     No colours, as with NO_COLOR.\n"
        "  --help         Show this message and exit.\n"
        "\n"
        "More words.\n"
    )


def test_help_on_a_terminal_has_one_accent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout", out := Stream(terminal=True))
    command_for([]).main(["--help"], prog_name="shout", standalone_mode=False)
    page = out.bytes.getvalue().decode()
    assert "\x1b[1mOptions\x1b[0m\n  \x1b[36m-n, --times\x1b[0m N  How often." in page


def test_help_that_was_not_asked_for_is_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    code = command_for([]).main([], prog_name="shout", standalone_mode=False)
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("Usage: shout")
