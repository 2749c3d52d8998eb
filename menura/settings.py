"""The user's settings, merged once: defaults < `settings.toml` < `MENURA_*` variables < flags.

Unknown keys and variables are errors, so that a typo never passes for a setting. What only a part
of Menura needs stands in a table of its own (`[server]` in the file, `MENURA_SERVER_PORT` in the
environment), which that part declares and reads with `load_table`.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from platformdirs import PlatformDirs

from menura.errors import InvalidValueError, SettingsError, did_you_mean
from menura.options import Options, option

_PREFIX = "MENURA_"
# Variables that are no settings: where everything is kept, and whether `say` may use a server.
_OTHER_VARIABLES = ("MENURA_HOME", "MENURA_SERVER", "MENURA_NATIVE_BODY", "MENURA_BUILD_NATIVE")
_TABLES = ("server",)
DEFAULT = "default"  # the source of what nobody chose
_Sourced = TypeVar("_Sourced", bound="SourcedOptions")


@dataclass(frozen=True)
class SourcedOptions(Options):
    """Options whose `sources` name where each value came from; by hand, nowhere."""

    sources: Mapping[str, str] = field(default_factory=dict, compare=False, kw_only=True)

    def shown(self, prefix: str = "") -> "tuple[Shown, ...]":
        """Each option as it is; `prefix` comes before the names."""
        return tuple(
            Shown(
                name=prefix + facts.name,
                value=getattr(self, facts.name),
                source=self.sources.get(facts.name, DEFAULT),
                help=facts.help,
            )
            for facts in self.facts()
        )


@dataclass(frozen=True)
class Shown:
    """One setting: its value, where that came from, and what it is for."""

    name: str
    value: object
    source: str
    help: str


@dataclass(frozen=True)
class Settings(SourcedOptions):
    """The settings of everything that speaks."""

    default_model: str = option("builtin", help="The model that speaks when none is named.")
    default_voice: str | None = option(None, help="The voice of the default model.")
    device: str = option(
        "auto",
        choices=("auto", "cpu", "cuda", "cuda:1", "mps", "xpu"),
        pattern=r"(cuda|xpu):\d{1,2}",
        help="Where models run.",
    )
    precision: str = option(
        "auto",
        choices=("auto", "exact", "fp32", "bf16", "fp16", "int8", "int4"),
        help="The numbers that models run with.",
    )
    threads: int | None = option(None, minimum=1, maximum=1024, help="CPU threads for models.")
    clause_pause_s: float = option(
        0.0, minimum=0, maximum=60, unit="seconds", help="Silence where a sentence had to be split."
    )
    sentence_pause_s: float = option(
        0.15, minimum=0, maximum=60, unit="seconds", help="Silence between two segments."
    )
    paragraph_pause_s: float = option(
        0.5, minimum=0, maximum=60, unit="seconds", help="Silence between two paragraphs."
    )
    asr_model: str = option(
        "base", help="What transcribes recordings: a size of Whisper, a hub id, or a folder."
    )
    mark: bool = option(True, help="Mark files as synthetic speech in their tags.")


@dataclass(frozen=True)
class Folders:
    """Where Menura keeps what is its own. Models stay in the hub's cache."""

    config: Path
    data: Path
    cache: Path
    state: Path


def folders(environment: Mapping[str, str] = os.environ) -> Folders:
    """The user's folders; `MENURA_HOME` puts all of them into one place."""
    home = environment.get("MENURA_HOME")
    if home:
        base = Path(home).expanduser()
        return Folders(base / "config", base / "data", base / "cache", base / "state")
    dirs = PlatformDirs("menura", appauthor=False)
    return Folders(
        dirs.user_config_path, dirs.user_data_path, dirs.user_cache_path, dirs.user_state_path
    )


def load(
    flags: Mapping[str, object] | None = None, environment: Mapping[str, str] = os.environ
) -> Settings:
    """The merged settings; a flag that is None was not given.

    Raises: SettingsError: an unknown key, or a value that is not allowed; it says where it stands.
    """
    return load_table("", Settings, flags, environment)


