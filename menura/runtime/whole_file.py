"""A file that is there whole or not at all: written beside its place, then given its name."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A new file to write to; its bytes reach the disk, and then it takes the path's name.

    If anything fails, what stood under that name is as it was, and nothing is left beside it.
    """
    temporary = path.with_name(f".menura-{os.urandom(8).hex()}.part")
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
