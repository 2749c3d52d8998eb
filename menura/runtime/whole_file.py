"""A file that is there whole or not at all: written beside its place, then given its name."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A new file to write to; its bytes reach the disk, and then it takes the path's name.

    `mode`: who may read and write it, as far as the process's umask allows that.
    If anything fails, what stood under that name is as it was, and nothing is left beside it.
    """
    temporary = path.with_name(f".menura-{os.urandom(8).hex()}.part")
    try:
        with open(temporary, "xb", opener=partial(os.open, mode=mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
