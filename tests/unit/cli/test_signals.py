import signal
import sys
import threading
from collections.abc import Iterator

import pytest

from menura.cli import signals

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The handlers of a process that has just begun, and the old ones afterwards."""
    before = {number: signal.getsignal(number) for number in NUMBERS}
    monkeypatch.setattr(sys, "unraisablehook", sys.unraisablehook)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def test_without_a_listener_nothing_arrives() -> None:
    signals.work()
    signals.leave()
    assert signals.arrived() is None


@pytest.mark.parametrize("number", NUMBERS)
def test_a_signal_at_the_start_waits_for_the_work(number: signal.Signals) -> None:
    signals.listen()
    signal.raise_signal(number)
    assert signals.arrived() == number
    with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else SystemExit):
        signals.work()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_stop_ends_by_an_exception(number: signal.Signals) -> None:
    signals.listen()
    signals.work()
    with pytest.raises(SystemExit) as ended:
        signal.raise_signal(number)
    assert ended.value.code == 128 + number
    assert signals.arrived() == number


def test_ctrl_c_is_python_s_own_exception() -> None:
    signals.listen()
    signals.work()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_once_it_leaves_a_signal_ends_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    codes: list[int] = []
    monkeypatch.setattr("os._exit", codes.append)
    signals.listen()
    signals.leave()
    signal.raise_signal(signal.SIGINT)
    assert codes == [130]


def test_at_the_very_end_ctrl_c_changes_nothing() -> None:
    signals.end()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signals.listen()
    signals.leave()
    signals.end()
    signal.raise_signal(signal.SIGINT)
    assert signals.arrived() is None


def test_what_the_parent_switched_off_stays_off() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signals.listen()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.raise_signal(signal.SIGTERM)
    assert signals.arrived() == signal.SIGTERM


def test_a_signal_that_python_could_not_raise_comes_again() -> None:
    signals.listen()
    signals.work()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        lose_and_wait()


class Losing:
    """Python can raise nothing out of the end of an object."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __del__(self) -> None:
        raise self.error


def lose_and_wait() -> None:
    Losing(KeyboardInterrupt())
    assert not threading.Event().wait(timeout=60), "nothing came"


def test_other_lost_exceptions_are_told_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(
        sys, "__unraisablehook__", lambda lost: told.append(type(lost.exc_value).__name__)
    )
    signals.listen()
    Losing(ValueError())
    assert told == ["ValueError"]


def test_a_server_hears_the_first_signal_and_ends_by_the_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    codes: list[int] = []
    monkeypatch.setattr("os._exit", codes.append)
    calls: list[str] = []
    signals.listen()
    signals.work()
    with signals.handed_to(lambda: calls.append("stop")):
        signal.raise_signal(signal.SIGTERM)
        assert (calls, codes, signals.arrived()) == (["stop"], [], None)
        signal.raise_signal(signal.SIGINT)
    assert (calls, codes) == (["stop"], [130])


def test_after_a_server_signals_are_exceptions_again() -> None:
    signals.listen()
    signals.work()
    with signals.handed_to(lambda: None):
        pass
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_without_a_listener_a_server_hears_nothing() -> None:
    with signals.handed_to(lambda: None):
        assert signals.arrived() is None
