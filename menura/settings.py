"""The user's settings, merged once: defaults < `settings.toml` < `MENURA_*` variables < flags.

Unknown keys and variables are errors, so that a typo never passes for a setting.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from platformdirs import PlatformDirs

from menura.errors import InvalidValueError, SettingsError, did_you_mean
from menura.options import Options, option

_PREFIX = "MENURA_"
# Variables that are no settings: where everything is kept, and whether `say` may use a server.
_OTHER_VARIABLES = ("MENURA_HOME", "MENURA_SERVER", "MENURA_NATIVE_BODY", "MENURA_BUILD_NATIVE")


@dataclass(frozen=True)
class Settings(Options):
    """The merged settings; `sources` names where each value came from."""

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
    mark: bool = option(True, help="Mark files as synthetic speech in their tags.")
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)


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
    path = folders(environment).config / "settings.toml"
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    values: dict[str, object] = {}
    sources = {facts.name: "default" for facts in Settings.facts()}
    for source, layer in (
        (str(path), _from_file(path)),
        ("environment", _from_environment(environment)),
        ("flag", given),
    ):
        for name, value in layer.items():
            _check(source, name, value)
        values |= layer
        sources |= {name: _variable(name) if source == "environment" else source for name in layer}
    parsed = Settings.parse(values)
    return Settings(**{f.name: getattr(parsed, f.name) for f in Settings.facts()}, sources=sources)


def _from_file(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise SettingsError(f"{path} cannot be read: {error}. Mend it or remove it.") from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, object]:
    names = {_variable(facts.name): facts.name for facts in Settings.facts()}
    layer: dict[str, object] = {}
    for variable, value in environment.items():
        if not variable.startswith(_PREFIX) or variable in _OTHER_VARIABLES:
            continue
        if variable not in names:
            allowed = [*names, *_OTHER_VARIABLES]
            raise SettingsError(
                f"{variable} is not a variable that Menura knows; it knows: {', '.join(allowed)}."
                + did_you_mean(variable, allowed),
                param=variable,
            )
        layer[names[variable]] = value
    return layer


def _variable(name: str) -> str:
    """The environment variable of a setting."""
    return _PREFIX + name.upper()


def _check(source: str, name: str, value: object) -> None:
    """Nothing, or SettingsError, which says where the value stands as the user knows the place."""
    facts = {entry.name: entry for entry in Settings.facts()}
    if name not in facts:
        raise SettingsError(
            f"{source}: {name!r} is not a setting; the settings are: {', '.join(facts)}."
            + did_you_mean(name, facts),
            param=name,
        )
    param, given = name, f"{source}: {name} = {value!r}"
    if source == "environment":
        param, given = _variable(name), f"{_variable(name)}={value!r}"
    elif source == "flag":
        given = f"{name}={value!r} (--{name})"
    try:
        facts[name].check(value)
    except InvalidValueError as error:
        raise SettingsError(
            f"{given} is not allowed: it must be {facts[name].allowed()}.", param=param
        ) from error
