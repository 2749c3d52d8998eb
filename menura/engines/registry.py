"""Which engines there are: a name for each, imported only when it is needed.

Another package adds an engine by an entry point in the group `menura.engines`, whose name is the
engine's and whose value is `module:Class` (see `contract.EngineClass`).
"""

import importlib
from importlib.metadata import entry_points
from pathlib import Path
from typing import cast

from menura import __version__
from menura.engines.contract import EngineClass, Match
from menura.errors import EngineNotInstalledError, ModelFilesError

ENTRY_POINT_GROUP = "menura.engines"
BUILTIN = "builtin"

_ENGINES = {
    BUILTIN: "menura.engines.builtin.engine:BuiltinEngine",
}
_EXTRAS = {"torch": "torch", "safetensors": "torch", "tokenizers": "torch"}


def names() -> list[str]:
    """The names of all engines: our own, then those of other packages in alphabetical order."""
    others = {point.name for point in entry_points(group=ENTRY_POINT_GROUP)}
    return [*_ENGINES, *sorted(others - _ENGINES.keys())]


def engine_class(name: str) -> EngineClass:
    """The engine's class, imported now.

    Raises: EngineNotInstalledError: no such engine is installed, or a package that it needs is not.
    """
    module, _, attribute = _target(name).partition(":")
    try:
        return cast("EngineClass", getattr(importlib.import_module(module), attribute))
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in ("", module.partition(".")[0]):
            raise
        raise EngineNotInstalledError(
            f"the engine {name!r} needs the package {missing!r}, which is not installed. "
            f"Install it with: {_install_command(missing)}"
        ) from error


def _target(name: str) -> str:
    if name in _ENGINES:
        return _ENGINES[name]
    for point in entry_points(group=ENTRY_POINT_GROUP, name=name):
        return point.value
    raise EngineNotInstalledError(
        f"the engine {name!r} is not in Menura {__version__} as installed here, which has: "
        f"{', '.join(names())}. Look for a newer version, or for a package that brings it: "
        "pip install --upgrade menura"
    )


def _install_command(package: str) -> str:
    extra = _EXTRAS.get(package)
    return f"pip install 'menura[{extra}]'" if extra else f"pip install {package}"


def recognise(folder: Path) -> str:
    """The name of the one engine that claims the folder.

    Raises: ModelFilesError: no engine claims it, or several do; the message lists who looked.
    """
    matches: list[Match] = []
    unable: list[str] = []
    for name in names():
        try:
            match = engine_class(name).recognises(folder)
        except EngineNotInstalledError as error:
            unable.append(error.message)
            continue
        if match is not None:
            matches.append(match)
    if len(matches) == 1:
        return matches[0].engine
    if matches:
        claims = "; ".join(f"{match.engine}: {match.reason}" for match in matches)
        raise ModelFilesError(f"more than one engine claims {folder.name!r}: {claims}.")
    message = f"no engine recognises the files in {folder.name!r}; asked: {', '.join(names())}."
    raise ModelFilesError(" ".join([message, *unable]))
