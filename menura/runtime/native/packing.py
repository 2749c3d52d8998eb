"""Packed weights: one file in the cache, written once, taken into memory as it stands ever after.

The arrays in it are laid out for the kernels, so loading a model is reading the file once. Where
the system has huge pages it is read into them, because kernels that walk through all weights for
every frame are a third faster there; elsewhere it is mapped. A file is believed only if it is whole
and says that it was made by these kernels, for this mode, from these very weights; else it is made
again in its place.

    magic [8] | length of the text [8] | text (JSON) | zeros up to a multiple of 4096 | arrays

Each array begins at a multiple of 64 bytes.
"""

import json
import mmap
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from menura import settings
from menura.runtime.whole_file import whole_file

Bytes = NDArray[np.uint8]

_MAGIC = b"MENURAPK"
_LENGTH_BYTES = 8
_ALIGNMENT = 64
_PAGE = 4096
_READ_BYTES = 64 * 2**20
_MAX_TEXT_BYTES = 16 * 2**20


@dataclass(frozen=True)
class Origin:
    """What a packed file was made by and of: the kernels' version, the mode, the weights' digest.

    Two files with the same origin hold the same bytes.
    """

    kernels: str
    mode: str
    weights: str


@dataclass(frozen=True)
class Source:
    """One array of a file that is to be made: `make` gives its bytes uint8 [n_bytes]."""

    name: str
    n_bytes: int
    make: Callable[[], Bytes]


@dataclass(frozen=True, eq=False)
class Packed:
    """The arrays uint8 [n_bytes] by name, read-only. `not_kept` says why no file holds them."""

    arrays: Mapping[str, Bytes]
    was_made: bool = False
    not_kept: str = ""


def folder() -> Path:
    """Where packed files are kept."""
    return settings.folders().cache / "packed"


def opened(path: Path, origin: Origin, sources: Callable[[], Sequence[Source]]) -> Packed:
    """The arrays of a file, which is made first where it is missing, damaged or of another origin.

    Where the disk refuses, the arrays stay in memory.
    """
    if (arrays := taken(path, origin)) is not None:
        return Packed(arrays)
    found = sources()
    try:
        _write(path, origin, found)
    except OSError as error:
        kept = {source.name: _made(source) for source in found}
        why = f"{path} cannot be written: {error.strerror or error}"
        return Packed(MappingProxyType(kept), was_made=True, not_kept=why)
    arrays = taken(path, origin)
    assert arrays is not None, "a file that was just written is of its own origin"
    return Packed(arrays, was_made=True)


def taken(path: Path, origin: Origin) -> Mapping[str, Bytes] | None:
    """The arrays of a file; None if it is not there, cannot be read, or is not of this origin."""
    try:
        with path.open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            places = _places(_text(file), origin, size)
            if places is None:
                return None
            whole = _in_huge_pages(file, size) if hasattr(mmap, "MADV_HUGEPAGE") else None
            if whole is None:
                whole = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    except OSError:
        return None
    view = np.frombuffer(whole, np.uint8)
    view.setflags(write=False)
    return MappingProxyType({name: view[start:end] for name, (start, end) in places.items()})


def _in_huge_pages(file: FileIO, size: int) -> mmap.mmap | None:
    """All bytes of the file, read; None where there is no room for them or the file has changed."""
    try:
        whole = mmap.mmap(-1, size)
        whole.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        return None
    file.seek(0)
    n_read = 0
    with memoryview(whole) as view:
        while n := file.readinto(view[n_read : n_read + _READ_BYTES]):
            n_read += n
    return whole if n_read == size else None


def _text(file: FileIO) -> bytes:
    """What the file says of itself; empty if it is no packed file."""
    head = file.read(len(_MAGIC) + _LENGTH_BYTES)
    n_bytes = int.from_bytes(head[len(_MAGIC) :], "little")
    if not head.startswith(_MAGIC) or n_bytes > _MAX_TEXT_BYTES:
        return b""
    return file.read(n_bytes)


def _places(text: bytes, origin: Origin, size: int) -> dict[str, tuple[int, int]] | None:
    """Where each array lies in a file of `size` bytes; None if the text does not fit."""
    try:
        said = json.loads(text)
        is_ours = said["origin"] == asdict(origin) and said["file_bytes"] == size
        places = {str(name): (int(start), int(end)) for name, start, end in said["arrays"]}
    except (ValueError, TypeError, KeyError):  # cut short, or another file's bytes
        return None
    is_inside = all(0 <= start <= end <= size for start, end in places.values())
    return places if is_ours and is_inside else None


def _write(path: Path, origin: Origin, sources: Sequence[Source]) -> None:
    """Nothing; the file stands under its name, whole. Its bytes reached the disk first."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    head, starts = _head(origin, sources)
    with whole_file(path) as file:
        file.write(head)
        for source, start in zip(sources, starts, strict=True):
            file.write(bytes(start - file.tell()))
            file.write(_made(source).data)


def _head(origin: Origin, sources: Sequence[Source]) -> tuple[bytes, list[int]]:
    """All bytes before the arrays, and where each array begins in the file.

    The places are part of the text, so room for its longest numbers is kept first.
    """
    room = 2 * _PAGE + sum(len(source.name) + 64 for source in sources)
    start = -(-room // _PAGE) * _PAGE
    starts, end = [], start
    for source in sources:
        starts.append(-(-end // _ALIGNMENT) * _ALIGNMENT)
        end = starts[-1] + source.n_bytes
    arrays = [[s.name, at, at + s.n_bytes] for s, at in zip(sources, starts, strict=True)]
    said = {"origin": asdict(origin), "file_bytes": end, "arrays": arrays}
    text = json.dumps(said).encode()
    head = _MAGIC + len(text).to_bytes(_LENGTH_BYTES, "little") + text
    assert len(head) <= start
    return head.ljust(start, b"\0"), starts


def _made(source: Source) -> Bytes:
    flat = np.ascontiguousarray(source.make()).view(np.uint8).reshape(-1)
    assert flat.size == source.n_bytes, f"{source.name}: {flat.size} of {source.n_bytes} bytes"
    return flat
