"""Recordings of a plain folder are found with the texts beside them."""

from pathlib import Path

import pytest

from menura.errors import InvalidValueError
from menura.voice_library import recordings
from menura.voice_library.recordings import recording_at, recordings_in


def folder(tmp_path: Path, **files: bytes) -> Path:
    for name, data in files.items():
        (tmp_path / name.replace("__", ".")).write_bytes(data)
    return tmp_path


def test_each_recording_comes_with_its_text(tmp_path: Path) -> None:
    path = folder(
        tmp_path, bert__MP3=b"2", anna__wav=b"1", anna__txt=b"\xef\xbb\xbfWhat I\r\nsay.\n",
        carl__flac=b"3", carl__txt=b" \n", notes__md=b"x", other__txt=b"x",
    )  # fmt: skip
    (path / "folder.wav").mkdir()
    (path / "._anna.wav").write_bytes(b"x")
    found = [(each.path.name, each.transcript) for each in recordings_in(path)]
    assert found == [("anna.wav", "What I say."), ("bert.MP3", None), ("carl.flac", None)]


def test_links_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.wav"
    secret.write_bytes(b"secret")
    path = tmp_path / "folder"
    path.mkdir()
    (path / "anna.wav").symlink_to(secret)
    with pytest.raises(InvalidValueError, match="holds no recording"):
        recordings_in(path)
    (path / "bert.wav").write_bytes(b"1")
    (path / "bert.txt").symlink_to(secret)
    with pytest.raises(InvalidValueError, match=r"bert\.txt is a link"):
        recordings_in(path)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "holds: nothing"),
        ({"a__txt": b"x"}, r"holds: a\.txt"),
        ({"a__wav": b"1", "a__mp3": b"2"}, "several recordings 'a'"),
        ({"a__wav": b"1", "a__txt": b"\xff\xfe"}, "not UTF-8"),
        ({"a__wav": b"1", "a__txt": b"x" * 20_001}, "20,001 characters"),
        ({"a__wav": b"1", "a__txt": b"x" * 80_001}, "more than 80,000 bytes"),
        ({f"a{n}__wav": b"1" for n in range(65)}, "65 recordings"),
    ],
)
def test_what_cannot_be_imported_at_once_is_said(
    files: dict[str, bytes], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidValueError, match=said):
        recordings_in(folder(tmp_path, **files))


def test_a_folder_of_everything_is_not_searched_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recordings, "_MAX_SEEN", 2)
    with pytest.raises(InvalidValueError, match="over 2 files"):
        recordings_in(folder(tmp_path, a__wav=b"1", b__wav=b"1", c__wav=b"1"))


def test_a_recording_alone_may_have_a_text_too(tmp_path: Path) -> None:
    path = folder(tmp_path, a__wav=b"1", a__txt=b"Said.") / "a.wav"
    assert recording_at(path).transcript == "Said."
