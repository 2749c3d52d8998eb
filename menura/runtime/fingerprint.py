"""A short name for the weights in some files, without reading them whole."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from menura.errors import ModelFilesError

_HEAD_BYTES = 4 * 2**20


def fingerprint(files: Iterable[Path]) -> str:
    """16 hexadecimal digits: the digest of every file's size and head, in this order.

    A weight file's head holds its table of tensors and the beginning of their numbers.

    Raises: ModelFilesError: a file cannot be read.
    """
    digest = hashlib.sha256()
    for path in files:
        try:
            with path.open("rb") as file:
                digest.update(path.stat().st_size.to_bytes(8, "big"))
                digest.update(file.read(_HEAD_BYTES))
        except OSError as error:
            raise ModelFilesError(f"{path} cannot be read: {error.strerror or error}.") from error
    return digest.hexdigest()[:16]
