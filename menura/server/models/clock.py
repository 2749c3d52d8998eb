"""The time as the server reads it, so that a test can move it by hand instead of waiting."""

import asyncio
from collections.abc import Callable
from typing import Protocol


class Timer(Protocol):
    """A call that is to come."""

    def cancel(self) -> None:
        """Forget the call; one that was made stays made."""
        ...


class Clock(Protocol):
    """A time that only moves forward, and calls that come when it has moved far enough."""

    def now(self) -> float:
        """The time in seconds, from any beginning."""
        ...

    def call_later(self, delay_s: float, call: Callable[[], None]) -> Timer:
        """The timer of a call that comes in so many seconds, from the event loop."""
        ...


class LoopClock:
    """The running event loop's own time."""

    def now(self) -> float:
        """The loop's time in seconds."""
        return asyncio.get_running_loop().time()

    def call_later(self, delay_s: float, call: Callable[[], None]) -> Timer:
        """The loop's timer."""
        return asyncio.get_running_loop().call_later(delay_s, call)
