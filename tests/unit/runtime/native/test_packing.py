"""A packed file is made once, read ever after, and made again when it does not fit."""

import mmap
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

from menura.runtime.native import packing
from menura.runtime.native.packing import Bytes, Origin, Source, opened, taken

ORIGIN = Origin(kernels="7", mode="int8", weights="abc")
SIZES = {"first": 1, "second": 5000, "third": 64, "nothing": 0, "last": 130}


def numbers(name: str) -> Bytes:
    return np.random.default_rng(len(name)).integers(0, 256, SIZES[name], np.uint8)


class Maker:
    """Gives the arrays, and counts how often it is asked."""

    def __init__(self) -> None:
        self.made: list[str] = []

    def __call__(self) -> list[Source]:
        return [Source(name, size, self._maker(name)) for name, size in SIZES.items()]

    def _maker(self, name: str) -> Callable[[], Bytes]:
        def make() -> Bytes:
            self.made.append(name)
            return numbers(name)

        return make


def is_right(arrays: Mapping[str, Bytes]) -> bool:
    return list(arrays) == list(SIZES) and all(
        np.array_equal(arrays[name], numbers(name)) for name in SIZES
    )


def test_a_file_is_made_once_and_then_only_taken(tmp_path: Path) -> None:
    path, maker = tmp_path / "cache" / "a.packed", Maker()
    first = opened(path, ORIGIN, maker)
    again = opened(path, ORIGIN, maker)
    assert maker.made == list(SIZES)
    assert (first.was_made, again.was_made, first.not_kept) == (True, False, "")
    assert is_right(first.arrays)
    assert is_right(again.arrays)
    assert [entry.name for entry in path.parent.iterdir()] == ["a.packed"]


def test_arrays_are_aligned_and_cannot_be_written(tmp_path: Path) -> None:
    packed = opened(tmp_path / "a.packed", ORIGIN, Maker())
    assert {array.ctypes.data % 64 for array in packed.arrays.values() if array.size} == {0}
    with pytest.raises(ValueError, match="read-only"):
        packed.arrays["last"][0] = 1


