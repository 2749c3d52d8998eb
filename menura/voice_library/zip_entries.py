"""The entries of a zip file from anywhere: checked whole before one byte is unpacked.

    entries one after the other, without a gap  ->  table of entries  ->  end record, and no more

Only what a portable voice can be is read: plain files of known names, stored or deflated, each once
and as long as it says. There is one way to read such a file, so what is checked here is what every
other program sees, too. Memory is bounded by the caps, whatever the file claims.

Source: PKWARE's APPNOTE 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16.
"""

import stat
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from menura.errors import InvalidValueError

MAX_ENTRIES = 64
MAX_FILE_BYTES = 110 * 2**20
MAX_UNPACKED_BYTES = 100 * 2**20
MAX_RATIO = 50
"""What deflate may make of a byte; FLAC and tensors hardly shrink, and JSON not so much."""
_ALWAYS_ALLOWED_BYTES = 64 * 2**10  # of one entry, whatever its ratio
_MAX_TABLE_BYTES = MAX_ENTRIES * 1_024

_END = struct.Struct("<4s4H2LH")
_IN_TABLE = struct.Struct("<4s6H3L5H2L")
_BEFORE_DATA = struct.Struct("<4s5H3L2H")
_END_MARK, _TABLE_MARK, _DATA_MARK = b"PK\x05\x06", b"PK\x01\x02", b"PK\x03\x04"
_ENCRYPTED = 0x2041  # the bits of the old, the strong, and the masked kind
_SIZES_FOLLOW = 0x0008
_DESCRIPTOR_BYTES = (12, 16)  # without and with its mark
_STORED, _DEFLATED = 0, 8


@dataclass(frozen=True)
class ZipEntry:
    """One entry of the table: where its header begins, and what the table says of its data."""

    name: str
    start: int
    flags: int
    method: int
    crc32: int
    packed_bytes: int
    n_bytes: int


def is_zip(beginning: bytes) -> bool:
    """Whether a file that begins so could be a zip file with something in it."""
    return beginning.startswith(_DATA_MARK)


def read_entries(file: BinaryIO, largest: Mapping[str, int]) -> dict[str, bytes]:
    """The contents of all entries by name. `largest` gives the caps by the names' first parts.

    A name's first part is all of it, or what stands before its slash. Names are ASCII letters,
    digits, dots, hyphens and underscores, with at most one slash.

    Raises: InvalidValueError: anything in the file is not as it should be; OSError.
    """
    n_bytes = file.seek(0, 2)
    if n_bytes > MAX_FILE_BYTES:
        raise refused(f"it has {n_bytes:,} bytes, and at most {MAX_FILE_BYTES:,} are read")
    table_start, n_entries = _end(file, n_bytes)
    file.seek(table_start)
    table = file.read(n_bytes - _END.size - table_start)
    entries = list(_table(table, n_entries))
    _check_names(entries, largest)
    _check_sizes(entries, largest)
    _check_places(file, entries, table_start)
    return {entry.name: _content(file, entry) for entry in entries}


def refused(why: str) -> InvalidValueError:
    """The error for a file that is no portable voice, or not a sound one."""
    return InvalidValueError(
        f"this is not taken as a portable voice: {why}. Nothing was written; export the voice "
        "again with `menura voices export`.",
        param="file",
    )


def _end(file: BinaryIO, n_bytes: int) -> tuple[int, int]:
    """Where the table of entries begins, and how many it has; it ends where the end record is."""
    file.seek(max(0, n_bytes - _END.size))
    found = file.read(_END.size)
    if len(found) < _END.size or not found.startswith(_END_MARK):
        raise refused("it does not end as a zip file does: it was cut off, or something was added")
    _, disk, first_disk, here, n_entries, table_bytes, start, n_comment = _END.unpack(found)
    if not 1 <= n_entries <= MAX_ENTRIES:
        raise refused(f"it claims {n_entries:,} entries, and from 1 to {MAX_ENTRIES} are allowed")
    if table_bytes > _MAX_TABLE_BYTES:
        raise refused(f"its table of entries has {table_bytes:,} bytes")
    is_whole = disk == first_disk == n_comment == 0 and here == n_entries
    if not is_whole or start + table_bytes + _END.size != n_bytes:
        raise refused("its table of entries is not where it should be")
    return start, n_entries


def _table(table: bytes, n_entries: int) -> Iterator[ZipEntry]:
    """The entries of the table, which is exactly as long as they are."""
    at = 0
    for _ in range(n_entries):
        fields = table[at : at + _IN_TABLE.size]
        if len(fields) < _IN_TABLE.size or not fields.startswith(_TABLE_MARK):
            raise refused("its table of entries is damaged")
        (
            _, _, _, flags, method, _, _, crc32, packed_bytes, n_bytes,
            n_name, n_extra, n_comment, disk, _, attributes, start,
        ) = _IN_TABLE.unpack(fields)  # fmt: skip
        at += _IN_TABLE.size
        name = _name(table[at : at + n_name])
        at += n_name + n_extra + n_comment
        kind = stat.S_IFMT(attributes >> 16)
        if kind not in (0, stat.S_IFREG):
            what = "a link" if kind == stat.S_IFLNK else "no plain file"
            raise refused(f"{name!r} in it is {what}")
        if flags & _ENCRYPTED:
            raise refused(f"{name!r} in it is encrypted")
        if method not in (_STORED, _DEFLATED) or disk:
            raise refused(f"{name!r} in it is packed in a way that is not read")
        yield ZipEntry(name, start, flags, method, crc32, packed_bytes, n_bytes)
    if at != len(table):
        raise refused("its table of entries is longer than its entries")


