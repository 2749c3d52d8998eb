"""How long a run will take, told once and early where it is much longer than what it makes."""

from time import perf_counter

from menura.cli.quantities import duration

_SLOW = 2.0  # seconds of work for one of audio, from which on it is worth a word
_LONG_S = 20.0  # a shorter run is over before one could do anything about it
_SOON_S = 2.0  # what comes before is mostly warming up


class Pace:
    """The time that a run takes in all, from the share of it that is done."""

    def __init__(self, expected_s: float) -> None:
        self._expected_s = expected_s
        self._began = perf_counter()
        self._done = 0.0
        self._is_told = False

    def slowness(self, done: float) -> str:
        """A sentence, once, when it shows that the work will take much longer than its audio.

        Only a share (0 to 1) that has grown is looked at: models may report theirs rarely.
        """
        spent_s = perf_counter() - self._began
        if self._is_told or done <= self._done or spent_s < _SOON_S:
            return ""
        self._done = done
        total_s = spent_s / done
        if total_s < max(_LONG_S, _SLOW * self._expected_s):
            return ""
        self._is_told = True
        times = f", {total_s / self._expected_s:.0f} times as long" if self._expected_s else ""
        return (
            f"this takes about {duration(total_s)} here for about {duration(self._expected_s)} of "
            f"audio{times}: about {duration(total_s - spent_s)} are left"
        )
