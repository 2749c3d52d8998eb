"""Zip files from anywhere: what is not plainly a voice's is refused before it is unpacked."""

import io
import struct
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Callable

import pytest

from menura.errors import InvalidValueError
from menura.voice_library import zip_entries
from menura.voice_library.zip_entries import read_entries
from tests.zipped_voices import raw_entry, raw_zip, zipped

LARGEST = {"voice.json": 200_000, "clips": 60 * 2**20, "preview.flac": 1_000}
SOUND = {"voice.json": b"{}", "clips/1.flac": b"fLaC" * 100}


def read(data: bytes) -> dict[str, bytes]:
    return read_entries(io.BytesIO(data), LARGEST)


class Pipe(io.BytesIO):
    """A file that cannot go back, so that the sizes follow the data."""

    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise OSError

    def seek(self, *_: int) -> int:
        raise OSError


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_what_other_programs_pack_is_read(method: int) -> None:
    assert read(zipped(SOUND, method)) == SOUND


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_what_was_packed_into_a_pipe_is_read(method: int) -> None:
    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", method) as archive:
        for name, data in SOUND.items():
            archive.writestr(name, data)
    assert read(pipe.getvalue()) == SOUND


def with_entry(name: bytes, data: bytes = b"x", /, **fields: int) -> bytes:
    """A zip file of a record and of this entry."""
    first = raw_entry(b"voice.json", b"{}")
    return raw_zip(first, raw_entry(name, data, len(first[0]), **fields))


def test_a_raw_file_of_the_truth_is_read() -> None:
    assert read(with_entry(b"clips/1.flac")) == {"voice.json": b"{}", "clips/1.flac": b"x"}


@pytest.mark.parametrize(
    "name",
    [
        b"../voice.json", b"clips/../../x.flac", b"/etc/passwd", b"C:\\x", b"clips\\1.flac",
        b"clips/", b"clips//1.flac", b"clips/a/1.flac", b"", b".", b"clips/.hidden", b"clips/1\n",
        b"clips/1.flac\0.txt", b"other.txt", b"inner.zip", b"__MACOSX/x", b"clips/-rf",
        b"clips/" + b"a" * 241, b"clips/1 .flac",
    ],
)  # fmt: skip
def test_a_name_that_no_file_of_a_voice_has_is_refused(name: bytes) -> None:
    with pytest.raises(InvalidValueError, match="no file of a voice"):
        read(with_entry(name))


@pytest.mark.parametrize("name", [b"clips/\xff.flac", "clips/é.flac".encode(), b"clips/\x80"])
def test_a_name_beyond_ascii_is_refused(name: bytes) -> None:
    with pytest.raises(InvalidValueError, match="none that a voice's files have"):
        read(with_entry(name, flags=0x800))


@pytest.mark.parametrize("name", [b"voice.json", b"VOICE.json"])
def test_a_name_that_is_there_twice_is_refused(name: bytes) -> None:
    with pytest.raises(InvalidValueError, match=r"no file of a voice|twice"):
        read(with_entry(name))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"attributes": 0o120777 << 16}, "is a link"),
        ({"attributes": 0o040755 << 16}, "no plain file"),
        ({"attributes": 0o010644 << 16}, "no plain file"),
        ({"flags": 1}, "encrypted"),
        ({"flags": 0x41}, "encrypted"),
        ({"method": 12}, "packed in a way"),
        ({"crc": 1}, "damaged"),
        ({"size": 2}, "is not what its packed size can give"),
        ({"size": 70 * 2**20, "packed": 70 * 2**20}, "over 62,914,560"),
        ({"size": 110 * 2**20, "packed": 110 * 2**20}, "would unpack to"),
        ({"size": 2**20, "method": 8}, "is not what its packed size can give"),
        ({"packed": 2, "size": 2}, "hidden behind its entries|overlap"),
        ({"start": 0}, "something is hidden, or two entries overlap"),
        ({"start": 2**32 - 1}, "something is hidden"),
    ],
)
def test_an_entry_that_lies_is_refused(fields: dict[str, int], said: str) -> None:
    with pytest.raises(InvalidValueError, match=said):
        read(with_entry(b"clips/1.flac", **fields))


def test_what_unpacks_to_more_than_it_says_is_refused() -> None:
    squeezed = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = squeezed.compress(bytes(40_000)) + squeezed.flush()
    data = with_entry(b"clips/1.flac", packed, method=8, size=1_000, crc=zlib.crc32(bytes(1_000)))
    with pytest.raises(InvalidValueError, match="not as long as it says"):
        read(data)


