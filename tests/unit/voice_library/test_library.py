"""What is put in comes out, whoever changes the library at once and whatever fails (A44, F9)."""

import errno
import math
import os
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from menura.errors import (
    ConsentError,
    DiskFullError,
    InvalidValueError,
    OutputError,
    VoiceNotFoundError,
)
from menura.voice_library import library as library_module
from menura.voice_library import prompts
from menura.voice_library.library import LibraryVoice, NewPrompt, VoiceLibrary
from menura.voice_library.record import Consent, SourceKind, VoiceDefaults, VoiceSource
from tests.kept_voices import RATE_HZ, SAID, beeps, flac_of, new_voice
from tests.zipped_voices import made_by_tone

ID = "voice_" + "0" * 32
OTHER = Consent("By mail.", "2026-11-29")
# A1: what could be a path, and what no label or id is.
TRAVERSALS = (
    "../../etc/passwd", "..\\..\\x", "%2e%2e/", "C:\\x", "/abs", "~", "a\0b", "x" * 10_000, "CON",
    "Anna.", "\u202eAnna", "lib:", "lib:lib:Anna", "", " ", "voice_", ".lock", ".", "..", "clips",
)  # fmt: skip


@pytest.fixture
def library(tmp_path: Path) -> VoiceLibrary:
    return VoiceLibrary(tmp_path / "voices")


@pytest.fixture
def anna(library: VoiceLibrary) -> LibraryVoice:
    return library.add(new_voice("Anna"))


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


# What is there.


def test_the_library_stands_among_the_users_data(tmp_path: Path) -> None:
    assert VoiceLibrary().folder == tmp_path / "menura-home" / "data" / "voices"
    assert VoiceLibrary().voices() == ()
    assert not VoiceLibrary().folder.exists()


def test_a_voice_that_was_added_is_found_by_id_and_label(
    library: VoiceLibrary, anna: LibraryVoice
) -> None:
    assert anna.folder == library.folder / anna.id
    for name in (anna.id, "Anna", "ANNA", "ａｎｎａ", f"lib:{anna.id}", "lib:anna", "LIB:Anna"):
        assert library.find(name) == anna
        assert library.has(name)
    assert VoiceLibrary(library.folder).voices() == (anna,)


@pytest.mark.parametrize("name", TRAVERSALS)
def test_a_name_that_is_nobodys_is_the_same_miss_whatever_it_looks_like(
    name: str, library: VoiceLibrary, anna: LibraryVoice
) -> None:
    before = files_in(library.folder.parent)
    with pytest.raises(VoiceNotFoundError, match="there is no voice") as no:
        library.find(name)
    assert (no.value.http_status, no.value.code, no.value.exit_code) == (404, "voice_not_found", 3)
    assert no.value.param == "voice"
    assert len(no.value.message) < 300
    assert not library.has(name)
    assert files_in(library.folder.parent) == before
    assert anna.label == "Anna"


def test_a_miss_names_what_is_close(library: VoiceLibrary, anna: LibraryVoice) -> None:
    with pytest.raises(VoiceNotFoundError, match=f"it has: {anna.label}. Did you mean 'Anna'"):
        library.find("lib:Ana")
    library.remove("Anna")
    with pytest.raises(VoiceNotFoundError, match="it is empty"):
        library.find("Anna")


def test_of_two_with_one_label_the_id_must_be_given(
    library: VoiceLibrary, anna: LibraryVoice, tmp_path: Path
) -> None:
    other = VoiceLibrary(tmp_path / "other").add(new_voice("anna"))
    shutil.copytree(other.folder, library.folder / "copied in")
    assert len(library.voices()) == 2
    with pytest.raises(InvalidValueError, match="2 voices have the label") as no:
        library.find("Anna")
    assert anna.id in no.value.message
    assert f"{other.id} (folder 'copied in')" in no.value.message
    assert library.has("Anna")
    assert library.find(other.id).folder.name == "copied in"
    library.edit(other.id, label="Lena")  # a folder of any name can be edited
    assert library.find("Anna") == anna


