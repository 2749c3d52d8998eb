"""`menura voices`: the preset voices of a model, their languages, and which are here."""

from dataclasses import dataclass
from typing import Annotated

import typer

from menura.cli.commands import HELP_WIDTH, Command, Group, JsonFlags, flag, takes
from menura.cli.terminal import emit, emit_json, emit_table


@dataclass(frozen=True)
class VoicesFlags(JsonFlags):
    """What the user typed after `menura voices`."""

    model: Annotated[
        str | None,
        flag("--model", "-m", metavar="MODEL", help="Name, hub id or folder of a model."),
    ] = None


app = typer.Typer(
    name="voices",
    cls=Group,
    invoke_without_command=True,
    rich_markup_mode=None,
    context_settings=HELP_WIDTH,
)


@app.callback()
def _voices(
    context: typer.Context,
    model: Annotated[
        str | None,
        flag("--model", "-m", metavar="MODEL", help="Name, hub id or folder of a model."),
    ] = None,
    json: Annotated[bool, flag("--json", help="Print one JSON object.")] = False,
    debug: Annotated[bool, flag("--debug", help="Show where an error comes from.")] = False,
    no_color: Annotated[bool, flag("--no-color", help="No colours, as with NO_COLOR.")] = False,
) -> None:
    """List the voices of a model."""
    if context.invoked_subcommand is None:
        show_voices(VoicesFlags(debug=debug, no_color=no_color, json=json, model=model))


def show_voices(flags: VoicesFlags) -> None:
    """List the voices of a model: the built-in one's, or of the model named by --model."""
    from menura import api  # noqa: PLC0415

    spec = api.describe(flags.model)
    if flags.json:
        voices = [
            {
                "name": voice.name,
                "languages": list(voice.languages),
                "description": voice.description,
                "here": not voice.missing,
                "is_default": voice.name == spec.default_voice,
                "missing": voice.missing,
            }
            for voice in spec.voices
        ]
        capabilities = sorted(spec.capabilities)
        emit_json({"model": spec.model, "capabilities": capabilities, "voices": voices})
        return
    emit_table(
        ("voice", "languages", "description", "on this machine"),
        [
            (
                voice.name,
                ", ".join(voice.languages),
                voice.description,
                voice.missing
                or ("yes, the default" if voice.name == spec.default_voice else "yes"),
            )
            for voice in spec.voices
        ],
    )
    if not spec.voices:
        emit(f"{spec.model} has no preset voices: {spec.voice_choices()}.")


app.command("list", cls=Command)(takes(VoicesFlags, show_voices))
