"""Every test of the store has its own empty home."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.store.fake_hub import FakeHub, block_network, running_hub, use_clean_home


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    use_clean_home(monkeypatch, tmp_path / "home")
    return tmp_path / "home"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[FakeHub]:
    with running_hub(monkeypatch) as running:
        yield running


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    block_network(monkeypatch)
