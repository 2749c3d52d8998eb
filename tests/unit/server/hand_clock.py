"""A clock that a test moves by hand: calls come when, and only when, it says so."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class HandTimer:
    due: float
    call: Callable[[], None]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


@dataclass
class HandClock:
    """A `Clock`. `timers` are the calls that are still to come."""

    time: float = 1000.0
    all_timers: list[HandTimer] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event, repr=False)

    def now(self) -> float:
        return self.time

    def call_later(self, delay_s: float, call: Callable[[], None]) -> HandTimer:
        self.all_timers.append(HandTimer(self.time + delay_s, call))
        self.news.set()
        return self.all_timers[-1]

    @property
    def timers(self) -> list[HandTimer]:
        return [timer for timer in self.all_timers if not timer.is_cancelled]

    async def waits_for(self, delay_s: float) -> None:
        """Nothing, when somebody waits for a call in so many seconds from now."""
        while all(timer.due != self.time + delay_s for timer in self.timers):
            self.news.clear()
            await self.news.wait()

    def move(self, seconds: float) -> None:
        """Move on, and make each call at its own time."""
        end = self.time + seconds
        while due := [timer for timer in self.timers if timer.due <= end]:
            timer = min(due, key=lambda each: each.due)
            self.all_timers.remove(timer)
            self.time = max(self.time, timer.due)
            timer.call()
        self.time = end
        self.all_timers = self.timers
