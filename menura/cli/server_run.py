"""The work of `menura serve`: from flags to a running server, and what is said at its start."""

from collections.abc import Sequence
from functools import partial

from menura import settings
from menura.cli import signals
from menura.cli.reports import warn
from menura.cli.serve import ServeFlags
from menura.cli.terminal import accent, emit, emit_json, visible
from menura.server.server_settings import ServerSettings, is_loopback
from menura.server.serving import Ready, Serving


def run(flags: ServeFlags) -> None:
    """Nothing, after the server was told to stop and has ended.

    Raises: SettingsError; InvalidValueError: a setting is wrong or not safe; MenuraError: the port
        is in use; ModelNotFoundError.
    """
    limits = settings.load_table("server", ServerSettings, settings_given(flags))
    chosen = settings.load(
        {"device": flags.device, "precision": flags.precision, "threads": flags.threads}
    )
    serving = Serving(limits, chosen)
    with signals.handed_to(serving.stop):
        serving.run(partial(_tell, flags, limits))


def settings_given(flags: ServeFlags) -> dict[str, object]:
    """The settings that flags were given for; a switch that is off was not given."""
    return {
        "host": flags.host,
        "port": flags.port,
        "wyoming_port": flags.wyoming,
        "wyoming_host": flags.wyoming_host,
        "models": _joined(flags.model),
        "voices": _joined(flags.voice),
        "model_aliases": _joined(flags.model_alias),
        "voice_aliases": _joined(flags.voice_alias),
        "preload": flags.preload or None,
        "cors": _joined(flags.cors),
        "cors_preset": _joined(flags.cors_preset),
        "host_names": _joined(flags.host_name),
        "open_voice_list": flags.open_voice_list or None,
        "no_key": flags.no_key or None,
        "no_auth_i_understand": flags.no_auth_i_understand or None,
        "wyoming_open_i_understand": flags.wyoming_open_i_understand or None,
        "rows": flags.rows,
        "queue": flags.queue,
        "per_key": flags.per_key,
        "max_models": flags.max_models,
        "max_characters": flags.max_characters,
        "drain_s": flags.drain_s,
        "log_format": flags.log_format,
    }


def _joined(entries: Sequence[str] | None) -> str | None:
    """The entries one a line, so that a comma may stand in one."""
    return "".join(f"{entry}\n" for entry in entries) if entries else None


def _tell(flags: ServeFlags, limits: ServerSettings, ready: Ready) -> None:
    """Nothing; the address stands on stdout, and the key if it was made now: this once."""
    if flags.json:
        emit_json(
            {
                "address": ready.address,
                "wyoming": ready.wyoming_address,
                "models": list(ready.models),
                "asks_for_keys": limits.asks_for_keys,
                "new_key": ready.new_key,
            }
        )
    else:
        emit(f"{accent(ready.address, 'stdout')}  speaks {visible(', '.join(ready.models))}")
        if ready.wyoming_address:
            emit(f"{accent(ready.wyoming_address, 'stdout')}  for Home Assistant (Wyoming)")
        if ready.new_key:
            emit(f"key  {ready.new_key}  (shown this once; more: menura keys add LABEL)")
    for line in _dangers(limits):
        warn(line)


def _dangers(limits: ServerSettings) -> list[str]:
    """What somebody who runs this must know of who can use it."""
    lines: list[str] = []
    if not limits.asks_for_keys:
        lines.append("no key is asked for: whoever reaches the port may speak.")
    if limits.wyoming_port is not None and not is_loopback(limits.wyoming_host):
        lines.append("Wyoming knows no keys: whoever reaches its port may speak.")
    if not limits.is_loopback:
        lines.append(
            "other machines can reach it, and nothing is encrypted: put a proxy with TLS before it "
            "where the network is not your own."
        )
    return lines
