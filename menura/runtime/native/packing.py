"""Packed weights: one file in the cache, written once, taken into memory as it stands ever after.

The arrays in it are laid out for the kernels, which walk through all of them for every frame and
are a third faster in huge pages. Many file systems keep files in such pages, so the file is mapped;
where it does not come to lie in them, it is copied to huge pages of its own. A file is believed
only if nobody else can have written it, it is whole, and it says that it was made by these kernels,
for this mode, from these very weights; else it is made again in its place.

    magic [8] | length of the text [8] | text (JSON) | zeros up to a multiple of 4096 | arrays

Each array begins at a multiple of 64 bytes.
"""

import json
import mmap
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from io import FileIO
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from menura import settings
from menura.runtime import devices
from menura.runtime.whole_file import whole_file

Bytes = NDArray[np.uint8]

_MAGIC = b"MENURAPK"
_LENGTH_BYTES = 8
_ALIGNMENT = 64
_PAGE = 4096
_MADV_POPULATE_READ = 22  # of Linux 5.14; Python's own name for it came later
_ENOUGH_HUGE = 0.8  # of a file: 4 kB pages throughout cost a fifth of a frame
_MOST_READERS = 4
_READ_BYTES = 32 * 2**20  # at once, by one of several threads: whole huge pages
_TRIED_BYTES = 4 * 2**20  # whole huge pages, too
_WRITE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
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

    Where the disk refuses, or keeps nothing from other users, the arrays stay in memory.
    """
    if (arrays := taken(path, origin)) is not None:
        return Packed(arrays)
    found = sources()
    try:
        _write(path, origin, found)
    except OSError as error:
        return _in_memory_alone(found, f"{path} cannot be written: {error.strerror or error}")
    del found  # what it holds is in the file now
    if (arrays := taken(path, origin)) is None:
        return _in_memory_alone(sources(), f"{path} can be written by others")
    return Packed(arrays, was_made=True)


def _in_memory_alone(sources: Sequence[Source], why: str) -> Packed:
    arrays = {source.name: _made(source) for source in sources}
    return Packed(MappingProxyType(arrays), was_made=True, not_kept=why)


def taken(path: Path, origin: Origin) -> Mapping[str, Bytes] | None:
    """The arrays of a file; None if it is not there, cannot be read, or is not to be believed."""
    try:
        with path.open("rb", buffering=0) as file:
            facts = os.fstat(file.fileno())
            places = _places(_text(file), origin, facts.st_size)
            if places is None or not _is_safe(facts):
                return None
            whole = _in_memory(file, facts.st_size)
    except OSError:
        return None
    view = np.frombuffer(whole, np.uint8)
    view.setflags(write=False)
    return MappingProxyType({name: view[start:end] for name, (start, end) in places.items()})


def _is_safe(facts: os.stat_result) -> bool:
    """Whether nobody but the user, or who administers the machine, can have written the file."""
    is_trusted = not hasattr(os, "geteuid") or facts.st_uid in (os.geteuid(), 0)
    return is_trusted and stat.S_ISREG(facts.st_mode) and not facts.st_mode & _WRITE_BY_OTHERS


def _in_memory(file: FileIO, size: int) -> mmap.mmap:
    """The file's bytes in huge pages if they can be had: those of the file itself, or a copy's.

    Raises: OSError: the file has changed.
    """
    if hasattr(mmap, "MADV_HUGEPAGE"):
        found = _in_its_huge_pages(file, size) or _read_anew(file, size) or _copied(file, size)
        if found is not None:
            return found
    return mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)


def _read_anew(file: FileIO, size: int) -> mmap.mmap | None:
    """The file, read from the disk again; None where a part that is tried comes in small pages.

    When memory was short or in pieces, the system has read the file in small pages and keeps them.
    """
    part = size // 2 // _TRIED_BYTES * _TRIED_BYTES
    if size - part < _TRIED_BYTES:
        return None
    _forget(file, part, _TRIED_BYTES)
    tried = _in_its_huge_pages(file, _TRIED_BYTES, part)
    if tried is None:
        return None
    tried.close()  # what is mapped is not forgotten
    _forget(file)
    return _in_its_huge_pages(file, size)


def _in_its_huge_pages(file: FileIO, size: int, start: int = 0) -> mmap.mmap | None:
    """So many bytes of the file, mapped; None where too little of them lies in huge pages."""
    n_before = _huge_file_bytes()
    mapped = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ, offset=start)
    with suppress(OSError):  # an old kernel; whatever it cannot do, the count tells
        mapped.madvise(mmap.MADV_HUGEPAGE)
        mapped.madvise(_MADV_POPULATE_READ)
    if _huge_file_bytes() - n_before >= _ENOUGH_HUGE * size:
        return mapped
    mapped.close()  # before another copy is in memory
    return None


def _huge_file_bytes() -> int:
    """How much of this process's mapped files lies in huge pages."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    except OSError:  # no Linux, or an old one
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("FilePmdMapped:"))


def _copied(file: FileIO, size: int) -> mmap.mmap | None:
    """The file's bytes in huge pages of their own; None where there is no room for them.

    Raises: OSError: the file has changed.
    """
    try:
        # Private, because memory that could be shared has huge pages on few systems.
        whole = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        whole.madvise(mmap.MADV_HUGEPAGE)
    except OSError:
        return None
    starts = range(0, size, _READ_BYTES)
    n_readers = min(devices.usable_cores(), _MOST_READERS)
    with memoryview(whole) as view, ThreadPoolExecutor(n_readers) as readers:
        for _ in readers.map(lambda at: _read(file, view[at : at + _READ_BYTES], at), starts):
            pass
    return whole


def _read(file: FileIO, piece: memoryview, at: int) -> None:
    """Fill the piece with the file's bytes from `at` on. Raises: OSError: there are fewer."""
    with piece:
        n_read = 0
        while n_read < len(piece):
            n = os.preadv(file.fileno(), [piece[n_read:]], at + n_read)
            if n == 0:
                raise OSError(f"{file.name!r} became shorter while it was read")
            n_read += n


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
        Path(file.name).chmod(0o600)
        file.write(head)
        for source, start in zip(sources, starts, strict=True):
            file.write(bytes(start - file.tell()))
            file.write(_made(source).data)
    with path.open("rb", buffering=0) as written:
        _forget(written)  # it comes back in huge pages, not as it was written


def _forget(file: FileIO, start: int = 0, n_bytes: int = 0) -> None:
    """Let the system read these bytes anew when they are wanted; without a number, all of them."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):
            os.posix_fadvise(file.fileno(), start, n_bytes, os.POSIX_FADV_DONTNEED)


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
