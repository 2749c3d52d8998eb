"""The facts of `health` as a page for people, or as one JSON object."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict

import typer

from menura.cli.doctor import DoctorFlags
from menura.cli.health import FolderState, Health, SettingState, examine
from menura.cli.quantities import size
from menura.cli.terminal import accent, emit, emit_facts, emit_json, error_line
from menura.errors import MenuraError
from menura.runtime.devices import Device

_WRONG_SETTINGS = [("not read", "they are wrong; see the error below")]
_TORCH_COMMAND = "not installed; the model engines need it: pip install 'menura[torch]'"


def show(flags: DoctorFlags) -> None:
    """Nothing; the diagnosis stands on stdout. It ends with exit code 1 if something is broken."""
    health = examine()
    if flags.json:
        emit_json(asdict(health) | {"ok": not health.broken})
    else:
        _show_page(health)
    if health.broken:
        for line in health.broken:
            error_line(line)
        raise typer.Exit(MenuraError.exit_code)


def _show_page(health: Health) -> None:
    _section("machine", _machine(health))
    _section("devices", [(device.name, _device(device)) for device in health.devices])
    _section("packages", _packages(health))
    engines = [(engine.name, engine.lacks or "ready") for engine in health.engines]
    _section("engines", engines)
    _section("models", [(name, "here") for name in health.models])
    _section("folders", [(folder.name, _folder(folder)) for folder in health.folders])
    chosen = [(setting.name, _setting(setting)) for setting in health.settings]
    _section("settings", chosen or _WRONG_SETTINGS)
    _section("server settings", _of_server(health) or _WRONG_SETTINGS)
    if not health.broken:
        emit("Nothing is broken.")


def _of_server(health: Health) -> list[tuple[str, str]]:
    """The settings of `menura serve` that somebody chose, and how many are as they come."""
    chosen = [each for each in health.server_settings if not each.is_default]
    n_others = len(health.server_settings) - len(chosen)
    others = [("others", f"{n_others} at their defaults (--json has all)")] if n_others else []
    return [*((each.name, _setting(each)) for each in chosen), *others]


def _machine(health: Health) -> list[tuple[str, str]]:
    cores = f"{health.cpu.n_usable_cores} usable of {health.cpu.n_cores} cores"
    return [
        ("menura", health.menura),
        ("python", health.python),
        ("system", health.platform),
        ("cpu", f"{health.cpu.name}, {cores}"),
        ("features", " ".join(health.cpu.features) or "not known"),
        ("kernels", health.kernels),
        ("memory", _amount(health.memory_bytes, health.free_memory_bytes)),
        ("disk", f"{size(health.free_disk_bytes)} free for models"),
    ]


def _packages(health: Health) -> list[tuple[str, str]]:
    build = health.torch
    torch = f"{build.version}, built for {build.built_for}" if build else _TORCH_COMMAND
    return [
        ("torch", torch),
        ("needed", _versions(health.packages)),
        ("extras", _versions(health.extras)),
    ]


def _versions(packages: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} {version or '(missing)'}" for name, version in packages.items())


def _device(device: Device) -> str:
    return f"{device.description}, {_amount(device.memory_bytes, device.free_bytes)}"


def _folder(folder: FolderState) -> str:
    return f"{folder.path} ({size(folder.n_bytes) if folder.n_bytes else 'empty'})"


def _setting(setting: SettingState) -> str:
    return f"{'not set' if setting.value is None else setting.value} ({setting.source})"


def _amount(total_bytes: int | None, free_bytes: int | None) -> str:
    if total_bytes is None:
        return "memory not known"
    free = "" if free_bytes is None else f", {size(free_bytes)} free"
    return f"{size(total_bytes)}{free}"


def _section(title: str, rows: Iterable[tuple[str, str]]) -> None:
    emit(accent(title, "stdout"))
    emit_facts(rows, indent="  ")
    emit()
