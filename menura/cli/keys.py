"""`menura keys`: who may use the server; make, list and remove keys."""

from dataclasses import dataclass
from typing import Annotated

import typer

from menura.cli.commands import HELP_WIDTH, Command, Group, JsonFlags, argument, flag, takes


class _Keys(Group):
    """`menura keys` is `menura keys list`."""

    default_command = "list"


app = typer.Typer(
    name="keys",
    cls=_Keys,
    help="List, make and remove the keys of the server.",
    rich_markup_mode=None,
    context_settings=HELP_WIDTH,
)


@dataclass(frozen=True, kw_only=True)
class AddFlags(JsonFlags):
    """What the user typed after `menura keys add`."""

    label: Annotated[str, argument("LABEL", help="Who or what the key is for.")]
    scope: Annotated[
        list[str] | None,
        flag(
            "--scope",
            metavar="SCOPE",
            help="speak (the default), voices or admin; may be repeated.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class RemoveFlags(JsonFlags):
    """What the user typed after `menura keys remove`."""

    id: Annotated[str, argument("ID", help="A key's id, as menura keys list shows it.")]


def list_keys(flags: JsonFlags) -> None:
    """List the keys: their ids, labels and scopes. What a key is was shown when it was made."""
    from menura.cli import key_list  # noqa: PLC0415

    key_list.show(flags)


def add(flags: AddFlags) -> None:
    """Make a key and print it, this once. A running server knows it at once."""
    from menura.cli import key_list  # noqa: PLC0415

    key_list.add(flags)


def remove(flags: RemoveFlags) -> None:
    """Remove a key. A running server refuses it at once."""
    from menura.cli import key_list  # noqa: PLC0415

    key_list.remove(flags)


app.command("list", cls=Command)(takes(JsonFlags, list_keys))
app.command("add", cls=Command)(takes(AddFlags, add))
app.command("remove", cls=Command)(takes(RemoveFlags, remove))
