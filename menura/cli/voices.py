"""`menura voices`: the preset voices of a model, their languages, and which are here."""

from dataclasses import dataclass
from typing import Annotated

import typer

from menura.cli.commands import HELP_WIDTH, Command, Group, JsonFlags, flag, takes


@dataclass(frozen=True)
class VoicesFlags(JsonFlags):
    """What the user typed after `menura voices`."""

    model: Annotated[
        str | None,
        flag("--model", "-m", metavar="MODEL", help="Name, hub id or folder of a model."),
    ] = None


class _Voices(Group):
    """`menura voices` is `menura voices list`."""

    default_command = "list"


app = typer.Typer(
    name="voices",
    cls=_Voices,
    help="List the voices of a model.",
    rich_markup_mode=None,
    context_settings=HELP_WIDTH,
)


def show_voices(flags: VoicesFlags) -> None:
    """List the voices of a model: the built-in one's, or of the model named by --model."""
    from menura.cli.voice_list import show  # noqa: PLC0415

    show(flags)


app.command("list", cls=Command)(takes(VoicesFlags, show_voices))
