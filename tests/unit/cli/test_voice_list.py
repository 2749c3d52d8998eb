from pathlib import Path

import pytest

from menura import settings
from menura.voice_library.record import SourceKind, VoiceSource
from tests.command_line import run
from tests.kept_voices import kept


def library_folder() -> Path:
    return settings.folders().data / "voices"


def test_without_voices_it_says_how_to_make_one() -> None:
    page = run("voices").out
    assert page.startswith("voice ")
    assert page.endswith("Make a voice of your own: menura voices add NAME RECORDING\n")


def test_the_users_voices_come_before_the_models() -> None:
    kept("Zoë")
    kept("Anna", language=None, source=VoiceSource(SourceKind.PRESET, "m", preset="ryan"))
    lines = run("voices").out.splitlines()
    assert lines[0].split("  ")[0] == "your voice"
    assert lines[1].split() == ["Anna", "-", "ryan", "of", "m", "3.0", "s,", "with", "text"]
    assert lines[2].startswith("Zoë ")
    assert lines[3] == ""
    assert lines[4].startswith("voice ")
    assert "heart" in lines[5]


def test_a_named_model_says_which_of_them_it_can_use() -> None:
    kept()
    page = run("voices", "-m", "builtin").out
    assert "with builtin" in page
    assert "no: model cannot clone" in page
    [voice] = _list(run("voices", "-m", "builtin", "--json").answer["library"])
    fit = voice["fit"]
    assert isinstance(fit, dict)
    assert (fit["usable"], fit["missing"]) == (False, ["model_cannot_clone"])


def test_the_answer_holds_all_kinds() -> None:
    voice = kept()
    (library_folder() / "odd").mkdir()
    answer = run("voices", "--json").answer
    assert answer["model"] == "builtin"
    assert [each["id"] for each in _list(answer["library"])] == [voice.id]
    assert "fit" not in _list(answer["library"])[0]
    assert [each["name"] for each in _list(answer["broken"])] == ["odd"]
    assert "heart" in [each["name"] for each in _list(answer["voices"])]


def test_what_is_set_aside_stands_last_with_its_reason() -> None:
    kept()
    (library_folder() / "odd\x1b[31m").mkdir()
    lines = run("voices").out.splitlines()
    assert lines[-2].split("  ")[0] == "set aside"
    assert lines[-1].startswith("odd ")
    assert "voice.json" in lines[-1]


def test_a_default_model_that_is_gone_hides_no_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_DEFAULT_MODEL", "qwen3-tts-0.6b-base")
    assert run("voices").code == 3
    kept()
    ran = run("voices")
    assert ran.code == 0
    assert "Anna" in ran.out
    assert "note: model 'qwen3-tts-0.6b-base' is not on this machine" in ran.stderr
    assert run("voices", "--json").answer["model"] is None
    assert run("voices", "-m", "qwen3-tts-0.6b-base").code == 3


def _list(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value
