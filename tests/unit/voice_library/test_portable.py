"""A voice as one file: the same bytes for the same voice, and nothing unsound comes in."""

import hashlib
import io
import json
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile

from menura import voice_files
from menura.errors import (
    DiskFullError,
    InvalidValueError,
    OutputError,
    RecordingError,
    VoiceNotFoundError,
)
from menura.speech import FloatArray
from menura.voice_library import portable
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.new_voice import NewClip, NewPrompt
from menura.voice_library.portable import export, read_portable
from menura.voice_library.record import SourceKind, VoiceSource
from tests.zipped_voices import (
    RATE_HZ,
    SAID,
    Sentinel,
    clip,
    made_by_tone,
    recording,
    unzipped,
    voice,
    zipped,
)

Change = Callable[[dict[str, bytes]], object]


@pytest.fixture
def library(tmp_path: Path) -> VoiceLibrary:
    return VoiceLibrary(tmp_path / "voices")


def exported(library: VoiceLibrary, *, with_prompts: bool = True) -> bytes:
    file = io.BytesIO()
    export(library, "Anna", file, with_prompts=with_prompts)
    return file.getvalue()


def test_the_file_holds_the_folder(library: VoiceLibrary) -> None:
    kept = library.add(voice())
    contents = unzipped(exported(library))
    prompt, *_ = (name for name in contents if name.startswith("prompts/"))
    assert set(contents) == {
        "voice.json", "clips/1.flac", "clips/2.flac", "preview.flac", "consent.flac", prompt,
    }  # fmt: skip
    for name, data in contents.items():
        assert (kept.folder / name).read_bytes() == data


def test_the_same_voice_gives_the_same_bytes(library: VoiceLibrary, tmp_path: Path) -> None:
    kept = library.add(voice())
    first = exported(library)
    elsewhere = VoiceLibrary(tmp_path / "elsewhere")
    found = read_portable(first)
    elsewhere.folder.mkdir()
    kept.folder.rename(elsewhere.folder / "any name")
    assert exported(elsewhere) == first
    assert found.record == kept.record


def test_without_prompts_there_are_none(library: VoiceLibrary) -> None:
    library.add(voice())
    assert not read_portable(exported(library, with_prompts=False)).new.prompts


def test_a_voice_that_is_only_prompts_keeps_them(library: VoiceLibrary) -> None:
    library.add(replace(voice(), clips=(), source=VoiceSource(SourceKind.IMPORT)))
    [prompt] = read_portable(exported(library, with_prompts=False)).new.prompts
    assert prompt.voice.prompt.fingerprint == "1"


def test_all_that_is_known_of_a_voice_is_read_again(library: VoiceLibrary) -> None:
    given = voice()
    kept = library.add(given)
    found = read_portable(exported(library))
    assert found.record == kept.record
    assert [clip.flac for clip in found.new.clips] == [clip.flac for clip in given.clips]
    assert (found.new.preview, found.new.consent_recording) == (
        given.preview, given.consent_recording,
    )  # fmt: skip
    [prompt] = found.new.prompts
    assert prompt.mode == "auto"
    assert np.array_equal(prompt.voice.prompt.arrays["embedding"], np.array([0.25], np.float32))
    assert (found.new.notes, found.new.made_on) == (given.notes, given.made_on)


