"""Links and pipes in a voice's folder are not followed (A3)."""

import os
from pathlib import Path

import pytest

from menura.errors import InvalidValueError
from menura.voice_library.plain_files import fault_of, read_plain, settle, write_lasting


def test_a_plain_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    file = tmp_path / "a"
    write_lasting(file, b"12345")
    settle(tmp_path)
    assert read_plain(file, 5) == b"12345"
    with pytest.raises(InvalidValueError, match="more than 4 bytes"):
        read_plain(file, 4)
    with pytest.raises(FileExistsError):
        write_lasting(file, b"")


def test_what_is_no_plain_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").touch()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    os.mkfifo(tmp_path / "pipe")
    assert fault_of(tmp_path / "folder", folder=True) == ""
    assert fault_of(tmp_path / "folder") == "folder is no plain file"
    assert fault_of(tmp_path / "empty") == "empty is empty"
    assert fault_of(tmp_path / "empty", folder=True) == "empty is no folder"
    for folder in (True, False):
        assert fault_of(tmp_path / "link", folder=folder).startswith("link is a link")
    with pytest.raises(InvalidValueError, match="pipe is no plain file"):
        read_plain(tmp_path / "pipe", 5)
    with pytest.raises(FileNotFoundError):
        fault_of(tmp_path / "nothing")


def test_a_link_that_takes_a_files_place_meanwhile_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret, file = tmp_path / "secret", tmp_path / "a"
    secret.write_bytes(b"secret")
    file.symlink_to(secret)
    monkeypatch.setattr("menura.voice_library.plain_files.fault_of", lambda _: "")
    with pytest.raises(OSError, match="symbolic link"):
        read_plain(file, 100)
