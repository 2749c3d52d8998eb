"""The server's settings, each declared once: flags, `[server]` in settings.toml, MENURA_SERVER_*.

Lists are texts: entries with commas between them, or one on each line (a name or a path with a
comma in it needs that, and one line break anywhere makes it so).
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from menura.errors import InvalidValueError
from menura.options import option
from menura.settings import SourcedOptions

CORS_PRESETS: Mapping[str, tuple[str, ...]] = {
    "open-webui": (
        "http://localhost:3000", "http://127.0.0.1:3000",
        "http://localhost:8080", "http://127.0.0.1:8080",
    ),
    "sillytavern": ("http://localhost:8000", "http://127.0.0.1:8000"),
    "koboldai": (
        "https://lite.koboldai.net", "http://localhost:5001", "http://127.0.0.1:5001",
    ),
}  # fmt: skip
"""The origins from which the browser clients people use talk to a server."""

_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_HOST_NAME = re.compile(r"[a-z0-9._-]+|\[?[0-9a-f]*(:[0-9a-f.]*){2,}\]?", re.IGNORECASE)
_ANY_ADDRESS = ("0.0.0.0", "::")  # all addresses that the machine has


@dataclass(frozen=True)
class ServerSettings(SourcedOptions):
    """How the server listens, who may use it, and how much it takes on."""

    host: str = option("127.0.0.1", help="The address to listen on.")
    port: int = option(8000, minimum=0, maximum=65535, help="The port; 0 takes a free one.")
    models: str = option("", help="Models to serve: names or folders. The first is the default.")
    voices: str = option("", help="Voices to serve: NAME=FILE.safetensors.")
    model_aliases: str = option("", help="Other names of models: ALIAS=MODEL.")
    voice_aliases: str = option("", help="Other names of voices: alloy=NAME.")
    preload: bool = option(False, help="Load the default model at the start.")
    wyoming_port: int | None = option(
        None, minimum=0, maximum=65535, help="The port for Home Assistant (Wyoming)."
    )
    wyoming_host: str = option("127.0.0.1", help="The address for Wyoming, which knows no keys.")
    wyoming_open_i_understand: bool = option(
        False, help="Let Wyoming listen where others reach it: whoever does may speak."
    )
    no_key: bool = option(False, help="Ask for no key; only where the address is a loopback one.")
    no_auth_i_understand: bool = option(
        False, help="Ask for no key on any address: whoever reaches the port may speak."
    )
    open_voice_list: bool = option(False, help="Show models and voices without a key.")
    host_names: str = option("", help="Other host names that this server answers to.")
    cors: str = option("", help="Origins of web pages that may use the server.")
    cors_preset: str = option("", help=f"Known pages: {', '.join(CORS_PRESETS)}.")
    rows: int | None = option(
        None, minimum=1, maximum=256, help="Utterances spoken together; the model's own if unset."
    )
    queue: int = option(64, minimum=0, maximum=100_000, help="Requests that may wait.")
    parked: int = option(
        64, minimum=1, maximum=100_000, help="Requests beside, for slow readers or without words."
    )
    per_key: int = option(8, minimum=1, maximum=10_000, help="Requests of one key at a time.")
    queue_s: float = option(60, minimum=0.1, maximum=3600, unit="seconds", help="Longest wait.")
    request_s: float = option(
        600, minimum=1, maximum=86_400, unit="seconds", help="The most time for one request."
    )
    buffer_s: float = option(
        20, minimum=0.5, maximum=600, unit="seconds", help="Audio made ahead of a slow reader."
    )
    full_s: float = option(
        600, minimum=1, maximum=86_400, unit="seconds",
        help="Audio kept for a reader that wants all of it at once.",
    )  # fmt: skip
    stall_s: float = option(
        60, minimum=0.1, maximum=3600, unit="seconds", help="A reader that takes nothing is cut."
    )
    pause_s: float = option(
        5, minimum=0.1, maximum=3600, unit="seconds",
        help="How long words may stay away while others wait for the row.",
    )  # fmt: skip
    load_s: float = option(600, minimum=1, maximum=3600, unit="seconds", help="Time to load.")
    hang_s: float = option(
        120, minimum=1, maximum=3600, unit="seconds", help="Silence after which a model has hung."
    )
    idle_s: float | None = option(
        600, minimum=1, maximum=10**7, unit="seconds", help="A model nobody uses is unloaded."
    )
    max_models: int = option(2, minimum=1, maximum=64, help="Models in memory at a time.")
    max_characters: int = option(4096, minimum=1, maximum=1_000_000, help="Longest input.")
    max_option: int = option(
        10_000, minimum=1, help="Largest number for a model's option without a bound of its own."
    )
    allow_control_tokens: bool = option(
        False, help="Let clients use options that make control tokens of a text."
    )
    body_s: float = option(
        20, minimum=0.1, maximum=600, unit="seconds", help="Time for a request to arrive."
    )
    max_upload_mb: int = option(
        25, minimum=1, maximum=100, unit="MB", help="The largest file that may be sent."
    )
    require_consent: bool = option(
        True, help="Whether a voice made of a recording needs the speaker's consent."
    )
    drain_s: float = option(
        20, minimum=0, maximum=3600, unit="seconds", help="Time to finish when asked to stop."
    )
    connections: int = option(512, minimum=8, maximum=100_000, help="Connections at a time.")
    stream_sessions: int = option(64, minimum=1, maximum=10_000, help="WebSockets at a time.")
    stream_sessions_per_key: int = option(16, minimum=1, maximum=10_000, help="... of one key.")
    stream_idle_s: float = option(
        60, minimum=1, maximum=3600, unit="seconds", help="A silent WebSocket is closed."
    )
    stream_characters: int = option(
        100_000, minimum=1, maximum=10**7, help="Characters of one WebSocket."
    )
    wyoming_connections: int = option(64, minimum=1, maximum=10_000, help="Wyoming connections.")
    log_format: str = option("text", choices=("text", "json"), help="How requests are logged.")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        return is_loopback(self.host)

    @property
    def asks_for_keys(self) -> bool:
        """Whether a request needs a key."""
        return not (self.no_key or self.no_auth_i_understand)

    @property
    def max_upload_bytes(self) -> int:
        """The largest file that may be sent, in bytes."""
        return self.max_upload_mb * 1_000_000

    @property
    def model_names(self) -> tuple[str, ...]:
        """The models given, in order."""
        return entries(self.models)

    @property
    def voice_files(self) -> dict[str, Path]:
        """The file of each voice given."""
        return {name: Path(file).expanduser() for name, file in pairs("voices", self.voices)}

    @property
    def model_alias_map(self) -> dict[str, str]:
        """The model behind each alias given."""
        return dict(pairs("model_aliases", self.model_aliases))

    @property
    def voice_alias_map(self) -> dict[str, str]:
        """The voice behind each alias given."""
        return dict(pairs("voice_aliases", self.voice_aliases))

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """The host names that requests may be for, in lower case, without port and brackets."""
        given = (self.host, *entries(self.host_names))
        return frozenset(name.strip("[]").casefold() for name in (*_LOOPBACK_NAMES, *given))

    @property
    def allows_any_address(self) -> bool:
        """Whether a bare address is a right host name: it listens on all that this machine has."""
        return self.host in _ANY_ADDRESS

    @property
    def origins(self) -> frozenset[str]:
        """The origins of other sites whose pages may use the server."""
        named = [_origin(given) for given in entries(self.cors)]
        for preset in entries(self.cors_preset):
            if preset not in CORS_PRESETS:
                raise InvalidValueError(
                    f"cors_preset={preset!r} is not known: it must be one of "
                    f"{', '.join(CORS_PRESETS)}.",
                    param="cors_preset",
                )
            named += CORS_PRESETS[preset]
        return frozenset(named)

    def check(self) -> None:
        """Nothing, after every list was read and the addresses were found safe.

        Raises: InvalidValueError: a list has a wrong entry, or a server that others can reach
            would ask for no key.
        """
        _ = (self.voice_files, self.model_alias_map, self.voice_alias_map, self.origins)
        for name in entries(self.host_names):
            if not _HOST_NAME.fullmatch(name):
                raise InvalidValueError(
                    f"host_names has {name!r}, which is no name of a host: give names such as "
                    "speech.example.org, without a port and without *.",
                    param="host_names",
                )
        self._check_addresses()

    def _check_addresses(self) -> None:
        is_open = self.wyoming_open_i_understand or self.no_auth_i_understand
        if self.wyoming_port is not None and not (is_loopback(self.wyoming_host) or is_open):
            raise InvalidValueError(
                f"wyoming_host={self.wyoming_host!r} can be reached from outside, and Wyoming "
                "knows no keys. Take 127.0.0.1, or give --wyoming-open-i-understand.",
                param="wyoming_host",
            )
        if self.no_key and not self.is_loopback and not self.no_auth_i_understand:
            raise InvalidValueError(
                f"no_key is only for an address of this machine alone, and {self.host!r} can be "
                "reached from outside. Keep the key, or give --no-auth-i-understand.",
                param="no_key",
            )


def is_loopback(host: str) -> bool:
    """Whether an address or name is this machine's own and no other can reach it."""
    plain = host.strip("[]").casefold()
    try:
        return ipaddress.ip_address(plain).is_loopback
    except ValueError:
        return plain == "localhost"


