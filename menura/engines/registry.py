"""Which engines there are: a name for each, imported only when it is needed.

Another package adds an engine by an entry point in the group `menura.engines`, whose name is the
engine's and whose value is `module:Class` (see `contract.EngineClass`).
"""

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import cast

from menura import __version__
from menura.engines.contract import EngineClass, Match
from menura.errors import EngineNotInstalledError, ModelFilesError

ENTRY_POINT_GROUP = "menura.engines"
BUILTIN = "builtin"

_ENGINES = {
    BUILTIN: "menura.engines.builtin.engine:BuiltinEngine",
    "qwen3-tts": "menura.engines.qwen3_tts.engine:Qwen3TTSEngine",
    "echo-tts": "menura.engines.echo_tts.engine:EchoTTSEngine",
}
_EXTRAS = {"torch": "torch", "safetensors": "torch", "tokenizers": "torch"}


def names() -> list[str]:
    """The names of all engines: our own, then those of other packages in alphabetical order."""
    others = {point.name for point in entry_points(group=ENTRY_POINT_GROUP)}
    return [*_ENGINES, *sorted(others - _ENGINES.keys())]


def engine_class(name: str) -> EngineClass:
    """The engine's class, imported now.

    Raises: EngineNotInstalledError: no such engine is installed, a package that it needs is not,
        or it cannot be imported.
    """
    point = _entry_point(name)
    try:
        return cast("EngineClass", point.load())
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("", point.module.partition(".")[0]):
            raise EngineNotInstalledError(
                f"the engine {name!r} needs the package {missing!r}, which is not installed. "
                f"Install it with: {_install_command(missing)}"
            ) from error
        raise _broken(point, error) from error
    except Exception as error:  # another package's fault, whatever it is, must not stop the others
        raise _broken(point, error) from error


def _entry_point(name: str) -> EntryPoint:
    if name in _ENGINES:
        return EntryPoint(name, _ENGINES[name], ENTRY_POINT_GROUP)
    found = {point.value: point for point in entry_points(group=ENTRY_POINT_GROUP, name=name)}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise EngineNotInstalledError(
            f"several installed packages bring an engine {name!r}: {', '.join(found)}. "
            "Uninstall all but one."
        )
    raise EngineNotInstalledError(
        f"the engine {name!r} is not in Menura {__version__} as installed here, which has: "
        f"{', '.join(names())}. Look for a newer version, or for a package that brings it: "
        "pip install --upgrade menura"
    )


def _broken(point: EntryPoint, error: Exception) -> EngineNotInstalledError:
    package = f" of the package {point.dist.name!r}" if point.dist is not None else ""
    return EngineNotInstalledError(
        f"the engine {point.name!r}{package} ({point.value}) cannot be used: "
        f"{type(error).__name__}: {error}. Update or uninstall it."
    )


def _install_command(package: str) -> str:
    extra = _EXTRAS.get(package)
    return f"pip install 'menura[{extra}]'" if extra else f"pip install {package}"


def engine_class_or_reason(name: str) -> EngineClass | str:
    """The engine's class, or why it cannot be used here."""
    try:
        return engine_class(name)
    except EngineNotInstalledError as error:
        return error.message


def recognise(folder: Path) -> str:
    """The name of the one engine that claims the folder.

    Raises: ModelFilesError: no engine claims it, or several do, and the message lists who looked;
        or an engine knows it as a part of a model.
    """
    matches: list[Match] = []
    unable: list[str] = []
    parts: list[str] = []
    for name in names():
        found = engine_class_or_reason(name)
        if isinstance(found, str):
            unable.append(found)
            continue
        try:
            match = found.recognises(folder)
        except ModelFilesError as error:
            parts.append(error.message)
            continue
        except Exception as error:  # as above: one engine's fault is not the others'
            unable.append(_broken(_entry_point(name), error).message)
            continue
        if match is not None:
            matches.append(match)
    if len(matches) == 1:
        return matches[0].engine
    if matches:
        claims = "; ".join(f"{match.engine}: {match.reason}" for match in matches)
        raise ModelFilesError(f"more than one engine claims {folder.name!r}: {claims}.")
    if parts:
        raise ModelFilesError(" ".join(parts))
    message = f"no engine recognises the files in {folder.name!r}; asked: {', '.join(names())}."
    raise ModelFilesError(" ".join([message, *unable]))