# What is in a voice.


def test_the_first_clip_is_what_engines_speak_like(
    library: VoiceLibrary, anna: LibraryVoice
) -> None:
    reference = library.reference(anna)
    assert (reference.sample_rate_hz, reference.transcript) == (RATE_HZ, SAID)
    assert np.abs(reference.samples - beeps(3.0)).max() < 1e-4
    assert library.clip(anna, 1).startswith(b"fLaC")
    assert library.preview(anna) is None
    for number in (0, 2):
        with pytest.raises(VoiceNotFoundError, match=f"has no clip {number}"):
            library.clip(anna, number)


def test_a_clip_that_is_another_file_is_found_out(
    library: VoiceLibrary, anna: LibraryVoice
) -> None:
    clip = anna.folder / "clips" / "1.flac"
    clip.write_bytes(clip.read_bytes()[:-1])
    with pytest.raises(InvalidValueError, match="the voice 'Anna' is damaged"):
        library.reference(library.find("Anna"))


def test_a_voice_that_went_away_meanwhile_is_said(
    library: VoiceLibrary, anna: LibraryVoice
) -> None:
    library.remove("Anna")
    with pytest.raises(VoiceNotFoundError, match="not in the library any more"):
        library.reference(anna)


# What changes it.


def test_a_label_is_there_once(library: VoiceLibrary, anna: LibraryVoice) -> None:
    before = files_in(library.folder)
    for label in ("Anna", "ANNA ", "ａｎｎａ"):
        with pytest.raises(InvalidValueError, match="a voice 'Anna' already") as no:
            library.add(new_voice(label))
        assert no.value.param == "label"
    assert files_in(library.folder) == before
    ben = library.add(new_voice("Ben"))
    with pytest.raises(InvalidValueError, match="a voice 'Anna' already"):
        library.edit("Ben", label="anna")
    assert library.edit("Ben", label="BEN").label == "BEN"
    assert library.voices() == (anna, library.find(ben.id))


def test_an_id_is_there_once(library: VoiceLibrary) -> None:
    assert library.add(new_voice("Anna"), id=ID).id == ID
    with pytest.raises(InvalidValueError, match="is here already"):
        library.add(new_voice("Ben"), id=ID)


def test_an_edit_changes_what_it_names(library: VoiceLibrary, anna: LibraryVoice) -> None:
    defaults = VoiceDefaults(speed=1.2, options={"top_k": 3})
    edited = library.edit(
        "Anna", label="Lena", language="german", notes="new", consent=OTHER, defaults=defaults
    )
    assert library.find("Lena") == edited
    assert edited.record == replace(
        anna.record,
        label="Lena",
        language="german",
        notes="new",
        consent=OTHER,
        defaults=defaults,
        edited_on=edited.record.edited_on,
    )
    again = library.edit("Lena", consent=Consent("yes", "2026-11-30"), language=None)
    assert again.record.consent == Consent("yes", "2026-11-30")
    assert again.record.language is None
    with pytest.raises(InvalidValueError, match="'notes'"):
        library.edit("Lena", notes="x" * 5_000)
    assert library.find("Lena") == again


@pytest.mark.parametrize("kind", [SourceKind.RECORDING, SourceKind.IMPORT])
@pytest.mark.parametrize("text", [None, "", " ", "\u200b\u2060"])
def test_the_consent_of_a_person_can_be_changed_but_not_taken_away(
    library: VoiceLibrary, kind: SourceKind, text: str | None
) -> None:
    voice = library.add(new_voice(source=VoiceSource(kind)))
    consent = None if text is None else Consent(text, "2026-11-30")
    with pytest.raises(ConsentError, match="needs consent"):
        library.edit("Anna", consent=consent)
    assert library.find("Anna") == voice
    drawn = library.add(new_voice("Ben", source=VoiceSource(SourceKind.DESIGN, "m", "old")))
    assert library.edit(drawn.id, consent=None).record.consent is None


