from dataclasses import replace
from pathlib import Path

import pytest

from menura.cli.voice_exchange import file_stem
from menura.voice_library.library import VoiceLibrary
from tests.command_line import run
from tests.kept_voices import CONSENT, kept, write_recording


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_voice_goes_out_and_comes_back_as_it_was(inside: Path) -> None:
    before = kept("Anna, calm", notes="Slow.")
    ran = run("voices", "export", "anna, calm")
    assert (ran.code, ran.out) == (0, "")
    assert ran.stderr.startswith("Anna-calm.voice.zip  Anna, calm, ")
    run("voices", "remove", "Anna, calm", "--yes")
    ran = run("voices", "import", "Anna-calm.voice.zip")
    assert (ran.code, ran.out) == (0, ""), ran.stderr
    assert ran.stderr == "Anna, calm  imported, 3.0 s at 24000 Hz, with its text\n"
    [after] = VoiceLibrary().voices()
    assert replace(after.record, edited_on="") == replace(before.record, edited_on="")


def test_the_answers_name_file_and_voices(inside: Path) -> None:
    voice = kept()
    answer = run("voices", "export", "Anna", "-o", "a.zip", "--json").answer
    assert (answer["path"], answer["n_bytes"]) == ("a.zip", (inside / "a.zip").stat().st_size)
    VoiceLibrary().remove(voice.id)
    imported = run("voices", "import", "a.zip", "--label", "Ben", "--json").answer["imported"]
    assert isinstance(imported, list)
    assert [(each["id"], each["label"]) for each in imported] == [(voice.id, "Ben")]


def test_through_a_pipe(inside: Path) -> None:
    kept()
    ran = run("voices", "export", "Anna", "-o", "-")
    run("voices", "export", "Anna", "-o", "a.zip")
    assert ran.stdout[:2] == b"PK"
    assert len(ran.stdout) == (inside / "a.zip").stat().st_size
    assert run("voices", "export", "Anna", "-o", "-", terminals=["stdout"]).code == 2
    assert run("voices", "export", "Anna", "-o", "-", "--json").code == 2


def test_no_file_is_written_over_unless_it_is_meant(inside: Path) -> None:
    kept()
    (inside / "Anna.voice.zip").write_text("mine")
    ran = run("voices", "export", "Anna")
    assert ran.code == 2
    assert "--force" in ran.stderr
    assert (inside / "Anna.voice.zip").read_text() == "mine"
    assert run("voices", "export", "Anna", "--force").code == 0
    assert (inside / "Anna.voice.zip").read_bytes()[:2] == b"PK"
    (inside / "folder").mkdir()
    assert run("voices", "export", "Anna", "-o", "folder").code == 0
    assert (inside / "folder" / "Anna.voice.zip").exists()


def test_a_voice_that_is_here_is_not_imported_twice() -> None:
    kept()
    run("voices", "export", "Anna")
    ran = run("voices", "import", "Anna.voice.zip")
    assert ran.code == 2
    assert "is here already" in ran.stderr


def test_a_folder_of_recordings_needs_consent(inside: Path) -> None:
    folder = inside / "clips"
    folder.mkdir()
    write_recording(folder / "a.wav")
    write_recording(folder / "b.wav", 7.0)
    (folder / "b.txt").write_text("One, two, three, four, five, six, seven, eight.")
    ran = run("voices", "import", "clips")
    assert ran.code == 2
    assert VoiceLibrary().voices() == ()
    ran = run("voices", "import", "clips", stdin=f"{CONSENT}\n".encode(),
              terminals=["stdin", "stderr"])  # fmt: skip
    assert ran.code == 0, ran.stderr
    a, b = VoiceLibrary().voices()
    assert (a.label, b.label) == ("a", "b")
    assert b.record.clips[0].transcript == "One, two, three, four, five, six, seven, eight."
    assert a.record.consent is not None
    assert a.record.consent.text == CONSENT


@pytest.mark.parametrize("path", ["gone.voice.zip", "not.zip", "empty"])
def test_what_is_no_voice_is_told(inside: Path, path: str) -> None:
    (inside / "not.zip").write_text("no zip")
    (inside / "empty").mkdir()
    ran = run("voices", "import", path)
    assert ran.code == 2
    assert path in ran.stderr


@pytest.mark.parametrize(
    ("label", "stem"),
    [
        ("Anna", "Anna"),
        ("安娜", "安娜"),
        ("../../etc/passwd", "etc-passwd"),
        ("a/b\\c:d\x1b[31m", "a-b-c-d-31m"),
        ("x" * 80, "x" * 60),
        ("CON", ""),
        ("lpt1", ""),
        ("!?", ""),
    ],
)
def test_a_label_as_a_files_name(label: str, stem: str) -> None:
    assert file_stem(label) == stem


def test_a_label_without_letters_is_exported_by_its_id() -> None:
    voice = kept("!?")
    run("voices", "export", voice.id)
    assert Path(f"{voice.id}.voice.zip").exists()
