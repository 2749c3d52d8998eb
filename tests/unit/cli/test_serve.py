from dataclasses import fields
from pathlib import Path

import pytest

from menura.cli.serve import ServeFlags
from menura.cli.server_run import settings_given
from menura.server.server_settings import ServerSettings
from menura.settings import load_table
from tests.command_line import run

_DOCUMENT = Path(__file__).parents[3] / "docs" / "serving.md"


def limits(flags: ServeFlags) -> ServerSettings:
    return load_table("server", ServerSettings, settings_given(flags))


def test_without_flags_the_settings_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    assert limits(ServeFlags()) == ServerSettings()
    monkeypatch.setenv("MENURA_SERVER_PRELOAD", "true")
    monkeypatch.setenv("MENURA_SERVER_PORT", "9000")
    assert limits(ServeFlags()) == ServerSettings(preload=True, port=9000)


def test_a_flag_beats_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_SERVER_PORT", "9000")
    monkeypatch.setenv("MENURA_SERVER_MODELS", "builtin")
    chosen = limits(ServeFlags(port=0, model=["./a,b", "c"], no_key=True))
    assert (chosen.port, chosen.no_key, chosen.model_names) == (0, True, ("./a,b", "c"))


def test_a_single_entry_may_hold_a_comma() -> None:
    assert limits(ServeFlags(voice=["me=a,b.safetensors"])).voice_files == {
        "me": Path("a,b.safetensors")
    }


def test_every_flag_is_a_setting_or_general() -> None:
    general = {"json", "device", "precision", "threads"}
    flags = {field.name for field in fields(ServeFlags)} - general
    given = settings_given(ServeFlags())
    assert len(given) == len(flags)
    assert given.keys() <= {facts.name for facts in ServerSettings.facts()}


def test_every_setting_is_documented() -> None:
    text = _DOCUMENT.read_text("utf-8")
    assert [f.name for f in ServerSettings.facts() if f"`{f.name}`" not in text] == []


def test_the_help_shows_the_settings_own_words() -> None:
    out = run("serve", "--help").out
    assert "The port; 0 takes a free one." in out
    assert "docs/serving.md" in out
