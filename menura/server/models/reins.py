"""What a performance tells the process that speaks it."""

from typing import Protocol


class Reins(Protocol):
    """What a performance tells the process that speaks it. Nothing here waits, but `drained`."""

    @property
    def are_wanted(self) -> bool:
        """Whether others may wait for the row that this order has."""
        ...

    def say(self, text: str) -> None:
        """Give more words."""
        ...

    def flush(self) -> None:
        """Say that the words so far are complete."""
        ...

    def end_words(self) -> None:
        """Say that no more words come."""
        ...

    def cancel(self) -> None:
        """Ask for the order to be dropped."""
        ...

    def hold(self) -> None:
        """Ask for no further segments for now."""
        ...

    def go_on(self) -> None:
        """Ask for further segments again."""
        ...

    async def drained(self) -> None:
        """Nothing, when the process has room for more."""
        ...
