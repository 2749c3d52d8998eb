"""Files that stand under their name only when they are whole, and what a disk refuses, in words."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from menura.errors import NO_ROOM, DiskFullError, DownloadError


@contextmanager
def placed(path: Path) -> Iterator[Path]:
    """A free name beside `path`; what the block puts there takes the place of `path` at its end.

    The name is drawn, so threads and programs that place one file at once never meet: the last
    one's file stays. After an error nothing of the block's is left.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{os.urandom(8).hex()}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def disk_errors(folder: Path, variable: str) -> Iterator[None]:
    """Runs the block, which works below the folder; what the disk refuses becomes a clear error.

    `variable` is the environment variable that can name another folder.

    Raises: DiskFullError, DownloadError.
    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise DiskFullError(
                f"the disk of {folder} became full. What had arrived is kept: make room and run "
                "the same command again."
            ) from error
        where = f" ({error.filename})" if error.filename else ""
        raise DownloadError(
            f"cannot read or write below {folder}: {error.strerror or error}{where}. {variable} "
            "can name another folder."
        ) from error
