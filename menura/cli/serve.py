"""`menura serve`: its flags. The work is in `server_run`; what is no flag is a setting."""

from dataclasses import dataclass
from typing import Annotated

from menura.cli.commands import JsonFlags, flag
from menura.server.server_settings import ServerSettings

EPILOG = """\
Examples:
  menura serve                                 http://127.0.0.1:8000, the built-in voice
  menura serve -m qwen3-tts-0.6b-base --voice me=me.safetensors --preload
  menura serve --wyoming 10200                 also for Home Assistant
  menura serve --host 0.0.0.0                  for other machines too, with a key

Every flag is a setting: [server] in settings.toml, or MENURA_SERVER_PORT=8000 and so on.
More settings, and how to point apps at the server: docs/serving.md
"""

_ADDRESS, _SPEECH, _SAFETY, _WORK = "Address", "Models and voices", "Who may use it", "Work"
_HELP = {facts.name: facts.help for facts in ServerSettings.facts()}


@dataclass(frozen=True)
class ServeFlags(JsonFlags):
    """What the user typed after `menura serve`; None where it was not given."""

    host: Annotated[
        str | None, flag("--host", metavar="ADDRESS", help=_HELP["host"], under=_ADDRESS)
    ] = None
    port: Annotated[
        int | None, flag("--port", metavar="PORT", help=_HELP["port"], under=_ADDRESS)
    ] = None
    wyoming: Annotated[
        int | None,
        flag(
            "--wyoming",
            "--wyoming-port",
            metavar="PORT",
            help=_HELP["wyoming_port"],
            under=_ADDRESS,
        ),
    ] = None
    wyoming_host: Annotated[
        str | None,
        flag("--wyoming-host", metavar="ADDRESS", help=_HELP["wyoming_host"], under=_ADDRESS),
    ] = None
    model: Annotated[
        list[str] | None,
        flag("--model", "-m", metavar="MODEL", help=_HELP["models"], under=_SPEECH),
    ] = None
    voice: Annotated[
        list[str] | None,
        flag("--voice", "-v", metavar="NAME=FILE", help=_HELP["voices"], under=_SPEECH),
    ] = None
    model_alias: Annotated[
        list[str] | None,
        flag("--model-alias", metavar="ALIAS=MODEL", help=_HELP["model_aliases"], under=_SPEECH),
    ] = None
    voice_alias: Annotated[
        list[str] | None,
        flag("--voice-alias", metavar="ALIAS=VOICE", help=_HELP["voice_aliases"], under=_SPEECH),
    ] = None
    preload: Annotated[bool, flag("--preload", help=_HELP["preload"], under=_SPEECH)] = False
    cors: Annotated[
        list[str] | None, flag("--cors", metavar="ORIGIN", help=_HELP["cors"], under=_SAFETY)
    ] = None
    cors_preset: Annotated[
        list[str] | None,
        flag("--cors-preset", metavar="NAME", help=_HELP["cors_preset"], under=_SAFETY),
    ] = None
    host_name: Annotated[
        list[str] | None,
        flag("--host-name", metavar="NAME", help=_HELP["host_names"], under=_SAFETY),
    ] = None
    open_voice_list: Annotated[
        bool, flag("--open-voice-list", help=_HELP["open_voice_list"], under=_SAFETY)
    ] = False
    no_key: Annotated[bool, flag("--no-key", help=_HELP["no_key"], under=_SAFETY)] = False
    no_auth_i_understand: Annotated[
        bool, flag("--no-auth-i-understand", help=_HELP["no_auth_i_understand"], under=_SAFETY)
    ] = False
    wyoming_open_i_understand: Annotated[
        bool,
        flag("--wyoming-open-i-understand", help=_HELP["wyoming_open_i_understand"], under=_SAFETY),
    ] = False
    rows: Annotated[int | None, flag("--rows", metavar="N", help=_HELP["rows"], under=_WORK)] = None
    queue: Annotated[int | None, flag("--queue", metavar="N", help=_HELP["queue"], under=_WORK)] = (
        None
    )
    per_key: Annotated[
        int | None, flag("--per-key", metavar="N", help=_HELP["per_key"], under=_WORK)
    ] = None
    max_models: Annotated[
        int | None, flag("--max-models", metavar="N", help=_HELP["max_models"], under=_WORK)
    ] = None
    max_characters: Annotated[
        int | None,
        flag("--max-characters", metavar="N", help=_HELP["max_characters"], under=_WORK),
    ] = None
    drain_s: Annotated[
        float | None, flag("--drain-s", metavar="SECONDS", help=_HELP["drain_s"], under=_WORK)
    ] = None
    log_format: Annotated[
        str | None, flag("--log-format", metavar="FORMAT", help=_HELP["log_format"], under=_WORK)
    ] = None
    device: Annotated[
        str | None,
        flag("--device", metavar="DEVICE", help="Where models run: auto, cpu ...", under=_WORK),
    ] = None
    precision: Annotated[
        str | None,
        flag("--precision", metavar="PRECISION", help="auto, exact, bf16 ...", under=_WORK),
    ] = None
    threads: Annotated[
        int | None, flag("--threads", metavar="N", help="CPU threads for a model.", under=_WORK)
    ] = None


def serve(flags: ServeFlags) -> None:
    """Speak for other programs: OpenAI's speech API, WebSockets, Home Assistant."""
    from menura.cli.server_run import run  # noqa: PLC0415

    run(flags)
