"""The facts behind `menura doctor`, gathered without changing anything on the machine."""

import os
import platform
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import menura
from menura import models, settings
from menura.engines import registry
from menura.errors import MenuraError, SettingsError
from menura.runtime.devices import (
    Cpu,
    Device,
    TorchBuild,
    cpu,
    devices,
    memory_bytes,
    torch_build,
    why_no_int8,
)
from menura.runtime.native import build
from menura.server.server_settings import ServerSettings
from menura.settings import DEFAULT, Settings, SourcedOptions

_NEEDED = (
    "av", "hibari-tts", "httpx", "huggingface_hub", "numpy", "onnxruntime", "platformdirs", "rich",
    "sentencex", "soundfile", "soxr", "typer",
)  # fmt: skip
_EXTRAS = ("torch", "safetensors", "tokenizers", "sounddevice", "faster-whisper", "modelscope")


@dataclass(frozen=True)
class FolderState:
    """One folder: what it is for, where it is, how much is in it; `problem` is empty if none."""

    name: str
    path: str
    n_bytes: int
    problem: str


@dataclass(frozen=True)
class EngineState:
    """One engine: ready, or what it lacks and the command that helps."""

    name: str
    ready: bool
    lacks: str


@dataclass(frozen=True)
class SettingState:
    """One setting, its value, and where the value came from."""

    name: str
    value: object
    source: str

    @property
    def is_default(self) -> bool:
        """Whether nobody chose the value."""
        return self.source == DEFAULT


@dataclass(frozen=True)
class Health:
    """All that `menura doctor` shows. `broken` says what keeps Menura from working.

    `server_settings` are those of `menura serve`, the table [server] of the settings' file.
    """

    menura: str
    python: str
    platform: str
    cpu: Cpu
    memory_bytes: int | None
    free_memory_bytes: int | None
    free_disk_bytes: int
    devices: tuple[Device, ...]
    torch: TorchBuild | None
    kernels: str
    packages: dict[str, str | None]
    extras: dict[str, str | None]
    folders: tuple[FolderState, ...]
    models: tuple[str, ...]
    engines: tuple[EngineState, ...]
    settings: tuple[SettingState, ...]
    server_settings: tuple[SettingState, ...]
    broken: tuple[str, ...]


def examine() -> Health:
    """The facts of this machine and installation."""
    memory, free_memory = memory_bytes()
    packages = {name: _version(name) for name in _NEEDED}
    folders = _folders()
    engines = tuple(_engine_state(name) for name in registry.names())
    chosen, wrong_settings = _settings("", Settings)
    of_server, wrong_of_server = _settings("server", ServerSettings)
    broken = [*_missing(packages), *(folder.problem for folder in folders)]
    broken += [engine.lacks for engine in engines if engine.name == registry.BUILTIN]
    broken += [*wrong_settings, *wrong_of_server]
    return Health(
        menura=menura.__version__,
        python=f"{platform.python_version()} ({sys.executable})",
        platform=platform.platform(),
        cpu=cpu(),
        memory_bytes=memory,
        free_memory_bytes=free_memory,
        free_disk_bytes=shutil.disk_usage(_existing(models.hub_cache())).free,
        devices=tuple(devices()),
        torch=torch_build(),
        kernels=_kernels(),
        packages=packages,
        extras={name: _version(name) for name in _EXTRAS},
        folders=folders,
        models=tuple(model.name for model in models.list_installed() if model.is_complete),
        engines=engines,
        settings=chosen,
        server_settings=of_server,
        broken=tuple(dict.fromkeys(filter(None, broken))),
    )


def _kernels() -> str:
    """How the native CPU kernels come here, or why they do not; nothing is compiled for it."""
    if why := build.why_not():
        lacking = why_no_int8()
        instead = f"in float32, since {lacking}" if lacking else "with weights of 8 bits"
        return f"none: {why}; models that have them run in torch {instead}, several times slower"
    if build.wheel_library() is not None:
        return "ready, from the package"
    return "compiled on first use with the system's compiler"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _missing(packages: Mapping[str, str | None]) -> list[str]:
    lost = [name for name, version in packages.items() if version is None]
    return [f"the package {name} is missing: pip install {name}" for name in lost]


def _folders() -> tuple[FolderState, ...]:
    own = settings.folders()
    places = {
        "settings": own.config,
        "data": own.data,
        "cache": own.cache,
        "state": own.state,
        "models": models.hub_cache(),
    }
    return tuple(
        FolderState(name, str(path), _bytes_in(path), _problem(path, _variable(name)))
        for name, path in places.items()
    )


def _variable(folder: str) -> str:
    """The variable that moves a folder elsewhere; for the hub's cache the one that moved it."""
    if folder != "models":
        return "MENURA_HOME"
    return "HF_HUB_CACHE" if os.environ.get("HF_HUB_CACHE") else "HF_HOME"


def _problem(folder: Path, variable: str) -> str:
    """Why nothing can be written there, with what to do; empty if it can."""
    if folder.exists() and not folder.is_dir():
        return f"{folder} is not a folder: move it away, or set {variable} to another place"
    if not os.access(_existing(folder), os.W_OK):
        return f"{folder} cannot be written to: change its rights, or set {variable}"
    return ""


def _existing(folder: Path) -> Path:
    """The folder, or the closest one above it that exists."""
    return next(
        place for place in (folder.absolute(), *folder.absolute().parents) if place.exists()
    )


def _bytes_in(folder: Path) -> int:
    """The size of the files in a folder; links are not followed, so nothing counts twice."""
    files = (Path(root) / name for root, _, names in os.walk(folder) for name in names)
    return sum(file.lstat().st_size for file in files)


def _engine_state(name: str) -> EngineState:
    try:
        found = registry.engine_class(name)
        if name == registry.BUILTIN:
            found.describe(None, {})
    except MenuraError as error:
        return EngineState(name, ready=False, lacks=error.message)
    return EngineState(name, ready=True, lacks="")


def _settings(table: str, kind: type[SourcedOptions]) -> tuple[tuple[SettingState, ...], list[str]]:
    """The settings of a table with their sources, and what is wrong with them."""
    try:
        chosen = settings.load_table(table, kind)
    except SettingsError as error:
        return (), [error.message]
    return tuple(SettingState(each.name, each.value, each.source) for each in chosen.shown()), []
