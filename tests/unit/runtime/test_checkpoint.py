"""A safetensors header is believed only when everything in it agrees with the file."""

import json
import pickle
import struct
import zipfile
from pathlib import Path

import pytest

from menura.errors import ModelFilesError
from menura.runtime.checkpoint import (
    BYTES_OF_DTYPE,
    MAX_HEADER_BYTES,
    TensorEntry,
    read_header,
    read_index,
)

Json = dict[str, object]


def entry(shape: list[object], start: object, end: object, dtype: object = "F32") -> Json:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}


def write_raw(folder: Path, header: bytes, data: bytes, claimed: int | None = None) -> Path:
    path = folder / "model.safetensors"
    length = len(header) if claimed is None else claimed
    path.write_bytes(struct.pack("<Q", length) + header + data)
    return path


def write(folder: Path, header: Json, n_data_bytes: int) -> Path:
    return write_raw(folder, json.dumps(header).encode(), bytes(n_data_bytes))


def test_reads_tensors_notes_and_where_the_data_begins(tmp_path: Path) -> None:
    fields: Json = {
        "__metadata__": {"format": "pt"},
        "b": entry([2, 3], 8, 32),
        "a": entry([4], 0, 8, "BF16"),
        "empty": entry([0, 7], 8, 8),
        "scalar": entry([], 32, 40, "I64"),
    }
    header = read_header(write(tmp_path, fields, 40))
    assert dict(header.tensors) == {
        "a": TensorEntry("BF16", (4,), 0, 8),
        "b": TensorEntry("F32", (2, 3), 8, 32),
        "empty": TensorEntry("F32", (0, 7), 8, 8),
        "scalar": TensorEntry("I64", (), 32, 40),
    }
    assert dict(header.metadata) == {"format": "pt"}
    assert header.data_start == 8 + len(json.dumps(fields).encode())
    assert header.tensors["b"].n_bytes == 24


def test_padding_spaces_after_the_header_are_part_of_it(tmp_path: Path) -> None:
    text = json.dumps({"a": entry([1], 0, 4)}).encode() + b"   "
    assert read_header(write_raw(tmp_path, text, bytes(4))).data_start == 8 + len(text)


def test_a_file_without_tensors_is_sound(tmp_path: Path) -> None:
    assert dict(read_header(write(tmp_path, {}, 0)).tensors) == {}


@pytest.mark.parametrize("dtype", sorted(BYTES_OF_DTYPE))
def test_every_known_dtype_has_its_size(tmp_path: Path, dtype: str) -> None:
    n_bytes = 3 * BYTES_OF_DTYPE[dtype]
    read_header(write(tmp_path, {"a": entry([3], 0, n_bytes, dtype)}, n_bytes))
    with pytest.raises(ModelFilesError, match="does not fit"):
        read_header(write(tmp_path, {"a": entry([3], 0, n_bytes + 1, dtype)}, n_bytes + 1))


BAD_HEADERS: dict[str, tuple[Json, int, str]] = {
    "overlap": ({"a": entry([2], 0, 8), "b": entry([2], 4, 12)}, 12, "'b' overlaps"),
    "same span twice": ({"a": entry([2], 0, 8), "b": entry([2], 0, 8)}, 8, "overlaps"),
    "gap": ({"a": entry([1], 0, 4), "b": entry([1], 8, 12)}, 12, "4 bytes before 'b'"),
    "gap at the start": ({"a": entry([1], 4, 8)}, 8, "4 bytes before 'a'"),
    "bytes left over": ({"a": entry([1], 0, 4)}, 9, "5 bytes follow"),
    "cut short": ({"a": entry([4], 0, 16)}, 15, "'a' ends at byte 16 .* only 15"),
    "offsets backwards": ({"a": entry([1], 4, 0)}, 4, "'a' has data_offsets"),
    "negative offset": ({"a": entry([1], -4, 0)}, 0, "-4 in its data_offsets"),
    "fractional offset": ({"a": entry([1], 0, 4.0)}, 4, "4.0 in its data_offsets"),
    "offset is true": ({"a": entry([1], False, 4)}, 4, "False in its data_offsets"),
    "offset too large": ({"a": entry([1], 0, 2**63)}, 4, "in its data_offsets"),
    "negative size": ({"a": entry([-1], 0, 4)}, 4, "-1 in its shape"),
    "shape is true": ({"a": entry([True], 0, 4)}, 4, "True in its shape"),
    "product overflows": ({"a": entry([2**62, 2**62], 0, 4)}, 4, "does not fit"),
    "64 bit wrap": ({"a": entry([2**32, 2**32, 1], 0, 0)}, 0, "does not fit"),
    "too many dimensions": ({"a": entry([1] * 65, 0, 4)}, 4, "65 dimensions"),
    "unknown dtype": ({"a": entry([1], 0, 4, "Q4")}, 4, "'a' has dtype 'Q4'"),
    "dtype is a number": ({"a": entry([1], 0, 4, 4)}, 4, "dtype 4"),
    "no dtype": ({"a": {"shape": [1], "data_offsets": [0, 4]}}, 4, "exactly dtype"),
    "extra key": ({"a": {**entry([1], 0, 4), "code": "x"}}, 4, "exactly dtype"),
    "entry is a list": ({"a": [1]}, 0, "exactly dtype"),
    "shape is a string": ({"a": {**entry([], 0, 4), "shape": "1"}}, 4, "shape that is not a list"),
    "three offsets": ({"a": {**entry([1], 0, 4), "data_offsets": [0, 4, 4]}}, 4, "data_offsets"),
    "metadata is a list": ({"__metadata__": []}, 0, "__metadata__ is not an object"),
    "metadata holds a number": ({"__metadata__": {"n": 1}}, 0, "'n' is not a string"),
}


