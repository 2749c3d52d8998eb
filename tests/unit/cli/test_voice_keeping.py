import os
import shutil
from pathlib import Path

import pytest

from menura.catalogue import ECHO
from menura.cli.voice_keeping import language_of, model_of
from menura.errors import InvalidValueError, ModelNotFoundError
from menura.voice_library import own_models
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.record import (
    SourceKind,
    VoiceDefaults,
    VoiceRecord,
    VoiceSource,
    today,
)
from tests.command_line import run
from tests.kept_voices import SAID, kept


def record() -> VoiceRecord:
    [voice] = VoiceLibrary().voices()
    return voice.record


def test_every_flag_changes_its_part() -> None:
    kept()
    ran = run(
        "voices", "edit", "anna", "--label", "Anna, calm", "-l", "de-AT", "--notes", "Slow.",
        "--ref-text", " Ein Ton. ", "--consent", "By mail.", "--default-model", ECHO.name,
        "--instruct", "Calm.", "--speed", "0.9", "-p", "temperature=0.7", "-p", "do_sample=true",
        "-p", "block_sizes=32,128",
    )  # fmt: skip
    assert ran.code == 0, ran.stderr
    found = record()
    assert (found.label, found.language, found.notes) == ("Anna, calm", "german", "Slow.")
    assert found.clips[0].transcript == "Ein Ton."
    assert found.consent is not None
    assert (found.consent.text, found.consent.given_on) == ("By mail.", today())
    options = {"temperature": 0.7, "do_sample": True, "block_sizes": "32,128"}
    assert found.defaults == VoiceDefaults(ECHO.name, None, "Calm.", 0.9, options)
    assert "--speed 0.9" in ran.stderr


def test_what_is_not_given_stays() -> None:
    before = kept(defaults=VoiceDefaults(speed=0.9, options={"a": 1, "b": 2})).record
    answer = run("voices", "edit", "Anna", "-p", "a=", "--json").answer
    assert answer["defaults"] == {
        "model": None, "language": None, "instruct": None, "speed": 0.9, "options": {"b": 2},
    }  # fmt: skip
    found = record()
    assert (found.label, found.language, found.clips, found.consent) == (
        before.label, before.language, before.clips, before.consent,
    )  # fmt: skip


