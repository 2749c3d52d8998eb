"""The one place, beside the server, that knows threads: callers of an engine take turns.

The lock is held for one call of the decoder, not for a whole speech: two open streams of one
thread go on side by side, and a caller that waits for its own words holds up nobody. A thread that
holds it may take it again: the garbage collector can close an abandoned stream at any moment.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from menura.engines.contract import (
    Decoder,
    Delivery,
    EndOfText,
    NoiseSource,
    Prompt,
    RowStep,
    Words,
)

if TYPE_CHECKING:
    from threading import RLock


class TurnTaking:
    """A decoder whose calls wait for the engine's lock."""

    def __init__(self, decoder: Decoder, lock: "RLock") -> None:
        self._decoder = decoder
        self._lock = lock

    @property
    def free_rows(self) -> Sequence[int]:
        """The rows that can be admitted to."""
        return self._decoder.free_rows

    @property
    def live(self) -> int:
        """How many rows can move now."""
        return self._decoder.live

    def admit(self, row: int, prompt: Prompt, noise: NoiseSource, delivery: Delivery) -> None:
        """Put an utterance into a free row."""
        with self._lock:
            self._decoder.admit(row, prompt, noise, delivery)

    def extend(self, row: int, more: Words | EndOfText) -> None:
        """Add words to a row."""
        with self._lock:
            self._decoder.extend(row, more)

    def step(self) -> list[RowStep]:
        """Move every row that can move by one step."""
        with self._lock:
            return self._decoder.step()

    def release(self, row: int) -> None:
        """Free the row at once."""
        with self._lock:
            self._decoder.release(row)
