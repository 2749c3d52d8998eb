"""Voices from elsewhere: told apart by what they are, whole or not at all, never twice."""

import io
import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest
import soundfile

import menura
from menura import voice_files
from menura.errors import (
    ConsentError,
    InvalidValueError,
    MenuraError,
    RecordingError,
    UnsupportedError,
)
from menura.voice_library.importing import add_portable, import_file
from menura.voice_library.library import LibraryVoice, NewVoice, VoiceLibrary
from menura.voice_library.portable import export, read_portable
from menura.voice_library.ready import voice_for
from tests.kept_voices import RATE_HZ, SAID, beeps, flac_of, write_recording
from tests.zipped_voices import Sentinel, clip, made_by_tone, recording, unzipped, voice, zipped

CONSENT = "I record my own voice."


@pytest.fixture
def library(tmp_path: Path) -> VoiceLibrary:
    return VoiceLibrary(tmp_path / "voices")


def exported(library: VoiceLibrary, name: str = "Anna") -> bytes:
    file = io.BytesIO()
    export(library, name, file)
    return file.getvalue()


def names_in(library: VoiceLibrary) -> list[str]:
    """All that stands in the library's folder, what is hidden too, but for the lock."""
    found = library.folder.iterdir() if library.folder.exists() else ()
    return sorted(path.name for path in found if path.name != ".lock")


def sounds_of(library: VoiceLibrary, of: LibraryVoice) -> list[bytes]:
    return [library.clip(of, number + 1) for number in range(len(of.record.clips))]


def test_a_voice_that_went_away_comes_back_as_it_was(library: VoiceLibrary) -> None:
    before = library.add(voice())
    sounds, data = sounds_of(library, before), exported(library)
    library.remove("Anna")
    [after] = import_file(library, data)
    assert replace(after.record, edited_on=before.record.edited_on) == before.record
    assert sounds_of(library, after) == sounds
    assert names_in(library) == [before.id]
    assert exported(library)[-22:] == data[-22:]


