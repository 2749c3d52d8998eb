"""How a command is declared and how its help looks.

A command's flags are the fields of one frozen dataclass, each with its names and its help:

```python
@dataclass(frozen=True)
class PathFlags(JsonFlags):
    name: Annotated[str, argument("NAME", help="A model's name.")] = ""

app.command(cls=Command)(takes(PathFlags, path))
```
typer reads the fields as it reads a function's parameters; the command gets them as one value.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, NoReturn, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from menura.cli.terminal import accent, note, takes_colour

if TYPE_CHECKING:
    # typer carries its own copy of click, which it names in the signatures that are overridden.
    from typer._click import Context, HelpFormatter
    from typer._click.core import Command as ClickCommand
    from typer._click.core import Parameter

_HEADING = re.compile(r"^(\w[\w ]*):$", re.MULTILINE)
_NAMES = re.compile(r"^  (-[^ ]*(?:(?:, | / )-[^ ]*)*|[a-z-]+)(?=  | [A-Z]|$)", re.MULTILINE)

HELP_WIDTH = {"max_content_width": 100}
USAGE = 2
_WHOLE_SENTENCES = 1_000
DEBUG, NO_COLOR, JSON, _HELP = "--debug", "--no-color", "--json", "--help"
_EXAMPLES = "Examples:"


# What a shell offers after a word that is begun.
Completion = Callable[[str], list[str]]


def flag(
    *names: str,
    help: str,  # noqa: A002 - typer's word
    metavar: str | None = None,
    under: str | None = None,
    completion: Completion | None = None,
) -> object:
    """A flag with these names; `under` is the heading in the help. Its help names its default."""
    return typer.Option(
        *names,
        help=help,
        metavar=metavar,
        rich_help_panel=under,
        show_default=False,
        autocompletion=completion,
    )


def argument(
    metavar: str,
    *,
    help: str,  # noqa: A002
    under: str | None = None,
    completion: Completion | None = None,
) -> object:
    """An argument, which is given by its place."""
    return typer.Argument(
        metavar=metavar,
        help=help,
        rich_help_panel=under,
        show_default=False,
        autocompletion=completion,
    )


def switch(name: str, *, help: str) -> TyperOption:  # noqa: A002
    """A switch that no command sees: the process as a whole acts on it (see `main.run`)."""
    return TyperOption(
        param_decls=[name], is_flag=True, default=False, expose_value=False, help=help
    )


_EVERYWHERE = (
    switch(DEBUG, help="Show where an error comes from, and what is logged."),
    switch(NO_COLOR, help="No colours, as with NO_COLOR."),
)


@dataclass(frozen=True)
class JsonFlags:
    """The flags of a command that can answer with one JSON object."""

    json: Annotated[bool, flag(JSON, help="Print one JSON object.")] = False


_Given = TypeVar("_Given")


def takes(kind: Callable[..., _Given], run: Callable[[_Given], None]) -> Callable[..., None]:
    """`run` as a function that typer can read: its parameters are the fields of `kind`."""

    def call(**given: object) -> None:
        run(kind(**given))

    shared = {field.name for field in dataclasses.fields(JsonFlags)}
    parameters = inspect.signature(kind).parameters.values()
    own_first = sorted(parameters, key=lambda parameter: parameter.name in shared)
    keywords = [entry.replace(kind=inspect.Parameter.KEYWORD_ONLY) for entry in own_first]
    call.__name__, call.__doc__ = run.__name__, run.__doc__
    vars(call)["__signature__"] = inspect.Signature(keywords)
    return call


class HelpWanted(Exception):  # noqa: N818 - no error: there is nothing to do but to explain
    """A command was given nothing to do by a person: its help is shown, and it ends as misused."""


class Command(TyperCommand):
    """A command whose help groups its flags under headings, in one accent colour."""

    def invoke(self, ctx: "Context") -> object:
        """What the command gives. Raises: typer.Exit: its help was shown."""
        try:
            return super().invoke(ctx)
        except HelpWanted:
            _show_help(ctx)

    def get_params(self, ctx: "Context") -> list["Parameter"]:
        """The command's own flags, those that every command has, and --help."""
        return _with_switches(super().get_params(ctx), _EVERYWHERE)

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the examples, then the flags, heading by heading."""
        _write_lines(_examples(self), formatter)
        _write_flags(self, ctx, formatter)

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the closing lines as they are."""
        del ctx
        _write_lines(_closing(self), formatter)

    def get_help(self, ctx: "Context") -> str:
        """The help's text."""
        return _coloured(super().get_help(ctx))


class Group(TyperGroup):
    """A group of commands whose help looks like that of a command.

    Without a command it is misused, or runs the command named in `default_command`.
    """

    default_command: ClassVar[str] = ""
    switches: ClassVar[tuple[TyperOption, ...]] = ()

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """The arguments that are left. Raises: typer.Exit: there were none, and help is shown."""
        if not ctx.resilient_parsing:  # that of a shell's completion
            is_of_default = not args or (args[0].startswith("-") and _HELP not in args)
            if self.default_command and is_of_default:
                args = [self.default_command, *args]
            if not args:
                _show_help(ctx)
        return super().parse_args(ctx, args)

    def get_params(self, ctx: "Context") -> list["Parameter"]:
        """The group's own switches, those that every command has, and --help."""
        return _with_switches(super().get_params(ctx), (*self.switches, *_EVERYWHERE))

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the commands, each with its whole first sentence."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(_WHOLE_SENTENCES))
            for name, command in found
            if command is not None
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def format_options(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the examples, then the commands, then the flags."""
        _write_lines(_examples(self), formatter)
        self.format_commands(ctx, formatter)
        _write_flags(self, ctx, formatter)

    def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """Write the closing lines as they are."""
        del ctx
        _write_lines(_closing(self), formatter)

    def get_help(self, ctx: "Context") -> str:
        """The help's text."""
        return _coloured(super().get_help(ctx))


def _show_help(context: "Context") -> NoReturn:
    """Nothing; the help stands on stderr, since it was not asked for. Raises: typer.Exit."""
    note(context.get_help())
    raise typer.Exit(USAGE)


def _with_switches(
    parameters: list["Parameter"], switches: Sequence[TyperOption]
) -> list["Parameter"]:
    *own, help_flag = parameters
    return [*own, *switches, help_flag]


def _write_flags(command: "ClickCommand", ctx: "Context", formatter: "HelpFormatter") -> None:
    headings: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is None:
            continue
        heading = getattr(parameter, "rich_help_panel", None)
        if parameter.param_type_name == "argument":
            heading = heading or "Arguments"
            record = (parameter.metavar or record[0], record[1])
        headings.setdefault(heading or "Options", []).append(record)
    for heading, records in headings.items():
        with formatter.section(heading):
            formatter.write_dl(records)


def _examples(command: "ClickCommand") -> str:
    """The first paragraph of the closing lines where it holds examples: help leads with them."""
    first, _, _ = (command.epilog or "").partition("\n\n")
    return first.rstrip("\n") if first.startswith(_EXAMPLES) else ""


def _closing(command: "ClickCommand") -> str:
    """The closing lines without the examples, which stand further up."""
    return (command.epilog or "").removeprefix(_examples(command)).strip("\n")


def _write_lines(lines: str, formatter: "HelpFormatter") -> None:
    if lines:
        formatter.write(f"\n{lines}\n")


def _coloured(text: str) -> str:
    if not takes_colour("stdout"):
        return text
    text = _HEADING.sub(lambda found: typer.style(found[1], bold=True), text)
    return _NAMES.sub(lambda found: "  " + accent(found[1], "stdout"), text)