def test_a_path_holds_the_whole_file_or_what_it_held(
    library: VoiceLibrary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(voice())
    path = tmp_path / "Anna.voice.zip"
    assert export(library, "Anna", path).label == "Anna"
    assert path.read_bytes() == exported(library)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(DiskFullError, match="as it was"):
        export(library, "Anna", path, with_prompts=False)
    assert read_portable(path).new.prompts
    assert [file.name for file in tmp_path.iterdir() if file.is_file()] == [path.name]


def test_a_folder_that_is_not_there_is_said(library: VoiceLibrary, tmp_path: Path) -> None:
    library.add(voice())
    with pytest.raises(OutputError, match="No such file"):
        export(library, "Anna", tmp_path / "none" / "Anna.voice.zip")
    with pytest.raises(VoiceNotFoundError):
        export(library, "Bert", io.BytesIO())


def test_a_damaged_voice_is_not_handed_on(library: VoiceLibrary, tmp_path: Path) -> None:
    kept = library.add(voice())
    (kept.folder / "clips" / "1.flac").write_bytes(recording(0.4))
    with pytest.raises(InvalidValueError, match="damaged"):
        export(library, "Anna", tmp_path / "Anna.voice.zip")
    assert not (tmp_path / "Anna.voice.zip").exists()


def test_what_could_not_be_imported_is_not_exported(library: VoiceLibrary) -> None:
    stereo = NewClip(recording(channels=2), SAID, 1.0, RATE_HZ)
    library.add(voice("Anna", stereo))
    with pytest.raises(InvalidValueError, match="could not be imported again"):
        exported(library)


def test_a_consent_that_became_a_link_is_not_handed_on(
    library: VoiceLibrary, tmp_path: Path
) -> None:
    kept = library.add(voice())
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    before = library.find("Anna")
    (kept.folder / "consent.flac").unlink()
    (kept.folder / "consent.flac").symlink_to(secret)
    with pytest.raises(InvalidValueError, match="is a link"):
        portable.of_folder(before)


def changed(library: VoiceLibrary, change: Change) -> bytes:
    """The portable file of a voice, in which something was changed."""
    library.add(voice())
    contents = unzipped(exported(library))
    change(contents)
    return zipped(contents)


def prompt_name(contents: dict[str, bytes]) -> str:
    return next(name for name in contents if name.startswith("prompts/"))


def rewritten(path: tuple[str | int, ...], value: object) -> Change:
    """A change of one value in the record."""

    def change(contents: dict[str, bytes]) -> None:
        record = json.loads(contents["voice.json"])
        inner = record
        for part in path[:-1]:
            inner = inner[part]
        inner[path[-1]] = value
        contents["voice.json"] = json.dumps(record).encode()

    return change


def with_clip(flac: bytes) -> Change:
    """Another first clip, with its own checksum."""

    def change(contents: dict[str, bytes]) -> None:
        contents["clips/1.flac"] = flac
        digest = hashlib.sha256(flac).hexdigest()
        rewritten(("clips", 0, "sha256"), digest)(contents)
        del contents[prompt_name(contents)]

    return change


def with_prompt(data: bytes) -> Change:
    return lambda contents: contents.update({prompt_name(contents): data})


def renamed_prompt(new: str) -> Change:
    return lambda contents: contents.update({new: contents.pop(prompt_name(contents))})


def arrays(**given: object) -> bytes:
    made = made_by_tone()
    prompt = replace(made.prompt, arrays={key: np.asarray(v) for key, v in given.items()})
    return voice_files.to_bytes(replace(made, prompt=prompt))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda c: c.pop("voice.json"), "has no voice.json"),
        (lambda c: c.update({"voice.json": b"\xff"}), "not UTF-8"),
        (lambda c: c.update({"voice.json": b"["}), "not valid JSON"),
        (lambda c: c.update({"voice.json": b"[" * 60_000}), "not valid JSON"),
        (rewritten(("schema",), 2), "newer Menura"),
        (rewritten(("colour",), "red"), "'colour' is not a key"),
        (rewritten(("id",), "../../x"), "'id' is"),
        (rewritten(("clips", 0, "file"), "../1.flac"), "file' is"),
        (rewritten(("clips", 0, "file"), "/etc/passwd"), "file' is"),
        (rewritten(("clips", 0, "seconds"), 3.0), "not as long as voice.json says"),
        (rewritten(("clips", 0, "seconds"), 0.5), "longer than it says"),
        (rewritten(("clips", 0, "seconds"), 3_600.0), "not as long|longer than a voice's"),
        (rewritten(("clips", 0, "sample_rate_hz"), 16_000), "has another rate"),
        (rewritten(("clips", 0, "sha256"), "0" * 64), "not the recording"),
        (lambda c: c.pop("clips/2.flac"), "clips/2.flac is missing"),
        (lambda c: c.pop("preview.flac"), "preview.flac is missing"),
        (lambda c: c.pop("consent.flac"), "consent.flac is missing"),
        (lambda c: c.update({"clips/3.flac": recording(0.1)}), "'clips/3.flac' in it is no file"),
        (lambda c: c.update({"clips": b""}), "'clips' in it is no file"),
        (rewritten(("preview",), None), "'preview.flac' in it is no file"),
        (rewritten(("consent", "recording"), None), "'consent.flac' in it is no file"),
        (lambda c: c.update({"preview.flac": b"fLaC" + bytes(40)}), "preview.flac in it is dam"),
        (lambda c: c.update({"consent.flac": recording(form="WAV")}), "consent.flac in it is wav"),
        (with_clip(recording(form="WAV")), "clips/1.flac in it is wav"),
        (with_clip(b"fLaC" + bytes(400)), "clips/1.flac in it is damaged"),
        (with_clip(recording()[:200]), "clips/1.flac"),
        (with_clip(recording(channels=2)), "not mono"),
        (with_clip(pickle.dumps([1])), "clips/1.flac in it is damaged"),
        (with_prompt(b""), "not sound"),
        (with_prompt(pickle.dumps({"a": 1})), "not sound"),
        (with_prompt((2**40).to_bytes(8, "little") + b"{}"), "its header claims"),
        (with_prompt(arrays(embedding=np.zeros((1, 1, 1, 1, 1), np.float32))), "has the shape"),
        (with_prompt(arrays(embedding=np.zeros(0, np.float32))), "has the shape"),
        (with_prompt(arrays(**{f"a{n}": np.zeros(1, np.float32) for n in range(17)})), "17 arrays"),
        (with_prompt(arrays()), "0 arrays"),
        (with_prompt(arrays(embedding=np.array([np.nan], np.float32))), "NaN or infinity"),
        (with_prompt(voice_files.to_bytes(made_by_tone("2"))), "named wrongly"),
        (with_prompt(voice_files.to_bytes(made_by_tone(""))), "named wrongly"),
        (renamed_prompt("prompts/x.safetensors"), "named wrongly"),
        (renamed_prompt("prompts/tone.1.auto.0123456789abcdef.safetensors"), "another recording"),
        (rewritten(("clips", 0, "transcript"), "Other words."), "another recording"),
    ],
)
def test_what_is_not_sound_is_refused(change: Change, said: str, library: VoiceLibrary) -> None:
    data = changed(library, change)
    with pytest.raises(InvalidValueError, match=said) as caught:
        read_portable(data)
    assert caught.value.param == "file"
    assert "Nothing was written" in caught.value.message


