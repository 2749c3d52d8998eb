import dataclasses
from pathlib import Path

import pytest

from menura.cli import health
from menura.runtime.devices import Device
from menura.runtime.native import build


@pytest.fixture(autouse=True)
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing torch takes seconds, and what it says is no fact of this module."""
    monkeypatch.setattr(health, "torch_build", lambda: None)
    monkeypatch.setattr(health, "devices", lambda: [Device("cpu", "a cpu", 2, 1)])


def test_a_whole_installation_is_not_broken(tmp_path: Path) -> None:
    found = health.examine()
    assert found.broken == ()
    assert found.torch is None
    engines = {engine.name: engine for engine in found.engines}
    assert engines["builtin"].ready
    assert "builtin" in found.models
    assert [folder.name for folder in found.folders] == [
        "settings", "data", "cache", "state", "models",
    ]  # fmt: skip
    assert found.folders[0].path == str(tmp_path / "menura-home" / "config")


def test_each_setting_says_where_its_value_came_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_THREADS", "3")
    settings = {setting.name: setting for setting in health.examine().settings}
    assert dataclasses.astuple(settings["threads"]) == ("threads", 3, "MENURA_THREADS")
    assert settings["mark"].source == "default"


def test_the_servers_settings_are_shown_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(health.examine().folders[0].path) / "settings.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[server]\nport = 9000\n")
    settings = {setting.name: setting for setting in health.examine().server_settings}
    assert dataclasses.astuple(settings["port"]) == ("port", 9000, str(file))
    assert not settings["port"].is_default
    assert settings["rows"].is_default
    file.write_text("[server\n")
    found = health.examine()
    assert (found.settings, found.server_settings) == ((), ())
    [problem] = found.broken
    assert "cannot be read" in problem


def test_wrong_settings_are_broken_and_the_rest_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_THREAD", "3")
    found = health.examine()
    assert found.settings == ()
    [problem] = found.broken
    assert "Did you mean 'MENURA_THREADS'?" in problem


def test_a_missing_package_is_broken_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "_NEEDED", ("numpy", "no-such-package"))
    found = health.examine()
    assert found.packages["no-such-package"] is None
    assert found.broken == ("the package no-such-package is missing: pip install no-such-package",)


def test_a_file_where_a_folder_should_be_is_broken(tmp_path: Path) -> None:
    (tmp_path / "menura-home").mkdir()
    (tmp_path / "menura-home" / "cache").write_text("not a folder")
    [problem] = health.examine().broken
    assert problem.startswith(f"{tmp_path / 'menura-home' / 'cache'} is not a folder")


@pytest.mark.parametrize(
    ("lacking", "instead"),
    [("", "with weights of 8 bits"), ("torch is too old", "in float32, since torch is too old")],
)
def test_kernels_that_cannot_be_had_say_why_and_what_runs_instead(
    lacking: str, instead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "why_not", lambda: "there is no compiler")
    monkeypatch.setattr(health, "why_no_int8", lambda: lacking)
    assert health.examine().kernels == (
        f"none: there is no compiler; models that have them run in torch {instead}, several times "
        "slower"
    )


def test_kernels_come_from_the_package_or_are_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "why_not", lambda: "")
    monkeypatch.setattr(build, "wheel_library", lambda: None)
    assert health.examine().kernels == "compiled on first use with the system's compiler"
    monkeypatch.setattr(build, "wheel_library", lambda: tmp_path / "kernels.so")
    assert health.examine().kernels == "ready, from the package"


@pytest.mark.parametrize(
    ("variables", "named"),
    [({}, "HF_HOME"), ({"HF_HUB_CACHE": "x"}, "HF_HUB_CACHE")],
)
def test_a_folder_that_cannot_be_written_names_the_variable_that_moves_it(
    variables: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_CACHE")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("os.access", lambda *_: False)
    *own, models_folder = health.examine().broken
    assert len(own) == 4
    assert all(problem.endswith("change its rights, or set MENURA_HOME") for problem in own)
    assert models_folder.endswith(f"cannot be written to: change its rights, or set {named}")


def test_a_folder_counts_its_files_and_no_links(tmp_path: Path) -> None:
    folder = tmp_path / "menura-home" / "cache" / "deep"
    folder.mkdir(parents=True)
    (folder / "a").write_bytes(b"x" * 1_000)
    (folder / "b").symlink_to(folder / "a")
    sizes = {state.name: state.n_bytes for state in health.examine().folders}
    assert 1_000 <= sizes["cache"] < 1_500
