"""How much memory the machine has left, and how much a model is likely to take."""

from pathlib import Path

from menura import models

_OF_FILES = 1.4  # the memory that a byte of a model's files comes to
_BESIDE_BYTES = 300 * 10**6  # the interpreter, the libraries and the work


def available_bytes(meminfo: Path = Path("/proc/meminfo")) -> int | None:
    """The memory that programs can still have, in bytes; None where the system does not say."""
    try:
        lines = meminfo.read_text("ascii").splitlines()
    except OSError:
        return None
    found = [line.split() for line in lines if line.startswith("MemAvailable:")]
    return int(found[0][1]) * 1024 if found else None


def needed_bytes(name_or_folder: str) -> int:
    """The memory that a model is likely to take, in bytes, from the size of its files.

    Raises: ModelNotFoundError: it is not here.
    """
    return int(models.show(name_or_folder).n_bytes * _OF_FILES) + _BESIDE_BYTES