@pytest.mark.parametrize("case", sorted(BAD_HEADERS))
def test_a_header_that_contradicts_the_file_is_refused(tmp_path: Path, case: str) -> None:
    header, n_bytes, message = BAD_HEADERS[case]
    with pytest.raises(ModelFilesError, match=message) as caught:
        read_header(write(tmp_path, header, n_bytes))
    assert "model.safetensors" in caught.value.message


BAD_TEXTS: dict[str, tuple[bytes, int | None, str]] = {
    "length 2^40": (b"{}", 2**40, "claims 1,099,511,627,776 bytes"),
    "length over the limit": (b"{}", MAX_HEADER_BYTES + 1, "claims 100,000,001 bytes"),
    "length over the file": (b"{}", 3, "claims 3 of 10 bytes"),
    "not an object": (b"[]", None, "does not start with"),
    "leading space": (b" {}", None, "does not start with"),
    "not JSON": (b"{'a'", None, "cannot be read"),
    "not UTF-8": (b'{"\xff":1}', None, "cannot be read"),
    "endless nesting": (b'{"a":' * 100_000, None, "cannot be read"),
    "huge number": (b'{"a":' + b"9" * 5000 + b"}", None, "cannot be read"),
    "twice the same name": (
        b'{"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"a":{}}',
        None,
        "names 'a' twice",
    ),
    "twice the same key": (
        b'{"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}}',
        None,
        "names 'dtype' twice",
    ),
    "data after the object": (b"{}{}", None, "cannot be read"),
}


@pytest.mark.parametrize("case", sorted(BAD_TEXTS))
def test_a_header_that_cannot_be_read_is_refused(tmp_path: Path, case: str) -> None:
    text, claimed, message = BAD_TEXTS[case]
    with pytest.raises(ModelFilesError, match=message):
        read_header(write_raw(tmp_path, text, b"", claimed))


@pytest.mark.parametrize("content", [b"", b"\x02\x00"])
def test_a_file_shorter_than_its_length_field_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelFilesError, match=f"only {len(content)} bytes"):
        read_header(path)


class Bomb:
    """Unpickled, it would create the sentinel file."""

    def __init__(self, sentinel: Path) -> None:
        self.sentinel = sentinel

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.sentinel,))


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_a_renamed_pickle_is_refused_and_never_run(tmp_path: Path, protocol: int) -> None:
    sentinel = tmp_path / "ran"
    path = tmp_path / "model.safetensors"
    path.write_bytes(pickle.dumps(Bomb(sentinel), protocol=protocol))
    with pytest.raises(ModelFilesError, match="pickle"):
        read_header(path)
    assert not sentinel.exists()


def test_a_renamed_torch_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02.")
    with pytest.raises(ModelFilesError, match="pickle"):
        read_header(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFilesError, match=r"gone\.safetensors cannot be read"):
        read_header(tmp_path / "gone.safetensors")


def test_an_index_gives_the_shard_of_each_tensor(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps({"metadata": {}, "weight_map": {"a": "one.safetensors"}}))
    assert dict(read_index(path)) == {"a": "one.safetensors"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"weight_map": {"a": "../one.safetensors"}}, "no shard beside it"),
        ({"weight_map": {"a": "..\\one.safetensors"}}, "no shard beside it"),
        ({"weight_map": {"a": "C:one.safetensors"}}, "no shard beside it"),
        ({"weight_map": {"a": "one.bin"}}, "no shard beside it"),
        ({"weight_map": {"a": 1}}, "no shard beside it"),
        ({"weight_map": {}}, "no 'weight_map'"),
        ({}, "no 'weight_map'"),
        ([], "not an object"),
    ],
)
def test_an_index_that_leads_elsewhere_is_refused(
    tmp_path: Path, content: object, message: str
) -> None:
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ModelFilesError, match=message):
        read_index(path)


@pytest.mark.parametrize("length", [640, 896, 1152, 1408])
def test_a_header_whose_length_begins_like_a_pickle_is_read(tmp_path: Path, length: int) -> None:
    header = b'{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}'.ljust(length)
    path = tmp_path / "model.safetensors"
    path.write_bytes(length.to_bytes(8, "little") + header + bytes(4))
    assert list(read_header(path).tensors) == ["a"]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "git-lfs pointer"),
        (b"<!DOCTYPE html>\n<html></html>", "a web page"),
        (b"\n\n<html><body>", "a web page"),
    ],
)
def test_a_text_in_place_of_weights_is_told(content: bytes, what: str, tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelFilesError, match=what):
        read_header(path)