def test_its_prompts_are_used_again(
    library: VoiceLibrary, tone: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = library.add(replace(voice(), prompts=()))
    made = voice_for(library, kept, tone)
    data = exported(library)
    library.remove("Anna")
    [after] = import_file(library, data)
    monkeypatch.setattr(tone.engine, "encode_voice", None)
    again = library.cached_prompt(after, tone.spec)
    assert again is not None
    assert again.prompt.arrays.keys() == made.prompt.arrays.keys()
    assert tone.speak("Hello.", voice=again).samples.size


def test_a_voice_that_is_here_is_not_imported_again(library: VoiceLibrary) -> None:
    library.add(voice())
    data = exported(library)
    with pytest.raises(InvalidValueError, match="is here already") as caught:
        import_file(library, data)
    assert caught.value.param == "file"
    library.edit("Anna", label="Bert")
    with pytest.raises(InvalidValueError, match=r"'Bert'.*is here already"):
        import_file(library, data)


def test_an_id_that_another_voice_has_becomes_a_new_one(library: VoiceLibrary) -> None:
    kept = library.add(voice())
    data = exported(library)
    library.remove("Anna")
    library.add(voice("Bert", clip(0.7)), id=kept.id)
    [found] = import_file(library, data)
    assert found.id != kept.id
    assert {each.label for each in library.voices()} == {"Anna", "Bert"}


def test_an_id_that_a_broken_folder_has_becomes_a_new_one(library: VoiceLibrary) -> None:
    kept = library.add(voice())
    data = exported(library)
    (kept.folder / "voice.json").write_text("{")
    [found] = import_file(library, data)
    assert found.id != kept.id
    assert [broken.name for broken in library.broken()] == [kept.id]


def test_a_label_that_is_taken_gets_a_number(library: VoiceLibrary) -> None:
    library.add(voice())
    data = exported(library)
    library.remove("Anna")
    library.add(voice("ANNA"))
    library.add(voice("anna (2)"))
    [found] = import_file(library, data)
    assert found.label == "Anna (3)"


def test_a_long_label_has_room_for_the_number(library: VoiceLibrary) -> None:
    library.add(voice("x" * 80))
    found = read_portable(exported(library, "x" * 80))
    library.edit("x" * 80, transcript="Other words.")
    assert add_portable(library, found).label == "x" * 76 + " (2)"


def test_a_label_of_ones_own_is_taken_as_it_is_or_refused(library: VoiceLibrary) -> None:
    library.add(voice())
    data = exported(library)
    library.remove("Anna")
    library.add(voice("Bert"))
    with pytest.raises(InvalidValueError, match="Bert") as caught:
        import_file(library, data, label="Bert")
    assert caught.value.param == "label"
    assert import_file(library, data, label="Carl")[0].label == "Carl"


def test_a_label_that_was_taken_meanwhile_is_passed_over(
    library: VoiceLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(voice())
    data = exported(library)
    library.remove("Anna")
    add = library.add
    refusals = [InvalidValueError("taken", param="label")]

    def late(new: NewVoice, *, id: str | None = None) -> LibraryVoice:  # noqa: A002 - its name
        if refusals:
            raise refusals.pop()
        return add(new, id=id)

    monkeypatch.setattr(library, "add", late)
    assert import_file(library, data)[0].label == "Anna"


def test_two_that_import_the_same_at_once_make_one_voice(library: VoiceLibrary) -> None:
    library.add(voice())
    data = exported(library)
    library.remove("Anna")
    start = Barrier(4)

    def run(_: int) -> str:
        start.wait()
        try:
            return import_file(VoiceLibrary(library.folder), data)[0].label
        except InvalidValueError as error:
            return error.message

    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(run, range(4)))
    assert said.count("Anna") == 1
    assert sum("is here already" in each for each in said) == 3
    assert [each.label for each in library.voices()] == ["Anna"]


def test_a_folder_of_another_library_is_imported(library: VoiceLibrary, tmp_path: Path) -> None:
    elsewhere = VoiceLibrary(tmp_path / "elsewhere")
    kept = elsewhere.add(voice())
    [found] = import_file(library, kept.folder)
    assert (found.id, found.label) == (kept.id, "Anna")
    assert sounds_of(library, found) == sounds_of(elsewhere, kept)
    (kept.folder / "clips" / "2.flac").unlink()
    with pytest.raises(InvalidValueError, match=r"2\.flac is missing"):
        import_file(library, kept.folder)


def test_recordings_of_a_folder_become_a_voice_each(library: VoiceLibrary, tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    write_recording(folder / "anna_k.wav")
    (folder / "anna_k.txt").write_text(SAID)
    soundfile.write(folder / "bert.mp3", beeps(), RATE_HZ)
    anna, bert = import_file(library, folder, consent=CONSENT, anyway=True)
    assert (anna.label, bert.label) == ("anna k", "bert")
    assert anna.record.clips[0].transcript == SAID
    assert bert.record.clips[0].transcript is None
    assert anna.record.consent is not None
    assert anna.record.consent.text == CONSENT


def test_recordings_need_a_consent(library: VoiceLibrary, tmp_path: Path) -> None:
    path = write_recording(tmp_path / "anna.wav")
    with pytest.raises(ConsentError):
        import_file(library, path)
    [found] = import_file(library, path, consent_needed=False, label="Anna K")
    assert (found.label, found.record.consent) == ("Anna K", None)


def test_no_voice_is_made_where_one_recording_is_unfit(
    library: VoiceLibrary, tmp_path: Path
) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    write_recording(folder / "anna.wav")
    (folder / "bert.wav").write_bytes(b"RIFF")
    (folder / "carl.flac").write_bytes(flac_of(0 * beeps(2.0)))
    with pytest.raises(InvalidValueError, match=r"2 of 3 recordings.*bert\.wav:.*carl\.flac:"):
        import_file(library, folder, consent=CONSENT)
    assert names_in(library) == []
    with pytest.raises(RecordingError):
        import_file(library, folder / "carl.flac", consent=CONSENT)


def test_an_mp3_with_a_long_tag_is_a_recording(library: VoiceLibrary, tmp_path: Path) -> None:
    path = tmp_path / "anna.mp3"
    soundfile.write(path, beeps(), RATE_HZ)
    size = bytes((0, 0, 64, 0))  # 8,192 bytes
    path.write_bytes(b"ID3\x04\0\0" + size + bytes(8_192) + path.read_bytes())
    assert import_file(library, path, consent=CONSENT)[0].label == "anna"


def test_a_saved_voice_is_imported_by_path_and_by_bytes(
    library: VoiceLibrary, tmp_path: Path
) -> None:
    path = tmp_path / "anna.safetensors"
    voice_files.save(made_by_tone(), path)
    [first] = import_file(library, path)
    [second] = import_file(library, path.read_bytes())
    assert (first.label, second.label) == ("Anna", "Anna (2)")
    assert [each.record.clips for each in (first, second)] == [(), ()]


def test_prompts_of_a_models_own_tools_need_the_model(
    library: VoiceLibrary, tmp_path: Path
) -> None:
    model = tmp_path / "tone-model"
    model.mkdir()
    (model / "tone.json").write_text("{}")
    path = tmp_path / "anna.PT"
    path.write_bytes(b"tone voices")
    with pytest.raises(InvalidValueError, match="--model") as caught:
        import_file(library, path)
    assert caught.value.param == "model"
    with pytest.raises(UnsupportedError):
        import_file(library, path, model="builtin")
    [found] = import_file(library, path, model=str(model), consent=CONSENT)
    assert found.label == "anna"
    assert library.cached_prompt(found, menura.describe(model)) is not None


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("notes.txt", b"hello", "nothing that becomes a voice"),
        ("notes.json", json.dumps({}).encode(), "nothing that becomes a voice"),
        ("empty", b"", "nothing that becomes a voice"),
        ("x.voice.zip", b"PK\x05\x06" + bytes(18), "nothing that becomes a voice"),
        ("x.voice.zip", b"PK\x03\x04" + bytes(30), "not taken as a portable voice"),
        ("x.wav", zipped({"data.pkl": b"x"}), "not taken as a portable voice"),
        ("x.safetensors", pickle.dumps({"a": 1}), "pickle or an archive"),
    ],
)
def test_what_is_no_voice_is_told_so(
    name: str, data: bytes, said: str, library: VoiceLibrary, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InvalidValueError, match=said):
        import_file(library, tmp_path / name)
    assert names_in(library) == []


