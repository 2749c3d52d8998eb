"""Who is turned away is told a time that fits what is going on."""

import pytest

from menura.server.models.waiting_times import WaitingTimes


def test_it_grows_with_who_waits_and_shrinks_with_the_places() -> None:
    times = WaitingTimes()
    times.add(10.0)
    assert times.until_free_s(0, 1) == 10.0
    assert times.until_free_s(5, 2) == 30.0


def test_the_last_orders_count_most() -> None:
    times = WaitingTimes()
    times.add(10.0)
    times.add(20.0)
    assert times.until_free_s(0, 1) == pytest.approx(12.0)


def test_it_stays_between_a_second_and_two_minutes() -> None:
    times = WaitingTimes()
    assert times.until_free_s(0, 1) == 5.0
    times.add(0.01)
    assert times.until_free_s(0, 4) == 1.0
    times.add(10_000)
    assert times.until_free_s(50, 1) == 120.0
