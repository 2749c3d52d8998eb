from dataclasses import dataclass, field

import pytest

from menura.server.models.pause_watch import PauseWatch
from tests.unit.server.hand_clock import HandClock
from tests.unit.server.models.test_performance import SaidReins


@dataclass
class Scene:
    """A watch of ten seconds."""

    reins: SaidReins = field(default_factory=SaidReins)
    clock: HandClock = field(default_factory=HandClock)

    def __post_init__(self) -> None:
        self.watch = PauseWatch(self.clock, 10, self.reins, self.reins.flush)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_words_that_stay_away_are_flushed_once_where_others_want_the_row(scene: Scene) -> None:
    scene.reins.are_wanted = True
    scene.watch.start()
    scene.clock.move(9)
    assert scene.reins.told == []
    scene.clock.move(100)
    assert scene.reins.told == ["flush"]
    assert scene.clock.timers == []


def test_more_words_in_time_leave_the_row(scene: Scene) -> None:
    scene.reins.are_wanted = True
    for _ in range(5):
        scene.watch.start()
        scene.clock.move(9)
    assert scene.reins.told == []


def test_a_row_that_nobody_wants_stays_until_somebody_does(scene: Scene) -> None:
    scene.watch.start()
    scene.clock.move(25)
    assert scene.reins.told == []
    scene.reins.are_wanted = True
    scene.clock.move(5)
    assert scene.reins.told == ["flush"]


def test_a_watch_that_was_stopped_does_nothing(scene: Scene) -> None:
    scene.watch.start()
    scene.watch.stop()
    scene.watch.stop()
    assert scene.clock.timers == []
