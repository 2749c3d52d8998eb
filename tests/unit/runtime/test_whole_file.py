from pathlib import Path

import pytest

from menura.runtime.whole_file import whole_file


def test_a_file_takes_its_name_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with whole_file(path) as file:
        file.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_what_stood_there_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), whole_file(path) as file:
        file.writelines([b"half", None])  # type: ignore[list-item]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