@pytest.mark.parametrize("change", [{"kernels": "8"}, {"mode": "bf16"}, {"weights": "abd"}])
def test_a_file_of_another_origin_is_made_again_in_its_place(
    change: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "a.packed"
    opened(path, ORIGIN, Maker())
    other = replace(ORIGIN, **change)
    assert taken(path, other) is None
    maker = Maker()
    assert opened(path, other, maker).was_made
    assert maker.made == list(SIZES)
    assert taken(path, ORIGIN) is None
    assert taken(path, other) is not None


def cut(data: bytes) -> bytes:
    return data[:-1]


def grown(data: bytes) -> bytes:
    return data + b"\0"


def other_magic(data: bytes) -> bytes:
    return b"X" + data[1:]


def huge_text(data: bytes) -> bytes:
    return data[:8] + b"\xff" * 8 + data[16:]


def broken_text(data: bytes) -> bytes:
    return data[:16] + b"[" + data[17:]


def moved_array(data: bytes) -> bytes:
    return data.replace(b'["first", ', b'["first",-', 1)


@pytest.mark.parametrize("damage", [cut, grown, other_magic, huge_text, broken_text, moved_array])
def test_a_damaged_file_is_made_again(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = tmp_path / "a.packed"
    opened(path, ORIGIN, Maker())
    path.write_bytes(damage(path.read_bytes()))
    assert taken(path, ORIGIN) is None
    assert is_right(opened(path, ORIGIN, Maker()).arrays)
    assert taken(path, ORIGIN) is not None


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_may_write_is_made_again(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "a.packed"
    opened(path, ORIGIN, Maker())
    path.chmod(mode)
    assert taken(path, ORIGIN) is None
    maker = Maker()
    assert is_right(opened(path, ORIGIN, maker).arrays)
    assert maker.made == list(SIZES)
    assert not path.stat().st_mode & 0o022


@pytest.mark.parametrize(("owner", "is_taken"), [(0, True), (1000, True), (1001, False)])
def test_a_file_must_be_the_users_own_or_the_administrators(
    owner: int, is_taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.packed"
    opened(path, ORIGIN, Maker())
    mode, *facts = path.stat()
    facts[3] = owner
    monkeypatch.setattr(os, "fstat", lambda _: os.stat_result((mode, *facts)))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert (taken(path, ORIGIN) is not None) is is_taken


def test_a_generous_umask_keeps_nothing_from_being_believed(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        packed = opened(tmp_path / "a.packed", ORIGIN, Maker())
    finally:
        os.umask(before)
    assert packed.not_kept == ""
    assert taken(tmp_path / "a.packed", ORIGIN) is not None


def test_where_every_file_can_be_written_by_others_the_arrays_stay_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packing, "_is_safe", lambda _: False)
    packed = opened(tmp_path / "a.packed", ORIGIN, Maker())
    assert is_right(packed.arrays)
    assert "can be written by others" in packed.not_kept


def lie_in_huge_pages(n_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let so many bytes of every file that is mapped be found in huge pages."""
    counts = cycle([0, n_bytes])
    monkeypatch.setattr(packing, "_huge_file_bytes", lambda: next(counts))


@pytest.mark.parametrize("n_bytes", [0, 2**40])
def test_a_file_is_mapped_or_copied_in_pieces(
    n_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie_in_huge_pages(n_bytes, monkeypatch)
    monkeypatch.setattr(packing, "_READ_BYTES", 1000)
    packed = opened(tmp_path / "a.packed", ORIGIN, Maker())
    assert is_right(packed.arrays)
    with pytest.raises(ValueError, match="read-only"):
        packed.arrays["last"][0] = 1


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="no huge pages here")
@pytest.mark.parametrize(
    ("huge_bytes", "n_forgotten"), [([2**40], 0), ([0, 0], 1), ([0, 2**40, 2**40], 2)]
)
def test_a_file_in_small_pages_is_read_anew_where_a_part_of_it_then_comes_in_huge_ones(
    huge_bytes: list[int], n_forgotten: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, part = tmp_path / "a.packed", mmap.ALLOCATIONGRANULARITY
    monkeypatch.setattr(packing, "_TRIED_BYTES", part)
    numbers = np.arange(3 * part).astype(np.uint8)
    opened(path, ORIGIN, lambda: [Source("first", 3 * part, lambda: numbers)])
    counts = iter([count for n_bytes in huge_bytes for count in (0, n_bytes)])
    monkeypatch.setattr(packing, "_huge_file_bytes", lambda: next(counts))
    forgotten: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda _, *what: forgotten.append(what[:2]))
    arrays = taken(path, ORIGIN)
    assert arrays is not None
    np.testing.assert_array_equal(arrays["first"], numbers)
    assert list(counts) == []
    middle = path.stat().st_size // 2 // part * part
    assert forgotten == [(middle, part), (0, 0)][:n_forgotten]


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="files are not copied here")
def test_a_file_that_becomes_shorter_while_it_is_read_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie_in_huge_pages(0, monkeypatch)
    opened(tmp_path / "a.packed", ORIGIN, Maker())
    monkeypatch.setattr(os, "preadv", lambda *_: 0)
    assert taken(tmp_path / "a.packed", ORIGIN) is None


def test_without_huge_pages_the_file_is_mapped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    packed = opened(tmp_path / "a.packed", ORIGIN, Maker())
    assert is_right(packed.arrays)
    with pytest.raises(ValueError, match="read-only"):
        packed.arrays["last"][0] = 1


def test_a_file_that_failed_leaves_nothing(tmp_path: Path) -> None:
    def broken() -> Bytes:
        raise RuntimeError("no numbers")

    with pytest.raises(RuntimeError, match="no numbers"):
        opened(tmp_path / "a.packed", ORIGIN, lambda: [Source("first", 1, broken)])
    assert list(tmp_path.iterdir()) == []


def test_where_the_disk_refuses_the_arrays_stay_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    packed = opened(tmp_path / "file" / "a.packed", ORIGIN, Maker())
    assert is_right(packed.arrays)
    assert packed.was_made
    assert "cannot be written" in packed.not_kept


def test_two_writers_leave_one_whole_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.packed"

    def late(made: Path, target: Path) -> None:
        monkeypatch.undo()
        opened(path, ORIGIN, Maker())  # another process was faster
        made.rename(target)

    monkeypatch.setattr(Path, "replace", late)
    assert is_right(opened(path, ORIGIN, Maker()).arrays)
    assert list(tmp_path.iterdir()) == [path]