def test_an_empty_text_takes_away() -> None:
    kept(notes="x", defaults=VoiceDefaults(model="builtin", instruct="x"))
    run("voices", "edit", "Anna", "--notes", "", "--language", "", "--ref-text", "",
        "--default-model", "", "--instruct", "")  # fmt: skip
    found = record()
    assert (found.notes, found.language) == ("", None)
    assert found.clips[0].transcript is None
    assert found.defaults == VoiceDefaults()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "say what to change: --label"),
        (["--speed", "9"], 2, "speed"),
        (["--speed", "nan"], 2, "speed=nan is not allowed: it must be a number from"),
        (["-p", "heat=NaN"], 2, "heat=nan is not allowed"),
        (["--language", "klingon"], 2, "'klingon' is not known"),
        (["--default-model", "qwen3-tts-9b"], 3, "qwen3-tts"),
        (["-p", "seed=5"], 2, "give --seed"),
        (["--label", "voice_" + "0" * 32], 2, "id"),
        (["--label", " "], 2, "nothing that can be seen"),
        (["--label", "Ben"], 2, "already"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_changes(
    arguments: list[str], code: int, words: str
) -> None:
    kept("Ben")
    before = kept().record
    ran = run("voices", "edit", "Anna", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.stderr
    assert VoiceLibrary().find("Anna").record == before


def test_a_voice_is_removed_after_a_question() -> None:
    folder = kept().folder
    ran = run("voices", "remove", "anna", stdin=b"n\n", terminals=["stdin", "stderr"])
    assert ran.code != 0
    assert folder.exists()
    ran = run("voices", "remove", "anna", stdin=b"y\n", terminals=["stdin", "stderr"])
    assert ran.code == 0
    assert "Remove the voice Anna from this machine?" in ran.stderr
    assert not folder.exists()


def test_nobody_is_asked_where_nobody_is() -> None:
    kept()
    ran = run("voices", "remove", "Anna")
    assert ran.code == 2
    assert "say --yes" in ran.stderr
    removed = run("voices", "remove", "Anna", "--yes", "--json").answer["removed"]
    assert isinstance(removed, dict)
    assert (removed["label"], removed["clips"][0]["transcript"]) == ("Anna", SAID)
    assert VoiceLibrary().voices() == ()


def test_a_model_is_kept_by_its_name_or_its_whole_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "m"
    folder.mkdir()
    (folder / "tone.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    assert model_of("./m") == str(folder)
    assert model_of("builtin") == "builtin"
    assert model_of("") is None
    with pytest.raises(ModelNotFoundError):
        model_of("./gone")


@pytest.mark.parametrize(
    ("given", "name"), [("de", "german"), (" EN ", "english"), ("", None), (None, None)]
)
def test_languages_are_kept_by_name(given: str | None, name: str | None) -> None:
    assert language_of(given) == name


def test_a_language_that_is_none_is_told() -> None:
    with pytest.raises(InvalidValueError, match=r"'germn' is not known.*'german'\?") as caught:
        language_of("germn")
    assert caught.value.param == "--language"


@pytest.mark.parametrize("text", ["", " ", "\u200b"])
@pytest.mark.parametrize("kind", [SourceKind.RECORDING, SourceKind.IMPORT])
def test_the_consent_of_a_person_is_not_taken_away(text: str, kind: SourceKind) -> None:
    before = kept(source=VoiceSource(kind)).record
    ran = run("voices", "edit", "Anna", "--notes", "x", "--consent", text)
    assert ran.code == 2
    assert "--consent TEXT" in ran.stderr
    assert record() == before


def test_the_consent_of_nobody_may_go() -> None:
    kept(source=VoiceSource(SourceKind.DESIGN, "m", "An old man."))
    assert run("voices", "edit", "Anna", "--consent", "").code == 0
    assert record().consent is None


def test_a_folder_counts_as_a_model_where_its_user_chose_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "tone.json").write_text("{}")
    voice = kept()
    assert run("voices", "edit", "Anna", "--default-model", tmp_path / "m").code == 0
    [edited] = VoiceLibrary().voices()
    assert own_models.model_of(VoiceLibrary(), edited) == str(tmp_path / "m")
    shutil.copytree(voice.folder, tmp_path / "copy")
    VoiceLibrary().remove("Anna")
    kept("Ben")
    run("voices", "edit", "Ben", "--default-model", "builtin")
    shutil.copytree(tmp_path / "copy", voice.folder)
    copied = VoiceLibrary().find("Anna")
    assert copied.record.defaults.model == str(tmp_path / "m")
    assert own_models.model_of(VoiceLibrary(), copied) is None


@pytest.mark.skipif(os.name == "nt", reason="Windows tells owners otherwise")
def test_a_folder_of_another_user_is_no_model_of_a_voice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "tone.json").write_text("{}")
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    if owner == 0:
        own_models.check_owner(tmp_path / "m")  # the system's own folders are nobody else's
        os.chown(tmp_path / "m", 4_711, -1)
    kept()
    ran = run("voices", "edit", "Anna", "--default-model", tmp_path / "m")
    assert ran.code == 2
    assert "another user" in ran.stderr


def test_options_are_checked_where_their_model_is_here(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "tone.json").write_text("{}")
    kept()
    assert run("voices", "edit", "Anna", "-p", "heat=7").code == 0  # no model says otherwise
    ran = run("voices", "edit", "Anna", "--default-model", tmp_path / "m")
    assert (ran.code, "'heat'" in ran.stderr) == (2, True)
    ran = run("voices", "edit", "Anna", "--default-model", tmp_path / "m", "-p", "heat=")
    assert ran.code == 0, ran.stderr
    ran = run("voices", "edit", "Anna", "-p", "loudness=hot")
    assert ran.code == 2
    assert "loudness='hot' is not allowed" in ran.stderr
    assert run("voices", "edit", "Anna", "-p", "loudness=0.5").code == 0
    assert record().defaults.options == {"loudness": 0.5}


def test_a_new_name_that_means_something_else_is_noted() -> None:
    kept()
    ran = run("voices", "edit", "Anna", "--label", "Heart")
    assert ran.code == 0
    assert "-v lib:Heart" in ran.stderr


def test_copies_of_the_folder_go_too_and_that_is_said() -> None:
    voice = kept()
    shutil.copytree(voice.folder, voice.folder.with_name("aaa"))
    ran = run("voices", "remove", "Anna", stdin=b"y\n", terminals=["stdin", "stderr"])
    assert "Remove the voice Anna and the copies of its folder: aaa from" in ran.stderr
    assert VoiceLibrary().voices() == ()
    assert not voice.folder.with_name("aaa").exists()
