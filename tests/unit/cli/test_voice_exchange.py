import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from menura import voice_files
from menura.cli.voice_exchange import file_stem
from menura.speech import Origin
from menura.voice_library.library import VoiceLibrary
from tests.command_line import run
from tests.kept_voices import CONSENT, kept, write_recording
from tests.zipped_voices import made_by_tone, unzipped, zipped


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


def portable(inside: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The portable file of a voice that is gone, with a changed record."""
    voice = kept()
    run("voices", "export", "Anna", "-o", "a.zip", "--no-prompts")
    VoiceLibrary().remove(voice.id)
    contents = unzipped((inside / "a.zip").read_bytes())
    record = json.loads(contents["voice.json"])
    change(record)
    contents["voice.json"] = json.dumps(record).encode()
    (inside / "a.zip").write_bytes(zipped(contents))
    return inside / "a.zip"


def consent_text(text: str) -> Callable[[dict[str, Any]], object]:
    return lambda record: record["consent"].update(text=text)


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(consent=None),
        lambda record: record.pop("consent"),
        lambda record: record.update(consent=None, source=None),
        consent_text(""),
        consent_text(" "),
        consent_text("\u200b\u2060"),
    ],
)
@pytest.mark.parametrize("given", [[], ["--consent", ""], ["--consent", "\u200b"]])
def test_a_voice_without_a_consent_does_not_come_in(
    inside: Path, change: Callable[[dict[str, Any]], object], given: list[str]
) -> None:
    path = portable(inside, change)
    ran = run("voices", "import", path, *given)
    assert ran.code == 2
    assert "--consent TEXT" in ran.stderr
    assert VoiceLibrary().voices() == ()
    assert run("voices", "import", path, "--consent", "By mail.").code == 0
    [voice] = VoiceLibrary().voices()
    assert voice.record.consent is not None
    assert voice.record.consent.text == "By mail."


def test_a_saved_voice_without_a_consent_does_not_come_in(inside: Path) -> None:
    bare = replace(made_by_tone(), origin=Origin("", "\u200b", "2026-11-30"))
    voice_files.save(bare, inside / "a.safetensors")
    ran = run("voices", "import", "a.safetensors")
    assert ran.code == 2
    assert "--consent TEXT" in ran.stderr
    assert run("voices", "import", "a.safetensors", "--consent", "By mail.").code == 0


@pytest.mark.parametrize("model", ["../../x", "/abs/folder", "org/unknown", "m"])
def test_a_model_that_is_a_place_is_left_out_with_a_note(inside: Path, model: str) -> None:
    (inside / "org" / "unknown").mkdir(parents=True)
    (inside / "m").mkdir()
    path = portable(inside, lambda record: record["defaults"].update(model=model))
    ran = run("voices", "import", path)
    assert ran.code == 0
    assert "came without its model" in ran.stderr
    [voice] = VoiceLibrary().voices()
    assert voice.record.defaults.model is None


def test_a_model_with_a_name_comes_along(inside: Path) -> None:
    path = portable(inside, lambda record: record["defaults"].update(model="builtin"))
    assert "came without" not in run("voices", "import", path).stderr
    assert VoiceLibrary().find("Anna").record.defaults.model == "builtin"


def test_a_language_that_is_none_is_left_out_with_a_note(inside: Path) -> None:
    path = portable(inside, lambda record: record.update(language="klingon"))
    assert "came without its language 'klingon'" in run("voices", "import", path).stderr
    assert VoiceLibrary().find("Anna").record.language is None


def test_a_voice_comes_through_a_pipe(inside: Path) -> None:
    path = portable(inside, dict)
    ran = run("voices", "import", "-", stdin=path.read_bytes())
    assert ran.code == 0, ran.stderr
    assert VoiceLibrary().find("Anna").label == "Anna"
    typed = run("voices", "import", "-", terminals=["stdin", "stderr"])
    assert typed.code == 2
    assert "is not typed in" in typed.stderr


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_may_have_a_name(inside: Path) -> None:
    data = portable(inside, dict).read_bytes()
    os.mkfifo(inside / "pipe")
    with ThreadPoolExecutor(1) as pool:
        written = pool.submit((inside / "pipe").write_bytes, data)
        ran = run("voices", "import", "pipe")
        assert written.result() == len(data)
    assert ran.code == 0, ran.stderr


def test_a_text_that_does_not_fit_is_told_with_the_way_out(inside: Path) -> None:
    for name in ("a", "b"):
        write_recording(inside / f"{name}.wav")
        (inside / f"{name}.txt").write_text("far too many words " * 40)
    for what in (inside / "a.wav", inside):
        ran = run("voices", "import", what, "--consent", CONSENT)
        assert ran.code == 2
        assert "To keep it all the same: --anyway" in ran.stderr
    assert run("voices", "import", inside, "--consent", CONSENT, "--anyway").code == 0


def test_a_name_that_means_something_else_is_noted(inside: Path) -> None:
    path = portable(inside, lambda record: record.update(label="alloy"))
    assert "-v lib:alloy" in run("voices", "import", path).stderr
