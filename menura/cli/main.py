"""The command `menura`: its sub-commands, and a command line from its arguments to its exit code.

`menura --help` must answer in 0.3 s, so what declares flags imports nothing heavy. The work is
imported by the command that does it, at its first use (`noqa: PLC0415`):

- say: `speaking`, `dry_run` (numpy, and behind `api` the engines and encoders: 0.2 s)
- serve: `server_run`; keys: `key_list`; bench: `load_bench` (the web framework: half a second)
- voices: `voice_list` and the other `voice_*` modules (numpy; decoders and models where they work)
- models: `store`, `model_facts`
- doctor: `diagnosis` (and torch, where it is installed: 2 s)
- `terminal`, `progress`: rich, 0.05 s that speaking a short text need not pay
- `loudspeaker`: the extra `play`
"""

import os
import sys
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

import typer
from typer.core import TyperOption

import menura
from menura.cli import bench_serve, doctor, keys, models, say, serve, signals, voices
from menura.cli.commands import (
    DEBUG,
    HELP_WIDTH,
    JSON,
    NO_COLOR,
    Command,
    Group,
    JsonFlags,
    takes,
)
from menura.cli.failures import EXIT_CODES, exit_code_of
from menura.cli.terminal import emit, emit_json, log_shown

if TYPE_CHECKING:
    from typer._click import Context
    from typer._click.core import Parameter

_EPILOG = """\
Examples:
  menura say "Hello there." -o hello.mp3
  menura models pull builtin-emma
  menura say -f chapter.txt --voice emma
  menura voices add Anna anna.m4a
  menura serve

Exit codes:
""" + "\n".join(f"  {code:<4} {meaning}" for code, meaning in EXIT_CODES.items())


def _version(flags: JsonFlags) -> None:
    """Show the version."""
    if flags.json:
        emit_json({"menura": menura.__version__})
    else:
        emit(f"menura {menura.__version__}")


def _show_version(context: "Context", switch: "Parameter", asked: bool) -> None:
    del context, switch
    if asked:
        _version(JsonFlags())
        raise typer.Exit


class _Root(Group):
    """`menura` itself."""

    switches = (
        TyperOption(
            param_decls=["--version"],
            is_flag=True,
            default=False,
            expose_value=False,
            is_eager=True,
            callback=_show_version,
            help="Show the version.",
        ),
    )


app = typer.Typer(
    name="menura",
    cls=_Root,
    help="Text to speech on your own machine.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_WIDTH,
    epilog=_EPILOG,
)
app.command("say", cls=Command, epilog=say.EPILOG)(takes(say.SayFlags, say.say))
app.command("serve", cls=Command, epilog=serve.EPILOG)(takes(serve.ServeFlags, serve.serve))
app.command("doctor", cls=Command)(takes(doctor.DoctorFlags, doctor.doctor))
app.command("version", cls=Command)(takes(JsonFlags, _version))
app.add_typer(voices.app)
app.add_typer(models.app)
app.add_typer(keys.app)
app.add_typer(bench_serve.app)


def run(arguments: Sequence[str]) -> int:
    """The exit code of the command line; the whole work of the process, without ending it.

    What every command takes is read before anything is parsed: an error in the command line is
    told as asked for too. What stands after `--` is text.
    """
    asked = set(takewhile(lambda argument: argument != "--", arguments))
    if NO_COLOR in asked:
        os.environ["NO_COLOR"] = "1"
    command = typer.main.get_command(app)

    def invoke() -> None:
        signals.work()
        with command.make_context("menura", list(arguments)) as context:
            command.invoke(context)

    with log_shown(shown=DEBUG in asked):
        return exit_code_of(invoke, as_json=JSON in asked, debug=DEBUG in asked)


def main() -> int:
    """The exit code of this process's command line, or the end of a shell's completion."""
    if "_MENURA_COMPLETE" in os.environ:
        app(prog_name="menura")
    return run(sys.argv[1:])
