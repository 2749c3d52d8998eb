"""A folder is a sound voice, or it is told why not, and never touched (A3, F11, report 34)."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from menura.voice_library.folders import (
    BrokenVoice,
    LibraryVoice,
    one_for_each_id,
    read_entry,
    stamp_of,
)
from menura.voice_library.library import VoiceLibrary
from tests.kept_voices import kept, new_voice


@pytest.fixture
def voice() -> LibraryVoice:
    """A voice with all that one can have."""
    made = new_voice(preview=b"fLaC", consent_recording=b"fLaC")
    return VoiceLibrary().add(made)


def test_a_sound_folder_is_a_voice(voice: LibraryVoice) -> None:
    assert read_entry(voice.folder) == voice


def _edit(folder: Path, **changes: object) -> None:
    record = json.loads((folder / "voice.json").read_text("utf-8"))
    (folder / "voice.json").write_text(json.dumps(record | changes))


def _link(path: Path) -> None:
    target = path.parent.parent / f"elsewhere-{path.name}"
    shutil.move(path, target)
    path.symlink_to(target)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda f: (f / "voice.json").write_text("{"), "voice.json: it is not valid JSON"),
        (lambda f: (f / "voice.json").write_text(""), "voice.json is empty"),
        (lambda f: (f / "voice.json").write_bytes(b"\xff\xfe"), "utf-8"),
        (lambda f: (f / "voice.json").write_text(" " * 1_000_001), "more than 1,000,000 bytes"),
        (lambda f: _edit(f, schema=2), "newer Menura"),
        (lambda f: _edit(f, extra=1), "'extra' is not a key"),
        (lambda f: (f / "clips" / "1.flac").write_bytes(b""), "1.flac is empty"),
        (lambda f: (f / "clips" / "1.flac").unlink(), "1.flac is missing"),
        (lambda f: shutil.rmtree(f / "clips"), "clips is missing"),
        (lambda f: (f / "preview.flac").unlink(), "preview.flac is missing"),
        (lambda f: (f / "consent.flac").unlink(), "consent.flac is missing"),
        (lambda f: _link(f / "voice.json"), "voice.json is a link, and a link is not followed"),
        (lambda f: _link(f / "clips"), "clips is a link"),
        (lambda f: _link(f / "clips" / "1.flac"), "1.flac is a link"),
        (lambda f: _link(f / "preview.flac"), "preview.flac is a link"),
        (lambda f: (f / "prompts").symlink_to(f.parent), "prompts is a link"),
        (_link, "is a link"),
    ],
)
def test_what_is_wrong_with_a_folder_is_said(
    voice: LibraryVoice, harm: Callable[[Path], object], said: str
) -> None:
    harm(voice.folder)
    found = read_entry(voice.folder)
    assert isinstance(found, BrokenVoice)
    assert found.name == voice.folder.name
    assert said in found.reason
    assert found.reason.endswith(".")


def test_a_pipe_for_a_record_keeps_nobody_waiting(voice: LibraryVoice) -> None:
    (voice.folder / "voice.json").unlink()
    os.mkfifo(voice.folder / "voice.json")
    found = read_entry(voice.folder)
    assert isinstance(found, BrokenVoice)
    assert "no plain file" in found.reason


def test_what_could_become_a_voice_is_told_how(tmp_path: Path) -> None:
    (tmp_path / "my anna.WAV").write_bytes(b"RIFF")
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "clips only").mkdir()
    found = read_entry(tmp_path / "my anna.WAV")
    assert isinstance(found, BrokenVoice)
    assert f"`menura voices import '{tmp_path}/my anna.WAV'`" in found.reason
    assert read_entry(tmp_path / "notes.txt") is None
    folder = read_entry(tmp_path / "clips only")
    assert isinstance(folder, BrokenVoice)
    assert folder.reason.startswith("it has no voice.json: nothing in it could become a voice")
    (tmp_path / "clips only" / "a.wav").write_bytes(b"RIFF")
    folder = read_entry(tmp_path / "clips only")
    assert isinstance(folder, BrokenVoice)
    assert folder.reason.startswith("it has no voice.json: make a voice of it")
    assert folder.reason.endswith("then delete the folder.")
    assert read_entry(tmp_path / "gone") is None


def test_of_two_folders_with_one_id_the_one_that_is_named_so_is_the_voice() -> None:
    voice = kept()
    copy = voice.folder.with_name("a copy")
    shutil.copytree(voice.folder, copy)
    [owner], [broken] = one_for_each_id([LibraryVoice(voice.record, copy), voice])
    assert owner.folder == voice.folder
    assert broken.name == "a copy"
    assert voice.folder.name in broken.reason


def test_of_two_copies_the_older_one_is_the_voice() -> None:
    voice = kept()
    copies = [voice.folder.with_name(name) for name in ("a", "b")]
    for written, copy in zip((20, 10), copies, strict=True):
        shutil.copytree(voice.folder, copy)
        os.utime(copy / "voice.json", (written, written))
    [owner], _ = one_for_each_id([LibraryVoice(voice.record, copy) for copy in copies])
    assert owner.folder.name == "b"


def test_a_stamp_changes_with_the_folder(voice: LibraryVoice) -> None:
    path = str(voice.folder)
    stamps = {stamp_of(path)}
    _edit(voice.folder, notes="changed")
    stamps.add(stamp_of(path))
    (voice.folder / "clips" / "1.flac").unlink()
    stamps.add(stamp_of(path))
    (voice.folder / "voice.json").unlink()
    stamps.add(stamp_of(path))
    assert len(stamps) == 4
    shutil.rmtree(voice.folder)
    assert stamp_of(path) is None