@pytest.mark.parametrize(
    ("changes", "param"),
    [
        ({"language": "klingon"}, "language"),
        ({"defaults": VoiceDefaults(language="klingon")}, "language"),
        ({"defaults": VoiceDefaults(speed=math.nan)}, "speed"),
        ({"defaults": VoiceDefaults(speed=True)}, "speed"),
        ({"defaults": VoiceDefaults(speed=100.0)}, "speed"),
        ({"defaults": VoiceDefaults(options={"heat": math.inf})}, "heat"),
        ({"defaults": VoiceDefaults(options={"heat": {}})}, "heat"),
    ],
)
def test_what_a_voice_cannot_have_is_told_by_its_name(
    library: VoiceLibrary, anna: LibraryVoice, changes: dict[str, Any], param: str
) -> None:
    with pytest.raises(InvalidValueError, match=r"not allowed|not known") as edited:
        library.edit("Anna", **changes)
    with pytest.raises(InvalidValueError) as added:
        library.add(new_voice("Ben", **changes))
    assert (edited.value.param, added.value.param) == (param, param)
    assert library.voices() == (anna,)


def test_a_copy_of_a_folder_goes_with_the_voice(library: VoiceLibrary, anna: LibraryVoice) -> None:
    shutil.copytree(anna.folder, library.folder / "aaa")
    shutil.copytree(anna.folder, library.folder / "zzz")
    other = library.add(new_voice("Ben"))
    assert [found.copy_of for found in library.broken()] == [anna.id, anna.id]
    library.remove(anna.id)
    assert library.voices() == (other,)
    assert not library.has(anna.id)
    assert not (library.folder / "aaa").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps a user's files from others by itself")
def test_voices_are_for_their_user_alone(library: VoiceLibrary) -> None:
    library.folder.mkdir(parents=True)
    library.folder.chmod(0o755)
    mask = os.umask(0)
    try:
        anna = library.add(new_voice("Anna", preview=flac_of(beeps(1.0))))
        library.keep_prompt(anna, made_by_tone())
        assert modes(library.folder) == {0o700, 0o600}
        for path in (*library.folder.rglob("*"), library.folder):  # as older versions left it
            path.chmod(0o755 if path.is_dir() else 0o644)
        library.edit("Anna", notes="x")
        assert modes(library.folder) == {0o700, 0o600}
        library.set_preview("Anna", flac_of(beeps(1.0)))
        library.keep_prompt(anna, made_by_tone("2"))
        assert modes(library.folder) == {0o700, 0o600}
    finally:
        os.umask(mask)


def modes(folder: Path) -> set[int]:
    """The rights of everything in a folder."""
    return {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}


def test_a_new_transcript_drops_what_was_made_with_the_old_one(
    library: VoiceLibrary, anna: LibraryVoice
) -> None:
    library.keep_prompt(anna, made_by_tone())
    assert list((anna.folder / "prompts").iterdir())
    kept = library.edit("Anna", notes="nothing that an engine hears", transcript=SAID)
    assert list((kept.folder / "prompts").iterdir())
    edited = library.edit("Anna", transcript="Something else.")
    assert edited.record.clips[0].transcript == "Something else."
    assert not (anna.folder / "prompts").exists()
    assert list(library.folder.glob(".removing-*")) == []


def test_a_voice_without_a_recording_has_no_transcript(library: VoiceLibrary) -> None:
    source = VoiceSource(SourceKind.IMPORT)
    prompt = NewPrompt("auto", made_by_tone())
    voice = library.add(new_voice("Anna", clips=(), source=source, prompts=(prompt,)))
    assert [mode for mode, _ in prompts.all_of(voice)] == ["auto"]
    with pytest.raises(InvalidValueError, match="no recording") as no:
        library.edit("Anna", transcript="x")
    assert no.value.param == "transcript"
    with pytest.raises(VoiceNotFoundError, match="has no clip 1"):
        library.reference(voice)


