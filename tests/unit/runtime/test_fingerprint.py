import hashlib
from pathlib import Path

import pytest

from menura.errors import ModelFilesError
from menura.runtime import fingerprint as fingerprint_module
from menura.runtime.fingerprint import fingerprint


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_it_is_the_digest_of_sizes_and_heads(tmp_path: Path) -> None:
    file = write(tmp_path / "a", b"abc")
    expected = hashlib.sha256((3).to_bytes(8, "big") + b"abc").hexdigest()[:16]
    assert fingerprint([file]) == expected


def test_content_size_and_order_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint_module, "_HEAD_BYTES", 2)
    contents = (b"abc", b"xbc", b"abcd", b"abx")
    one, first, longer, tail = (
        write(tmp_path / str(index), content) for index, content in enumerate(contents)
    )
    assert len({fingerprint([file]) for file in (one, first, longer)}) == 3
    assert fingerprint([tail]) == fingerprint([one])  # the same head and size
    assert fingerprint([one, longer]) != fingerprint([longer, one])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFilesError, match=r"gone.*cannot be read"):
        fingerprint([tmp_path / "gone"])
