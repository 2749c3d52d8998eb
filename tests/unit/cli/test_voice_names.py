from pathlib import Path

import pytest

from menura.cli.voice_names import names_in_library
from tests.kept_voices import kept


def test_a_name_is_completed() -> None:
    for label in ("Anna", "Anna, calm", "Ben"):
        kept(label)
    assert names_in_library("an") == ["Anna", "Anna, calm"]
    assert names_in_library("") == ["Anna", "Anna, calm", "Ben"]
    assert names_in_library("x") == []


def test_where_nothing_can_be_read_nothing_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").write_text("")
    monkeypatch.setenv("MENURA_HOME", str(tmp_path))
    assert names_in_library("") == []