def load_table(
    name: str,
    kind: type[_Sourced],
    flags: Mapping[str, object] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> _Sourced:
    """The merged settings of one table, such as `server`; a flag that is None was not given.

    Raises: SettingsError: as `load`.
    """
    values, sources = _Place(name, kind).merged(flags or {}, environment)
    return replace(kind.parse(values), sources=sources)


@dataclass(frozen=True)
class _Place:
    """Where settings of one kind stand: in a table of the file, or at its top (no name)."""

    table: str
    kind: type[Options]

    def merged(
        self, flags: Mapping[str, object], environment: Mapping[str, str]
    ) -> tuple[dict[str, object], dict[str, str]]:
        """The values that were given, and where each setting's value comes from."""
        path = folders(environment).config / "settings.toml"
        values: dict[str, object] = {}
        sources = {facts.name: DEFAULT for facts in self.kind.facts()}
        for source, layer in (
            (str(path), self._from_file(path)),
            ("environment", self._from_environment(environment)),
            ("flag", {name: value for name, value in flags.items() if value is not None}),
        ):
            for name, value in layer.items():
                self._check(source, name, value)
            values |= layer
            told = {
                name: self.variable(name) if source == "environment" else source for name in layer
            }
            sources |= told
        return values, sources

    def variable(self, name: str) -> str:
        """The environment variable of a setting."""
        return self._prefix + name.upper()

    @property
    def _prefix(self) -> str:
        return f"{_PREFIX}{self.table.upper()}_" if self.table else _PREFIX

    def _from_file(self, path: Path) -> dict[str, object]:
        content = _read(path)
        if not self.table:
            return {name: value for name, value in content.items() if name not in _TABLES}
        found = content.get(self.table, {})
        if not isinstance(found, dict):
            raise SettingsError(
                f"{path}: {self.table!r} must be a table: write [{self.table}] and its settings "
                "below it.",
                param=self.table,
            )
        return found

    def _from_environment(self, environment: Mapping[str, str]) -> dict[str, object]:
        names = {self.variable(facts.name): facts.name for facts in self.kind.facts()}
        layer: dict[str, object] = {}
        for variable, value in environment.items():
            if not variable.startswith(self._prefix) or self._is_of_others(variable):
                continue
            if variable not in names:
                allowed = [*names, *(() if self.table else _OTHER_VARIABLES)]
                raise SettingsError(
                    f"{variable} is not a variable that Menura knows; it knows: "
                    f"{', '.join(allowed)}." + did_you_mean(variable, allowed),
                    param=variable,
                )
            layer[names[variable]] = value
        return layer

    def _is_of_others(self, variable: str) -> bool:
        """Whether it is no setting, or one of a table, which the table's reader checks."""
        in_table = any(variable.startswith(f"{_PREFIX}{table.upper()}_") for table in _TABLES)
        return variable in _OTHER_VARIABLES or (in_table and not self.table)

    def _check(self, source: str, name: str, value: object) -> None:
        """Nothing, or SettingsError, which says where the value stands as the user knows it."""
        facts = {entry.name: entry for entry in self.kind.facts()}
        inside = f" of [{self.table}]" if self.table else ""
        if name not in facts:
            raise SettingsError(
                f"{source}: {name!r} is not a setting{inside}; the settings are: "
                f"{', '.join(facts)}." + did_you_mean(name, facts),
                param=name,
            )
        param, given = name, f"{source}: {name} = {value!r}"
        if source == "environment":
            param, given = self.variable(name), f"{self.variable(name)}={value!r}"
        elif source == "flag":
            given = f"{name}={value!r} (--{name.replace('_', '-')})"
        try:
            facts[name].check(value)
        except InvalidValueError as error:
            raise SettingsError(
                f"{given} is not allowed: it must be {facts[name].allowed()}.", param=param
            ) from error


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SettingsError(f"{path} cannot be read: {error}. Mend it or remove it.") from error
