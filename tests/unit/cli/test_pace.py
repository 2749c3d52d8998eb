import pytest

from menura.cli import pace
from menura.cli.pace import Pace


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time as `Pace` sees it, in seconds; change its one entry."""
    time = [100.0]
    monkeypatch.setattr(pace, "perf_counter", lambda: time[0])
    return time


def test_a_run_slower_than_twice_real_time_is_told_once_with_the_time_left(
    now: list[float],
) -> None:
    found = Pace()
    now[0] += 30.0
    assert found.slowness(0.05, 12.0) == (
        "this takes about 10 min here to make about 12 s of audio, 50 times as long: about "
        "9 min 30 s left"
    )
    now[0] += 30.0
    assert found.slowness(0.06, 12.0) == ""


@pytest.mark.parametrize(
    ("spent_s", "done"),
    [
        (2.3, 0.1),  # 23 s for 12 s of audio
        (3.0, 0.2),  # over in 15 s
        (1.9, 0.001),  # too early to say
        (50.0, 0.0),  # nothing is known
    ],
)
def test_nothing_is_told_of_a_run_that_is_quick_or_unknown(
    now: list[float], spent_s: float, done: float
) -> None:
    found = Pace()
    now[0] += spent_s
    assert found.slowness(done, 12.0) == ""


def test_a_share_that_did_not_grow_says_nothing_of_the_pace(now: list[float]) -> None:
    found = Pace()
    now[0] += 5.0
    assert found.slowness(0.5, 12.0) == ""
    now[0] += 60.0
    assert found.slowness(0.5, 12.0) == ""
    assert found.slowness(0.51, 12.0) != ""


def test_a_run_that_becomes_slow_is_told_then(now: list[float]) -> None:
    found = Pace()
    now[0] += 5.0
    assert found.slowness(0.3, 10.0) == ""
    now[0] += 95.0
    assert "10 times as long" in found.slowness(1.0, 10.0)


def test_nothing_is_compared_with_audio_of_unknown_length(now: list[float]) -> None:
    found = Pace()
    now[0] += 30.0
    assert found.slowness(0.5, 0.0) == "this takes about 1 min here: about 30 s left"