def test_no_pickle_in_a_file_is_ever_opened(library: VoiceLibrary, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    data = pickle.dumps(Sentinel(ran))
    library.add(voice())
    sound = unzipped(exported(library))
    for name in sound:
        with pytest.raises(InvalidValueError):
            read_portable(zipped({**sound, name: data}))
    with pytest.raises(InvalidValueError):
        read_portable(data)
    assert not ran.exists()


def test_a_recording_that_would_unfold_is_not_decoded_past_what_the_record_says(
    library: VoiceLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(portable, "MAX_CLIP_SAMPLES", 2 * RATE_HZ - 1)
    library.add(voice("Anna", clip(1.6)))
    found = unzipped(exported(library))
    with_clip(recording())(found)
    with pytest.raises(InvalidValueError, match="longer than it says"):
        read_portable(zipped(found))
    rewritten(("clips", 0, "seconds"), 2.0)(found)
    with pytest.raises(InvalidValueError, match="longer than a voice's recording"):
        read_portable(zipped(found))


def with_long_clip(flac: bytes, seconds: float) -> Change:
    def change(contents: dict[str, bytes]) -> None:
        with_clip(flac)(contents)
        rewritten(("clips", 0, "seconds"), seconds)(contents)

    return change


def flac(samples: FloatArray) -> bytes:
    file = io.BytesIO()
    soundfile.write(file, samples, RATE_HZ, format="FLAC")
    return file.getvalue()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (with_long_clip(flac(np.zeros(2 * RATE_HZ, np.float32)), 2.0), "is silent"),
        (with_long_clip(recording(0.25), 0.25), "at least 1 s"),
        (with_long_clip(recording(310.0), 310.0), "at most 300 s"),
    ],
)
def test_a_recording_that_would_not_become_a_voice_does_not_come_in_as_one(
    change: Change, said: str, library: VoiceLibrary
) -> None:
    data = changed(library, change)
    with pytest.raises(RecordingError, match=said) as caught:
        read_portable(data)
    assert caught.value.param == "file"
    assert "clips/1.flac" in caught.value.message


def test_a_file_packed_again_by_another_program_is_taken(library: VoiceLibrary) -> None:
    kept = library.add(voice())
    data = zipped(unzipped(exported(library)), zipfile.ZIP_DEFLATED)
    assert read_portable(data).record == kept.record


def test_prompts_that_do_not_fit_are_left_out(
    library: VoiceLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = (NewPrompt("auto", made_by_tone("1")), NewPrompt("auto", made_by_tone("2")))
    library.add(replace(voice(), prompts=made))
    n_without = sum(map(len, unzipped(exported(library, with_prompts=False)).values()))
    monkeypatch.setattr(portable, "MAX_UNPACKED_BYTES", n_without + 600)
    [kept] = read_portable(exported(library)).new.prompts
    assert kept.voice.prompt.fingerprint == "1"
    monkeypatch.setattr(portable, "MAX_UNPACKED_BYTES", n_without - 1)
    with pytest.raises(InvalidValueError, match="the voice has over"):
        exported(library)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="No such file"):
        read_portable(tmp_path / "none.voice.zip")
