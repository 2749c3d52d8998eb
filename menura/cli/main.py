"""The command `menura`: its sub-commands, and how a process starts and ends.

`menura --help` must answer in 0.3 s, so what declares flags imports nothing heavy. The work is
imported by the command that does it, at its first use (`noqa: PLC0415`):

- say: `speaking`, `dry_run` (numpy, and behind `api` the engines and encoders: 0.2 s)
- voices: `api`; models: `store`; doctor: `diagnosis` (and torch, where it is installed: 2 s)
- `terminal`, `progress`: rich, 0.05 s that speaking a short text need not pay
- `loudspeaker`: the extra `play`
"""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer

import menura
from menura.cli import doctor, models, say, voices
from menura.cli.commands import HELP_WIDTH, Command, Flags, Group, show_help, takes
from menura.cli.failures import EXIT_CODES, exit_code_of, stop_on_signals
from menura.cli.terminal import emit

_EPILOG = """\
Examples:
  menura say "Hello there." -o hello.mp3
  menura say -f chapter.txt --voice emma
  menura models pull qwen3-tts-0.6b-base

Exit codes:
""" + "\n".join(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())

app = typer.Typer(
    name="menura",
    cls=Group,
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_WIDTH,
    epilog=_EPILOG,
)


def _show_version(asked: bool) -> None:
    if asked:
        emit(f"menura {menura.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", is_eager=True, callback=_show_version),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colours (as NO_COLOR).")] = False,
) -> None:
    """Text to speech on your own machine."""
    del version, debug, no_color  # `run` reads the last two before anything is parsed
    if context.invoked_subcommand is None:
        show_help(context)


def _version(flags: Flags) -> None:
    """Show the version."""
    del flags
    _show_version(asked=True)


app.command("say", cls=Command, epilog=say.EPILOG)(takes(say.SayFlags, say.say))
app.command("doctor", cls=Command)(takes(doctor.DoctorFlags, doctor.doctor))
app.command("version", cls=Command)(takes(Flags, _version))
app.add_typer(voices.app)
app.add_typer(models.app)


def run(arguments: Sequence[str]) -> int:
    """The exit code of the command line; the whole work of the process, without ending it."""
    flags = set(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    command = typer.main.get_command(app)

    def invoke() -> None:
        with command.make_context("menura", list(arguments)) as context:
            command.invoke(context)

    return exit_code_of(invoke, as_json="--json" in flags, debug="--debug" in flags)


def main() -> NoReturn:
    """The process of the command `menura`."""
    if "_MENURA_COMPLETE" in os.environ:
        app(prog_name="menura")
    if "--no-color" in sys.argv:
        os.environ["NO_COLOR"] = "1"
    stop_on_signals()
    sys.exit(run(sys.argv[1:]))
