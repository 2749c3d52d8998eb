"""A file is whole under its name or not there, and a disk's refusal names the folder."""

import errno
from pathlib import Path

import pytest

from menura.errors import DiskFullError, DownloadError
from menura.store.placing import disk_errors, placed


def test_what_was_written_takes_the_place_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    for content in ("first", "second"):
        with placed(path) as temporary:
            temporary.write_text(content)
        assert path.read_text() == content
    assert list(path.parent.iterdir()) == [path]


def test_two_that_place_one_file_at_once_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with placed(path) as slow:
        slow.write_text("slow")
        with placed(path) as quick:
            quick.write_text("quick")
        assert path.read_text() == "quick"
    assert path.read_text() == "slow"
    assert list(tmp_path.iterdir()) == [path]


def test_after_an_error_the_file_is_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError), placed(path) as temporary:
        temporary.write_text("half\udc80", "utf-8")
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_no_room_is_a_full_disk(tmp_path: Path, number: int) -> None:
    with pytest.raises(DiskFullError) as caught, disk_errors(tmp_path, "SOME_CACHE"):
        raise OSError(number, "no room")
    assert caught.value.message.startswith(f"the disk of {tmp_path} became full.")


def test_another_refusal_names_folder_file_and_variable(tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as caught, disk_errors(tmp_path, "SOME_CACHE"):
        (tmp_path / "missing").read_bytes()
    assert caught.value.message == (
        f"cannot read or write below {tmp_path}: No such file or directory "
        f"({tmp_path / 'missing'}). SOME_CACHE can name another folder."
    )