def test_a_preview_is_kept_and_replaced(library: VoiceLibrary, anna: LibraryVoice) -> None:
    assert library.preview(library.set_preview("Anna", b"fLaC 1")) == b"fLaC 1"
    library.set_preview("Anna", b"fLaC 2")
    assert library.preview(library.find(anna.id)) == b"fLaC 2"


def test_a_voice_that_is_removed_leaves_nothing(library: VoiceLibrary, anna: LibraryVoice) -> None:
    library.set_preview("Anna", b"fLaC")
    library.keep_prompt(anna, made_by_tone())
    assert library.remove("anna").id == anna.id
    assert files_in(library.folder) == {}
    assert library.voices() == ()  # the last one too
    library.remove(library.add(new_voice("Anna")).id)
    for verb in (library.remove, library.edit):
        with pytest.raises(VoiceNotFoundError):
            verb("Anna")


def test_a_prompt_of_a_voice_that_went_away_is_not_kept(
    library: VoiceLibrary, anna: LibraryVoice, caplog: pytest.LogCaptureFixture
) -> None:
    library.remove("Anna")
    library.keep_prompt(anna, made_by_tone())
    assert "is not kept" in caplog.text
    assert files_in(library.folder) == {}


# When it fails.


@contextmanager
def failing_disk(monkeypatch: pytest.MonkeyPatch, number: int, at: int) -> Iterator[None]:
    """The disk takes `at` files, then refuses the next one."""
    n_left = [at]

    def fsync(_: int) -> None:
        n_left[0] -= 1
        if n_left[0] < 0:
            raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        yield


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, DiskFullError), (errno.EROFS, OutputError)]
)
def test_a_disk_that_refuses_leaves_all_as_it_was(
    at: int,
    number: int,
    kind: type[Exception],
    library: VoiceLibrary,
    anna: LibraryVoice,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = files_in(library.folder)
    with failing_disk(monkeypatch, number, at), pytest.raises(kind):
        library.add(new_voice("Ben", preview=b"fLaC"))
    assert files_in(library.folder) == before
    assert library.voices() == (anna,)
    library.add(new_voice("Ben"))  # there is room again


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_an_edit_that_fails_changes_nothing(
    number: int, library: VoiceLibrary, anna: LibraryVoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files_in(library.folder)
    with failing_disk(monkeypatch, number, 0), pytest.raises((DiskFullError, OutputError)):
        library.edit("Anna", label="Ben")
    assert files_in(library.folder) == before
    assert library.voices() == (anna,)


def test_a_removal_that_is_cut_off_is_finished_by_the_next_writer(
    library: VoiceLibrary, anna: LibraryVoice, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        library.remove("Anna")
    assert library.voices() == ()
    assert len(list(library.folder.glob(".removing-*/voice.json"))) == 1
    library.add(new_voice("Anna"))
    assert list(library.folder.glob(".removing-*")) == []


def test_two_threads_that_want_one_label_get_one_voice(library: VoiceLibrary) -> None:
    start, won, lost = threading.Barrier(4), [], []

    def add() -> None:
        start.wait()
        try:
            won.append(library.add(new_voice("Anna")))
        except InvalidValueError as error:
            lost.append(error)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(lost)) == (1, 3)
    assert library.voices() == tuple(won)


def test_an_edit_starts_from_what_the_disk_holds_now(
    library: VoiceLibrary, anna: LibraryVoice
) -> None:
    other = VoiceLibrary(library.folder)
    assert library.voices() == other.voices() == (anna,)
    for number in range(10):
        other.edit("Anna", notes=f"{number}")
        language = ("english", "german")[number % 2]
        library.edit("Anna", language=language)
        record = other.find("Anna").record
        assert (record.notes, record.language) == (f"{number}", language)


def test_the_file_is_what_it_says() -> None:
    assert library_module.MAX_CLIP_BYTES >= 25 * 2**20  # an upload is 25 MB at most
