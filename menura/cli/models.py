"""`menura models`: which models there are and which are here; bring, check and remove them."""

from dataclasses import dataclass
from typing import Annotated

import typer

from menura.cli.commands import (
    HELP_WIDTH,
    Command,
    Group,
    JsonFlags,
    argument,
    flag,
    takes,
)

_NAME_HELP = "A name from `menura models list`, a hub id ORG/NAME, or a folder."

app = typer.Typer(
    name="models",
    cls=Group,
    help="List, bring, check and remove models.",
    rich_markup_mode=None,
    context_settings=HELP_WIDTH,
)


@dataclass(frozen=True, kw_only=True)
class OneModel(JsonFlags):
    """What the user typed after a verb that takes one model."""

    name: Annotated[str, argument("MODEL", help=_NAME_HELP)]


@dataclass(frozen=True)
class SeveralModels(JsonFlags):
    """What the user typed after a verb that takes several models."""

    names: Annotated[list[str] | None, argument("MODEL", help=_NAME_HELP)] = None


@dataclass(frozen=True)
class PullFlags(SeveralModels):
    """What the user typed after `menura models pull`."""

    source: Annotated[
        str, flag("--source", metavar="HUB", help="huggingface (the default) or modelscope.")
    ] = "huggingface"
    revision: Annotated[
        str | None,
        flag("--revision", metavar="REVISION", help="A commit or branch. Default: the newest."),
    ] = None
    quiet: Annotated[bool, flag("--quiet", "-q", help="Say nothing but licences and errors.")] = (
        False
    )


@dataclass(frozen=True)
class VerifyFlags(SeveralModels):
    """What the user typed after `menura models verify`."""

    full: Annotated[
        bool, flag("--full", help="Hash every file, also those without a known SHA-256.")
    ] = False


@dataclass(frozen=True)
class RemoveFlags(SeveralModels):
    """What the user typed after `menura models remove`."""

    yes: Annotated[bool, flag("--yes", "-y", "--force", help="Remove without asking.")] = False


def list_models(flags: JsonFlags) -> None:
    """List all known models and which of them are on this machine."""
    from menura.cli import model_facts  # noqa: PLC0415

    model_facts.list_models(flags)


def pull(flags: PullFlags) -> None:
    """Bring models to this machine. Licence and size are shown first; cut off, it goes on."""
    from menura.cli import store  # noqa: PLC0415

    store.pull(flags)


def show(flags: OneModel) -> None:
    """Show what is known of a model and what of it is here."""
    from menura.cli import model_facts  # noqa: PLC0415

    model_facts.show(flags)


def verify(flags: VerifyFlags) -> None:
    """Check that a model's files are whole: tensors, sizes, and each known SHA-256."""
    from menura.cli import store  # noqa: PLC0415

    store.verify(flags)


def remove(flags: RemoveFlags) -> None:
    """Remove models from the hub's cache. A folder of your own is never touched."""
    from menura.cli import store  # noqa: PLC0415

    store.remove(flags)


def path(flags: OneModel) -> None:
    """Print where a model is, one folder or file a line."""
    from menura.cli import model_facts  # noqa: PLC0415

    model_facts.path(flags)


app.command("list", cls=Command)(takes(JsonFlags, list_models))
app.command("pull", cls=Command)(takes(PullFlags, pull))
app.command("show", cls=Command)(takes(OneModel, show))
app.command("verify", cls=Command)(takes(VerifyFlags, verify))
app.command("remove", cls=Command)(takes(RemoveFlags, remove))
app.command("path", cls=Command)(takes(OneModel, path))
