"""Arrays in files: what is written comes back, and nothing unsound comes through."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from menura.errors import InvalidValueError, ModelFilesError, OutputError
from menura.runtime.array_files import array_bytes, arrays_of, read_arrays, write_arrays

MAX_BYTES = 10_000
ARRAYS: dict[str, NDArray[np.generic]] = {
    "codes": np.arange(12, dtype=np.int64).reshape(3, 4),
    "embedding": np.linspace(-1, 1, 5, dtype=np.float32),
    "none": np.zeros((0, 4), np.float32),
    "one": np.array(2.5, np.float64),
    "bytes": np.arange(3, dtype=np.uint8),
    "across": np.arange(6, dtype=np.int32).reshape(2, 3).T,
}


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write_arrays(path, ARRAYS, {"note": "für dich"})
    found = read_arrays(path, max_bytes=MAX_BYTES)
    assert dict(found.metadata) == {"note": "für dich"}
    assert list(found.arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert found.arrays[name].dtype == array.dtype
        assert np.array_equal(found.arrays[name], array)
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]


def test_the_reference_library_reads_and_writes_the_same(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours.safetensors", tmp_path / "theirs.safetensors"
    write_arrays(ours, ARRAYS, {"note": "x"})
    loaded = load_file(ours)
    assert all(np.array_equal(loaded[name], array) for name, array in ARRAYS.items())
    with safe_open(ours, framework="numpy") as file:
        assert file.metadata() == {"note": "x"}
    save_file({name: np.array(array, order="C") for name, array in ARRAYS.items()}, theirs)
    found = read_arrays(theirs, max_bytes=MAX_BYTES)
    assert all(np.array_equal(found.arrays[name], array) for name, array in ARRAYS.items())


def test_bytes_are_read_as_a_file_is(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write_arrays(path, ARRAYS, {"note": "x"})
    assert array_bytes(ARRAYS, {"note": "x"}) == path.read_bytes()
    found = arrays_of(path.read_bytes(), path)
    assert found.metadata == {"note": "x"}
    assert all(np.array_equal(found.arrays[name], array) for name, array in ARRAYS.items())
    with pytest.raises(ModelFilesError, match=r"a\.safetensors is a pickle"):
        arrays_of(b"\x80\x04" + bytes(20), path)


def test_a_header_of_millions_of_arrays_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    length = 40 * 2**20
    path.write_bytes(length.to_bytes(8, "little") + b"{" * length)
    tracemalloc.start()
    try:
        with pytest.raises(ModelFilesError, match="its header claims 41,943,040 bytes"):
            read_arrays(path, max_bytes=64 * 2**20)
        assert tracemalloc.get_traced_memory()[1] < 200_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(number: float, tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write_arrays(path, {"embedding": np.array([1.0, number], np.float32)}, {})
    with pytest.raises(ModelFilesError, match="'embedding' holds NaN or infinity"):
        read_arrays(path, max_bytes=MAX_BYTES)


@pytest.mark.parametrize("dtype", [np.float16, np.complex64, np.bool_])
def test_other_dtypes_are_neither_written_nor_read(dtype: type[np.generic], tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    array = np.ones(2, dtype)
    with pytest.raises(InvalidValueError, match="what can be saved is float32, float64"):
        write_arrays(path, {"x": array}, {})
    assert list(tmp_path.iterdir()) == []
    save_file({"x": array}, path)
    with pytest.raises(ModelFilesError, match="allowed are F32, F64"):
        read_arrays(path, max_bytes=MAX_BYTES)


def test_a_file_over_the_limit_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write_arrays(path, {"x": np.zeros(10, np.float32)}, {})
    with pytest.raises(ModelFilesError, match="over 100"):
        read_arrays(path, max_bytes=100)


def test_every_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write_arrays(path, {"x": np.arange(4, dtype=np.int64)}, {"note": "x"})
    whole = path.read_bytes()
    for end in range(len(whole)):
        path.write_bytes(whole[:end])
        with pytest.raises(ModelFilesError):
            read_arrays(path, max_bytes=MAX_BYTES)


def test_a_failed_write_leaves_what_stood_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.safetensors"
    write_arrays(path, {"x": np.ones(1, np.float32)}, {})
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        write_arrays(path, {"x": np.zeros(9, np.float32)}, {})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.safetensors"]


def test_a_folder_that_is_not_there_is_an_error_of_the_output(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="could not be written"):
        write_arrays(tmp_path / "no" / "a.safetensors", {}, {})
    with pytest.raises(OutputError, match="could not be written"):
        write_arrays(tmp_path, {}, {})


def test_numbers_start_at_a_multiple_of_eight(tmp_path: Path) -> None:
    for length in range(8):
        path = tmp_path / "a.safetensors"
        write_arrays(path, {"x": np.ones(1, np.float32)}, {"note": "x" * length})
        header_bytes = int.from_bytes(path.read_bytes()[:8], "little")
        assert header_bytes % 8 == 0
        assert "x" in json.loads(path.read_bytes()[8 : 8 + header_bytes])
