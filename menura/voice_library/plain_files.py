"""Files that are what they seem: read without following links, written so that they last.

The library holds folders that people copy in. A link there could make Menura read, and hand on,
any file of its user's; a pipe could make it wait for ever. Neither is opened.

What is written is for its user alone: people's voices, and what they agreed to.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from menura.errors import InvalidValueError

_REPARSE_POINT = 0x400  # what Windows sets for junctions and the like
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_READ |= getattr(os, "O_BINARY", 0)
OWN_FILE, OWN_FOLDER = 0o600, 0o700
_OTHERS = 0o077


def fault_of(path: Path, *, folder: bool = False) -> str:
    """Why the path is no plain file (or folder) of some content, in words; empty if it is.

    Raises: FileNotFoundError: there is nothing.
    """
    found = path.lstat()
    if _is_link(found):
        return f"{path.name} is a link, and a link is not followed"
    if folder:
        return "" if stat.S_ISDIR(found.st_mode) else f"{path.name} is no folder"
    if not stat.S_ISREG(found.st_mode):
        return f"{path.name} is no plain file"
    return "" if found.st_size else f"{path.name} is empty"


def read_plain(path: Path, max_bytes: int) -> bytes:
    """The bytes of a plain file.

    Raises: InvalidValueError: it is a link, another thing than a file, or too large; OSError.
    """
    if fault := fault_of(path):
        raise InvalidValueError(f"{fault}.")
    descriptor = os.open(path, _READ)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > max_bytes:
            raise InvalidValueError(f"{path.name} has more than {max_bytes:,} bytes.")
        return file.read(max_bytes)


def read_pipe(pipe: BinaryIO, max_bytes: int) -> bytes:
    """The bytes of what can be read only once. Raises: InvalidValueError: it is too much."""
    pieces, n_left = [], max_bytes + 1
    while n_left > 0 and (piece := pipe.read(n_left)):
        pieces.append(piece)
        n_left -= len(piece)
    if n_left <= 0:
        raise InvalidValueError(f"what came has more than {max_bytes:,} bytes.", param="file")
    return b"".join(pieces)


def write_lasting(path: Path, data: bytes) -> None:
    """Nothing; a new file with these bytes is on the disk itself, for its user alone."""
    with open(path, "xb", opener=partial(os.open, mode=OWN_FILE)) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def own_folder(path: Path) -> None:
    """Nothing; the folder is there, with those above it, and is open to its user alone."""
    path.mkdir(OWN_FOLDER, parents=True, exist_ok=True)
    close_to_others(path)


def tighten(folder: Path) -> None:
    """Nothing; the folder and all in it are open to their user alone, if that user says so."""
    for path in _within(folder):
        close_to_others(path)


def _within(folder: Path) -> Iterator[Path]:
    """The folder and what is in it, without links and what lies behind them."""
    for place, folders, files in os.walk(folder):  # which follows no links
        yield Path(place)
        for name in files + folders:
            if not (path := Path(place, name)).is_symlink():
                yield path


def close_to_others(path: Path) -> None:
    """Nothing; others have no right to the path any more. Somebody else's stays as it is."""
    with suppress(OSError):
        if os.name != "nt" and stat.S_IMODE(path.stat().st_mode) & _OTHERS:
            path.chmod(OWN_FOLDER if path.is_dir() else OWN_FILE)


def settle(folder: Path) -> None:
    """Nothing; what names stand in the folder is on the disk itself, where the system can do so."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_link(found: os.stat_result) -> bool:
    attributes = getattr(found, "st_file_attributes", 0)
    return stat.S_ISLNK(found.st_mode) or bool(attributes & _REPARSE_POINT)