def test_bytes_of_a_recording_are_no_saved_voice(library: VoiceLibrary) -> None:
    with pytest.raises(InvalidValueError, match="add it as a new voice"):
        import_file(library, recording())


@pytest.mark.parametrize("name", ["none.wav", "none", "x" * 300, "anna.wav/x"])
def test_a_path_that_is_not_there_is_said(name: str, library: VoiceLibrary, tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="cannot be read"):
        import_file(library, tmp_path / name)


def test_a_name_with_a_nul_is_told_so(library: VoiceLibrary) -> None:
    with pytest.raises(InvalidValueError, match="NUL"):
        import_file(library, Path("x\0y"))


@pytest.mark.parametrize("ending", ["pt", "wav", "safetensors", "voice.zip", "flac", "txt"])
def test_a_pickle_under_any_name_runs_nothing(
    ending: str, library: VoiceLibrary, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    path = tmp_path / f"x.{ending}"
    data = pickle.dumps(Sentinel(ran))
    path.write_bytes(data)
    for source in (path, data):
        with pytest.raises(MenuraError):
            import_file(library, source, model="builtin", consent=CONSENT)
    assert not ran.exists()
    assert names_in(library) == []


def test_nothing_is_left_of_an_import_that_failed_on_the_way(
    library: VoiceLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(voice())
    data = exported(library)
    library.remove("Anna")
    before = sorted(tmp_path.rglob("*"))
    calls: list[int] = []
    fsync = os.fsync

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(MenuraError, match="full"):
        import_file(library, data)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_refused_file_changes_nothing(library: VoiceLibrary) -> None:
    library.add(voice())
    contents = unzipped(exported(library))
    library.remove("Anna")
    for name in contents:
        with pytest.raises(InvalidValueError):
            import_file(library, zipped({**contents, name: contents[name][:60]}))
    assert names_in(library) == []


def test_one_label_is_not_enough_for_several(library: VoiceLibrary, tmp_path: Path) -> None:
    for name in ("a.wav", "b.wav"):
        write_recording(tmp_path / name)
    with pytest.raises(InvalidValueError, match="one label is not enough"):
        import_file(library, tmp_path, label="Anna", consent=CONSENT)
    assert names_in(library) == []
