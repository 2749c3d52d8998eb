"""How long who is turned away should wait, guessed from how long the last orders took."""

SHORTEST_S, LONGEST_S = 1.0, 120.0
_FIRST_GUESS_S = 5.0
_WEIGHT = 0.2  # of the newest order in the running mean


class WaitingTimes:
    """The running mean of the time that an order takes."""

    def __init__(self) -> None:
        self._mean_s: float | None = None

    def add(self, seconds: float) -> None:
        """Take note of an order that took so long."""
        mean_s = seconds if self._mean_s is None else self._mean_s
        self._mean_s = mean_s + _WEIGHT * (seconds - mean_s)

    def until_free_s(self, n_waiting: int, n_places: int) -> float:
        """When a place is likely to be free for one more, in seconds: from 1 to 120."""
        mean_s = _FIRST_GUESS_S if self._mean_s is None else self._mean_s
        return min(max(mean_s * (n_waiting + 1) / n_places, SHORTEST_S), LONGEST_S)
