"""One writer at a time; what is half made or half removed is never shown (A44, F9)."""

import errno
import os
import time
from pathlib import Path

import pytest
from filelock import FileLock

from menura.errors import DiskFullError, OutputError, WaitError
from menura.voice_library import locking
from menura.voice_library.locking import new_folder, take_away, writing


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {locking.LOCK_FILE}


def test_a_folder_takes_its_name_when_it_is_whole(tmp_path: Path) -> None:
    with writing(tmp_path / "voices"), new_folder(tmp_path / "voices", "whole") as making:
        (making / "a").write_text("x")
        assert making.name.startswith(".making-")
    assert names_in(tmp_path / "voices") == {"whole"}


@pytest.mark.parametrize("error", [OSError("no"), KeyboardInterrupt()])
def test_nothing_is_left_of_a_failure(error: BaseException, tmp_path: Path) -> None:
    def fill() -> None:
        with new_folder(tmp_path, "whole") as making:
            (making / "a").write_text("x")
            raise error

    with pytest.raises(type(error)):
        fill()
    assert names_in(tmp_path) == set()


def test_what_is_taken_away_is_gone(tmp_path: Path) -> None:
    (tmp_path / "voice" / "clips").mkdir(parents=True)
    take_away(tmp_path / "voice")
    take_away(tmp_path / "voice")
    assert names_in(tmp_path) == set()


def test_a_second_writer_waits_and_then_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locking, "LOCK_WAIT_S", 0.01)
    with (
        FileLock(tmp_path / locking.LOCK_FILE),
        pytest.raises(WaitError, match="another program has been writing"),
        writing(tmp_path),
    ):
        raise AssertionError
    with writing(tmp_path):
        pass


def test_what_killed_programs_left_is_swept(tmp_path: Path) -> None:
    old = time.time() - 2 * 3600
    for name in (".making-old", ".making-new", ".removing-new", ".other"):
        (tmp_path / name).mkdir()
    os.utime(tmp_path / ".making-old", (old, old))
    with writing(tmp_path):
        assert names_in(tmp_path) == {".making-new", ".other"}


def test_a_clock_that_went_back_sweeps_nothing(tmp_path: Path) -> None:
    later = time.time() + 10 * 3600
    (tmp_path / ".making-0").mkdir()
    os.utime(tmp_path / ".making-0", (later, later))
    with writing(tmp_path):
        pass
    assert names_in(tmp_path) == {".making-0"}


def test_a_link_in_the_locks_place_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("x")
    (tmp_path / "voices").mkdir()
    (tmp_path / "voices" / locking.LOCK_FILE).symlink_to(secret)
    with pytest.raises(OutputError), writing(tmp_path / "voices"):
        pass
    assert secret.read_text() == "x"


@pytest.mark.parametrize(
    ("number", "kind", "said"),
    [
        (errno.ENOSPC, DiskFullError, "is full"),
        (errno.EDQUOT, DiskFullError, "is full"),
        (errno.EROFS, OutputError, "cannot be written to"),
        (errno.EACCES, OutputError, "cannot be written to"),
    ],
)
def test_what_the_disk_refuses_is_said(
    number: int, kind: type[Exception], said: str, tmp_path: Path
) -> None:
    with pytest.raises(kind, match=said), writing(tmp_path):
        raise OSError(number, os.strerror(number))


def test_a_disk_without_locks_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object, **__: object) -> None:
        raise NotImplementedError

    monkeypatch.setattr(FileLock, "acquire", none)
    with pytest.raises(OutputError, match="no file locks"), writing(tmp_path):
        pass
