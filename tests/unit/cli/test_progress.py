import re

import pytest

from menura.cli import progress
from menura.cli.progress import Progress
from tests.command_line import Stream


def drawn(monkeypatch: pytest.MonkeyPatch, *, shown: bool, seconds: float) -> str:
    """What a second update draws, so many seconds after the beginning."""
    now = [100.0]
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])
    monkeypatch.setattr("sys.stderr", err := Stream(terminal=True))
    with Progress("speaking", shown=shown) as bar:
        bar.update(1, 10, "early")
        now[0] += seconds
        bar.update(5, 10, "2 s of audio [red]")
    return err.bytes.getvalue().decode()


def test_a_long_work_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    picture = drawn(monkeypatch, shown=True, seconds=1.5)
    assert "speaking" in picture
    assert " 50 %" in picture
    assert "2 s of audio [red]" in picture
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", picture)
    assert re.search(r"(\d:\d\d:\d\d|-:--:--) left", plain)
    assert "early" not in picture


def test_a_short_work_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, shown=True, seconds=0.9) == ""


def test_nothing_is_drawn_where_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawn(monkeypatch, shown=False, seconds=9) == ""
