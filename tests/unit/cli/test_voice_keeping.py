from pathlib import Path

import pytest

from menura.cli.voice_keeping import consent_of, language_of, model_of
from menura.errors import ModelNotFoundError
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.record import VoiceDefaults, VoiceRecord, today
from tests.command_line import run
from tests.kept_voices import SAID, kept


def record() -> VoiceRecord:
    [voice] = VoiceLibrary().voices()
    return voice.record


def test_every_flag_changes_its_part() -> None:
    kept()
    ran = run(
        "voices", "edit", "anna", "--label", "Anna, calm", "-l", "de-AT", "--notes", "Slow.",
        "--ref-text", " Ein Ton. ", "--consent", "By mail.", "--default-model", "builtin",
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
    assert found.defaults == VoiceDefaults("builtin", None, "Calm.", 0.9, options)
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
        "--consent", "", "--default-model", "", "--instruct", "")  # fmt: skip
    found = record()
    assert (found.notes, found.language, found.consent) == ("", None, None)
    assert found.clips[0].transcript is None
    assert found.defaults == VoiceDefaults()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "say what to change: --label"),
        (["--speed", "9"], 2, "speed"),
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


def test_an_empty_consent_is_none() -> None:
    assert consent_of(" ") is None
