"""Files that are what they seem: read without following links, written so that they last.

The library holds folders that people copy in. A link there could make Menura read, and hand on,
any file of its user's; a pipe could make it wait for ever. Neither is opened.
"""

import os
import stat
from pathlib import Path

from menura.errors import InvalidValueError

_REPARSE_POINT = 0x400  # what Windows sets for junctions and the like
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_READ |= getattr(os, "O_BINARY", 0)


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


def write_lasting(path: Path, data: bytes) -> None:
    """Nothing; a new file with these bytes is on the disk itself."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


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
