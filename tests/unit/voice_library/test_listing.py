"""A listing is what the disk holds now, though little of it is read again."""

import shutil
from pathlib import Path

import pytest

from menura.errors import MenuraError
from menura.voice_library import folders
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.listing import Found, Listing
from tests.kept_voices import kept, new_voice


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that were read, in order."""
    names: list[str] = []
    whole = folders.read_entry

    def counting(path: Path) -> object:
        names.append(path.name)
        return whole(path)

    monkeypatch.setattr(folders, "read_entry", counting)
    return names


def test_no_folder_means_no_voices(tmp_path: Path) -> None:
    assert Listing(tmp_path / "voices").now() == Found((), ())


def test_a_folder_that_is_none_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "voices").write_text("x")
    with pytest.raises(MenuraError, match="cannot be read"):
        Listing(tmp_path / "voices").now()


def test_only_what_changed_is_read_again(read: list[str]) -> None:
    ben, anna = kept("Ben"), kept("anna")
    listing = Listing(VoiceLibrary().folder)
    assert [voice.label for voice in listing.now().voices] == ["anna", "Ben"]
    del read[:]
    assert listing.now() is listing.now()
    assert read == []
    VoiceLibrary().edit("Ben", notes="new")
    del read[:]
    assert [voice.record.notes for voice in listing.now().voices] == ["", "new"]
    assert read == [ben.id]
    VoiceLibrary().remove("anna")
    del read[:]
    assert [voice.id for voice in listing.now().voices] == [ben.id]
    assert read == []
    listing.forget()
    assert [voice.id for voice in listing.now().voices] == [ben.id]
    assert read == [ben.id]
    assert anna.id != ben.id


def test_a_folder_that_is_copied_in_is_a_voice(tmp_path: Path) -> None:
    there, here = VoiceLibrary(tmp_path / "there"), VoiceLibrary(tmp_path / "here")
    voice = there.add(new_voice("Anna"))
    assert here.voices() == ()
    shutil.copytree(voice.folder, here.folder / "Annas Stimme (von Ben)")
    [found] = here.voices()
    assert (found.record, found.folder.name) == (voice.record, "Annas Stimme (von Ben)")


def test_hidden_files_are_nobodys(tmp_path: Path) -> None:
    library = VoiceLibrary(tmp_path)
    (tmp_path / ".DS_Store").write_bytes(b"x")
    (tmp_path / ".making-0").mkdir()
    assert (library.voices(), library.broken()) == ((), ())


def test_the_broken_ones_do_not_hinder_the_others(tmp_path: Path) -> None:
    library = VoiceLibrary(tmp_path)
    voice = library.add(new_voice("Anna"))
    (tmp_path / "anna.wav").write_bytes(b"RIFF")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "voice.json").write_text('{"schema": 1')
    (tmp_path / "link").symlink_to(tmp_path / "half")
    assert library.voices() == (voice,)
    assert [entry.name for entry in library.broken()] == ["anna.wav", "half", "link"]
