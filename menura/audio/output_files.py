"""Where a finished file goes: under its name, or beside what somebody else put there.

The audio is written to a temporary file in the same folder. Nothing stands under the final name
before it is whole: `put` gives the finished file its name in one step of the file system.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from menura.errors import InvalidValueError, OutputError


def checked_target(path: str | os.PathLike[str], *, replace: bool = True) -> Path:
    """The file to write, as a full path; folders, devices and pipes are refused, not replaced.

    To replace a link is to replace what it leads to; without `replace` the link itself is taken.

    Raises:
        InvalidValueError: there is no such folder, or the name is that of something else.
        OutputError: the folder of work is gone.
    """
    with reported_as_output_error(path):  # the folder of work can be gone
        if replace:
            target = Path(os.path.realpath(path))  # unlike `resolve` it takes links in a circle
        else:
            target = Path(os.path.realpath(Path(path).parent)) / Path(path).name
    if target.exists() and not target.is_file():
        what = "a folder" if target.is_dir() else "a device or a pipe"
        raise InvalidValueError(
            f"cannot write {os.fspath(path)!r}: it is {what}. Give the name of a file.",
            param="path",
        )
    if not target.parent.is_dir():
        raise InvalidValueError(
            f"cannot write {os.fspath(path)!r}: the folder {os.fspath(target.parent)!r} does not "
            "exist. Make it first, or choose another.",
            param="path",
        )
    return target


def numbered(path: Path) -> Iterator[Path]:
    """`speech.wav`, `speech-2.wav`, `speech-3.wav` ... without an end."""
    yield path
    for number in count(2):
        yield path.with_stem(f"{path.stem}-{number}")


def put(finished: Path, target: Path, *, replace: bool) -> Path:
    """The path that the finished file has now, beside its own, which it may keep.

    With `replace` it is the target, and what stood there is gone. Without, it is the first free one
    of `speech.wav`, `speech-2.wav`, `speech-3.wav` ..., and nothing is gone.

    Raises:
        OSError: the file system refused.
    """
    if replace:
        return finished.replace(target)
    for number in count(1):
        path = target if number == 1 else target.with_stem(f"{target.stem}-{number}")
        with suppress(FileExistsError):
            _give(finished, path)
            return path
    raise AssertionError


def _give(finished: Path, path: Path) -> None:
    """Nothing; the file has this path. Raises: FileExistsError: something else has it."""
    try:
        path.hardlink_to(finished)
    except FileExistsError:
        raise
    except OSError:  # a file system without second names (FAT, some network ones), or a true fault
        path.open("xb").close()  # empty for a moment, so that nobody else takes the name
        try:
            finished.replace(path)
        except OSError:
            path.unlink(missing_ok=True)
            raise


@contextmanager
def reported_as_output_error(path: str | os.PathLike[str]) -> Iterator[None]:
    """A block that writes to this file. Raises: OutputError: the file system refused."""
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"{os.fspath(path)!r} could not be written: {error.strerror or error}. What stood "
            "under that name is as it was; free some space or choose another folder, and try "
            "again.",
            param="path",
        ) from error
