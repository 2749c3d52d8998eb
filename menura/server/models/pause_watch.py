"""Looks whether the words of an order go on: a row that waits for words is of use to nobody."""

from collections.abc import Callable

from menura.server.models.clock import Clock, Timer
from menura.server.models.reins import Reins


class PauseWatch:
    """Calls `flush` when words stay away for `pause_s` while others may wait for the row."""

    def __init__(
        self, clock: Clock, pause_s: float, reins: Reins, flush: Callable[[], None]
    ) -> None:
        self._clock = clock
        self._pause_s = pause_s
        self._reins = reins
        self._flush = flush
        self._timer: Timer | None = None

    def start(self) -> None:
        """Look after a while from now."""
        self.stop()
        self._timer = self._clock.call_later(self._pause_s, self._look)

    def stop(self) -> None:
        """Look no more, until there are words again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._reins.are_wanted:
            self._flush()
        else:
            self.start()