def _name(given: bytes) -> str:
    try:
        return given.decode("ascii")
    except UnicodeDecodeError as error:
        raise refused(f"the name {given[:60]!r} in it is none that a voice's files have") from error


def _check_names(entries: Sequence[ZipEntry], largest: Mapping[str, int]) -> None:
    """Nothing, where each name is one that a voice's files may have, and none is there twice."""
    seen: set[str] = set()
    for entry in entries:
        parts = entry.name.split("/")
        is_plain = all(map(_is_plain, parts)) and len(parts) <= 2
        if not is_plain or parts[0] not in largest:
            raise refused(f"{entry.name[:100]!r} in it is no file of a voice")
        if entry.name.casefold() in seen:
            raise refused(f"{entry.name!r} is in it twice")
        seen.add(entry.name.casefold())


def _is_plain(part: str) -> bool:
    """Whether a part of a name is one that every system takes as it is."""
    is_word = part.isascii() and part.replace(".", "").replace("-", "").replace("_", "").isalnum()
    return is_word and len(part) <= 240 and not part.startswith((".", "-"))


def _check_sizes(entries: Sequence[ZipEntry], largest: Mapping[str, int]) -> None:
    """Nothing, where what the table claims stays below the caps."""
    total = sum(entry.n_bytes for entry in entries)
    if total > MAX_UNPACKED_BYTES:
        raise refused(f"it would unpack to {total:,} bytes, over {MAX_UNPACKED_BYTES:,}")
    for entry in entries:
        most = largest[entry.name.partition("/")[0]]
        if entry.n_bytes > most:
            raise refused(f"{entry.name!r} has {entry.n_bytes:,} bytes, over {most:,}")
        most = max(_ALWAYS_ALLOWED_BYTES, MAX_RATIO * entry.packed_bytes)
        is_stored_whole = entry.method != _STORED or entry.n_bytes == entry.packed_bytes
        if entry.n_bytes > most or not is_stored_whole:
            raise refused(f"the size of {entry.name!r} is not what its packed size can give")


def _check_places(file: BinaryIO, entries: Sequence[ZipEntry], table_start: int) -> None:
    """Nothing, where the entries stand one after the other and fill the file up to the table."""
    at = 0
    for entry in sorted(entries, key=lambda entry: entry.start):
        if entry.start != at:
            raise refused(f"before {entry.name!r} something is hidden, or two entries overlap")
        at = _data_start(file, entry) + entry.packed_bytes
        if entry.flags & _SIZES_FOLLOW:
            at += _descriptor_bytes(file, entry, at)
    if at != table_start:
        raise refused("something is hidden behind its entries, or they overlap its table")


def _data_start(file: BinaryIO, entry: ZipEntry) -> int:
    """Where an entry's data begins; the header before it agrees with the table."""
    file.seek(entry.start)
    fields = file.read(_BEFORE_DATA.size)
    if len(fields) < _BEFORE_DATA.size or not fields.startswith(_DATA_MARK):
        raise refused(f"where {entry.name!r} should begin is something else")
    (
        _, _, flags, method, _, _, crc32, packed_bytes, n_bytes, n_name, n_extra,
    ) = _BEFORE_DATA.unpack(fields)  # fmt: skip
    sizes = (crc32, packed_bytes, n_bytes)
    known = (entry.crc32, entry.packed_bytes, entry.n_bytes)
    is_later = bool(flags & _SIZES_FOLLOW) and sizes == (0, 0, 0)
    has_name = file.read(n_name) == entry.name.encode()
    if not has_name or (flags, method) != (entry.flags, entry.method):
        raise refused(f"the header of {entry.name!r} says something else than the table")
    if not is_later and sizes != known:
        raise refused(f"the sizes of {entry.name!r} stand there twice and differ")
    return entry.start + _BEFORE_DATA.size + int(n_name) + int(n_extra)


def _descriptor_bytes(file: BinaryIO, entry: ZipEntry, at: int) -> int:
    """How long the sizes are that follow an entry's data; they are those of the table."""
    file.seek(at)
    found = file.read(_DESCRIPTOR_BYTES[1])
    known = struct.pack("<3L", entry.crc32, entry.packed_bytes, entry.n_bytes)
    if found == b"PK\x07\x08" + known:
        return _DESCRIPTOR_BYTES[1]
    if found.startswith(known):
        return _DESCRIPTOR_BYTES[0]
    raise refused(f"the sizes of {entry.name!r} stand there twice and differ")


def _content(file: BinaryIO, entry: ZipEntry) -> bytes:
    """An entry's content, never more than the table says."""
    file.seek(_data_start(file, entry))
    packed = file.read(entry.packed_bytes)
    data = packed if entry.method == _STORED else _inflated(packed, entry)
    if len(data) != entry.n_bytes or zlib.crc32(data) != entry.crc32:
        raise refused(f"{entry.name!r} in it is damaged")
    return data


def _inflated(packed: bytes, entry: ZipEntry) -> bytes:
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        data = inflate.decompress(packed, entry.n_bytes + 1)
    except zlib.error as error:
        raise refused(f"{entry.name!r} in it is damaged") from error
    if len(data) > entry.n_bytes or not inflate.eof or inflate.unused_data:
        raise refused(f"{entry.name!r} is not as long as it says")
    return data