def test_what_unpacks_to_less_than_it_says_is_refused() -> None:
    squeezed = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = squeezed.compress(bytes(1_000)) + squeezed.flush()
    with pytest.raises(InvalidValueError, match="damaged"):
        read(with_entry(b"clips/1.flac", packed, method=8, size=1_001))


def test_deflated_data_with_something_behind_it_is_refused() -> None:
    squeezed = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = squeezed.compress(b"x") + squeezed.flush() + b"hidden"
    with pytest.raises(InvalidValueError, match="not as long as it says"):
        read(with_entry(b"clips/1.flac", packed, method=8, size=1, crc=zlib.crc32(b"x")))


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data + b"x",
        lambda data: b"x" + data,
        lambda data: data[:-1],
        lambda data: data[:10],
        lambda data: data[:-22] + b"x" + data[-22:],
        lambda data: b"",
        lambda data: b"PK\x05\x06" + bytes(18),
        lambda data: data[:-2] + b"\x01\x00",
    ],
)
def test_a_file_with_more_or_less_than_its_entries_is_refused(
    change: Callable[[bytes], bytes],
) -> None:
    with pytest.raises(InvalidValueError, match="not taken as a portable voice"):
        read(change(zipped(SOUND)))


def test_a_header_that_says_something_else_than_the_table_is_refused() -> None:
    data = bytearray(zipped(SOUND))
    data[30] = ord("V")  # the first letter of the first name
    with pytest.raises(InvalidValueError, match="says something else"):
        read(bytes(data))


def test_sizes_that_stand_there_twice_and_differ_are_refused() -> None:
    data = bytearray(zipped(SOUND))
    data[14] ^= 1  # the first header's checksum
    with pytest.raises(InvalidValueError, match="stand there twice and differ"):
        read(bytes(data))


def test_a_zip64_table_behind_the_table_is_not_looked_for() -> None:
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    data = zipped(SOUND)
    with pytest.raises(InvalidValueError, match="not where it should be"):
        read(data[:-22] + locator + data[-22:])


def test_too_many_entries_are_refused_whatever_is_claimed() -> None:
    many = zipped({f"clips/{n}.flac": b"" for n in range(65)})
    with pytest.raises(InvalidValueError, match="65 entries"):
        read(many)
    claims_less = many[:-14] + struct.pack("<2H", 64, 64) + many[-10:]
    with pytest.raises(InvalidValueError, match="longer than its entries"):
        read(claims_less)


def flat_memory(data: bytes, said: str, most_bytes: int) -> None:
    """Reading the file is refused, and takes little memory."""
    file = io.BytesIO(data)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidValueError, match=said):
            read_entries(file, LARGEST)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most_bytes


def test_a_million_entries_cost_no_memory() -> None:
    row = raw_entry(b"clips/1.flac", b"")[1]
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 64, 64, len(row) * 10**6, 0, 0)
    flat_memory(row * 10**6 + end, "table of entries has 58,000,000 bytes", 200_000)


def test_a_bomb_of_one_entry_costs_no_memory() -> None:
    bomb = zipped({"clips/1.flac": bytes(50 * 2**20)}, zipfile.ZIP_DEFLATED)
    assert len(bomb) < 100_000
    flat_memory(bomb, "is not what its packed size can give", 200_000)


def test_a_bomb_of_entries_that_share_their_data_costs_no_memory() -> None:
    squeezed = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = squeezed.compress(bytes(2**20)) + squeezed.flush()
    claims = {"method": 8, "size": 2**20, "packed": len(packed), "crc": zlib.crc32(bytes(2**20))}
    assert len(packed) * zip_entries.MAX_RATIO < 2**20
    entries = [raw_entry(f"clips/{n}.flac".encode(), packed, start=0, **claims) for n in range(60)]
    first = entries[0]
    flat_memory(raw_zip(first, *((b"", row) for _, row in entries[1:])), "portable voice", 500_000)


def test_a_zip_in_a_zip_is_never_unpacked() -> None:
    inner = zipped({"clips/1.flac": bytes(2**20)}, zipfile.ZIP_DEFLATED)
    assert read(zipped({"voice.json": b"{}", "clips/2.flac": inner}))["clips/2.flac"] == inner
    with pytest.raises(InvalidValueError, match="no file of a voice"):
        read(zipped({"inner.zip": inner}))


def test_python_reads_what_is_accepted_the_same_way() -> None:
    data = zipped(SOUND, zipfile.ZIP_DEFLATED)
    with warnings.catch_warnings(), zipfile.ZipFile(io.BytesIO(data)) as archive:
        warnings.simplefilter("error")
        assert {name: archive.read(name) for name in archive.namelist()} == read(data)
