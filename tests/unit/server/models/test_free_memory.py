"""What the machine says of its memory is read, and what a model takes is guessed from its files."""

from pathlib import Path

import pytest

from menura.errors import ModelNotFoundError
from menura.runtime.devices import available_bytes
from menura.server.models.free_memory import needed_bytes


def test_the_available_memory_is_what_the_system_says(tmp_path: Path) -> None:
    file = tmp_path / "meminfo"
    file.write_text("MemTotal: 100 kB\nMemFree: 10 kB\nMemAvailable:   2048 kB\n")
    assert available_bytes(file) == 2048 * 1024
    file.write_text("MemTotal: 100 kB\n")
    assert available_bytes(file) is None
    assert available_bytes(tmp_path / "absent") is None


def test_a_model_needs_more_than_its_files(tmp_path: Path) -> None:
    (tmp_path / "tone.json").write_bytes(b"x" * 1000)
    assert needed_bytes(str(tmp_path)) == 1400 + 300_000_000
    with pytest.raises(ModelNotFoundError):
        needed_bytes("no-such-model")