def entries(text: str) -> tuple[str, ...]:
    """The entries of a list."""
    parts = text.splitlines() if "\n" in text else text.split(",")
    return tuple(part.strip() for part in parts if part.strip())


def pairs(param: str, text: str) -> tuple[tuple[str, str], ...]:
    """The name and the value of every entry NAME=VALUE.

    Raises: InvalidValueError: an entry has another form, or a name comes twice.
    """
    found = [entry.partition("=") for entry in entries(text)]
    for name, _, value in found:
        if not name.strip() or not value.strip():
            raise InvalidValueError(
                f"{param}={name!r} is not allowed: each entry must be NAME=VALUE.", param=param
            )
    named = tuple((name.strip(), value.strip()) for name, _, value in found)
    if len({name.casefold() for name, _ in named}) != len(named):
        raise InvalidValueError(f"{param} gives one name twice.", param=param)
    return named


def _origin(given: str) -> str:
    """The origin as browsers send it."""
    parts = urlsplit(given.rstrip("/"))
    if not parts.scheme or not parts.netloc or parts.path or parts.query or "*" in given:
        raise InvalidValueError(
            f"cors={given!r} is not allowed: it must be an origin such as https://example.com "
            "or http://localhost:3000, without a path and without `*`.",
            param="cors",
        )
    return f"{parts.scheme}://{parts.netloc}".casefold()
