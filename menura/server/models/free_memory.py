"""How much memory a model is likely to take."""

from menura import models

_OF_FILES = 1.4  # the memory that a byte of a model's files comes to
_BESIDE_BYTES = 300 * 10**6  # the interpreter, the libraries and the work


def needed_bytes(name_or_folder: str) -> int:
    """The memory that a model is likely to take, in bytes, from the size of its files.

    Raises: ModelNotFoundError: it is not here.
    """
    return int(models.show(name_or_folder).n_bytes * _OF_FILES) + _BESIDE_BYTES
