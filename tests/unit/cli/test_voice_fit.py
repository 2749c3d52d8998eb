from dataclasses import replace

import pytest

from menura.cli.voice_fit import in_short
from menura.voice_library.fit import Fit, Need
from menura.voice_library.record import SourceKind, VoiceSource
from tests.command_line import run
from tests.kept_voices import kept


def fits(*arguments: str) -> dict[str, dict[str, object]]:
    found = run("voices", "fit", "Anna", *arguments, "--json").answer["fits"]
    assert isinstance(found, list)
    return {each["model"]: each for each in found}


def test_every_model_here_is_told() -> None:
    voice = kept()
    answer = run("voices", "fit", "anna", "--json").answer
    assert answer["voice"] == {"id": voice.id, "label": "Anna"}
    found = fits()
    assert list(found) == ["builtin"]
    assert found["builtin"]["usable"] is False
    assert found["builtin"]["missing"] == ["model_cannot_clone"]
    page = run("voices", "fit", "Anna").out
    assert page.splitlines()[1].startswith("builtin  no      cannot speak like a recording")
    assert page.endswith("Models that could be brought: --all\n")


def test_all_shows_those_that_could_be_brought() -> None:
    kept()
    found = fits("--all")
    assert next(iter(found)) == "qwen3-tts-0.6b-base"  # before those that never can
    assert list(found).index("echo-tts-base") < list(found).index("builtin")
    assert found["qwen3-tts-0.6b-base"] == {
        "model": "qwen3-tts-0.6b-base", "usable": False, "way": "",
        "says": "not on this machine: menura models pull qwen3-tts-0.6b-base",
        "missing": ["model"], "better": "",
    }  # fmt: skip
    assert found["qwen3-tts-1.7b-voicedesign"]["missing"] == ["model_cannot_clone"]


def test_a_model_that_was_named_and_cannot_is_exit_code_4() -> None:
    kept()
    ran = run("voices", "fit", "Anna", "-m", "builtin")
    assert ran.code == 4
    assert "builtin" in ran.out
    assert "'builtin' cannot use the voice 'Anna'" in ran.stderr
    assert run("voices", "fit", "Anna", "-m", "qwen3-tts-0.6b-base").code == 3
    kept("Mine", source=VoiceSource(SourceKind.PRESET, "builtin", preset="heart"))
    assert run("voices", "fit", "Mine", "-m", "builtin").code == 0


def test_a_default_model_that_cannot_be_asked_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    kept()
    monkeypatch.setenv("MENURA_DEFAULT_MODEL", "/gone")
    assert fits()["/gone"]["usable"] is False


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Fit("m", True, "x", ""), "yes"),
        (
            Fit("m", True, "x", "", (Need.TRANSCRIPT, Need.TRIM)),
            "yes, better with: transcript, trim",
        ),
        (Fit("m", False, "", "", (Need.MODEL_CANNOT_CLONE,)), "no: model cannot clone"),
        (Fit("m", False, "", ""), "no"),
    ],
)
def test_a_fit_in_short(found: Fit, words: str) -> None:
    assert in_short(found) == words


def test_a_missing_text_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    voice = kept()
    lacking = replace(Fit("builtin", True, "x", "builtin speaks.", (Need.TRANSCRIPT,)))
    monkeypatch.setattr("menura.cli.voice_fit.fit", lambda *_: lacking)
    page = run("voices", "fit", voice.id).out
    assert f"menura voices edit {voice.label} --ref-text TEXT" in page
