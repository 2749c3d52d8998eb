"""Changes to the library: one writer at a time, and a folder is there whole or not at all.

    lock  ->  .making-<hex> is filled and reaches the disk  ->  it takes its name        (a new one)
    lock  ->  .removing-<hex> is what the folder becomes    ->  its files are deleted

A program that is killed between two steps leaves a folder that no listing shows; who writes next
sweeps it away.
"""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from menura.errors import NO_ROOM, DiskFullError, OutputError, WaitError
from menura.voice_library.plain_files import (
    OWN_FILE,
    OWN_FOLDER,
    close_to_others,
    own_folder,
    settle,
)

LOCK_FILE = ".lock"
LOCK_WAIT_S = 30.0
_MAKING, _REMOVING = ".making-", ".removing-"
_ABANDONED_S = 3600.0


@contextmanager
def writing(library: Path) -> Iterator[None]:
    """Runs the block as the library's only writer, on this machine; then all is on the disk.

    Raises: WaitError: another program has been writing for half a minute; DiskFullError,
        OutputError: the disk refused; what the library had is as it was.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415

    with disk_words(library):
        own_folder(library)
        try:
            with FileLock(library / LOCK_FILE, timeout=LOCK_WAIT_S, mode=OWN_FILE):
                close_to_others(library / LOCK_FILE)
                sweep(library)
                yield
                settle(library)
        except Timeout as error:
            raise WaitError(
                f"another program has been writing to the voice library {library} for over "
                f"{LOCK_WAIT_S:g} s: try again when it is done."
            ) from error
        except NotImplementedError as error:
            raise OutputError(
                f"the disk of the voice library {library} knows no file locks, so two programs "
                "could spoil each other's voices there: set MENURA_HOME to a folder on another "
                "disk."
            ) from error


@contextmanager
def new_folder(library: Path, name: str) -> Iterator[Path]:
    """A folder to fill; at the end of the block it takes the name. Nothing is left of a failure."""
    making = library / f"{_MAKING}{os.urandom(8).hex()}"
    making.mkdir(OWN_FOLDER)
    try:
        yield making
        for folder in (making, *(path for path in making.iterdir() if path.is_dir())):
            settle(folder)
        making.rename(library / name)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise


def take_away(path: Path) -> bool:
    """Whether it was there; it is gone from the listing at once, then from the disk."""
    removing = path.parent / f"{_REMOVING}{os.urandom(8).hex()}"
    try:
        path.rename(removing)
    except FileNotFoundError:
        return False
    settle(path.parent)
    shutil.rmtree(removing, ignore_errors=True)
    return True


@contextmanager
def disk_words(library: Path) -> Iterator[None]:
    """Runs the block; what the disk refuses becomes a clear error.

    Raises: DiskFullError, OutputError.
    """
    try:
        yield
    except OSError as error:
        kept = "All voices are as they were"
        if error.errno in NO_ROOM:
            raise DiskFullError(
                f"the disk of the voice library {library} is full. {kept}: make room and try again."
            ) from error
        raise OutputError(
            f"the voice library {library} cannot be written to: {error.strerror or error}. "
            f"{kept}; see who may write there, or set MENURA_HOME to another folder."
        ) from error


def sweep(folder: Path) -> None:
    """Nothing; what killed programs left of `new_folder` and `take_away` is gone.

    What was being removed is somebody's voice, so it goes at once. What was being made goes later:
    where locks fail, as on some network disks, it may still be filled.
    """
    for path in folder.iterdir():
        if path.name.startswith(_REMOVING):
            shutil.rmtree(path, ignore_errors=True)
        elif path.name.startswith(_MAKING):
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime > _ABANDONED_S:
                    shutil.rmtree(path, ignore_errors=True)
