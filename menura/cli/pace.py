"""How long a run will take, told once and early where it is much longer than what it makes."""

from time import perf_counter

from menura.cli.quantities import estimate

_SLOW = 2.0  # seconds of work for one of audio, from which on it is worth a word
_LONG_S = 20.0  # a shorter run is over before one could do anything about it
_SOON_S = 2.0  # what comes before is mostly warming up


class Pace:
    """The time that a run takes in all, from the share of it that is done."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self._done = 0.0
        self._is_told = False

    def slowness(self, done: float, audio_s: float) -> str:
        """A sentence, once, when it shows that the work will take much longer than its audio.

        `audio_s` is about how much the model makes, in seconds. Only a share (0 to 1) that has
        grown is looked at: models may report theirs rarely.
        """
        spent_s = perf_counter() - self._began
        if self._is_told or done <= self._done or spent_s < _SOON_S:
            return ""
        self._done = done
        total_s = spent_s / done
        if total_s < max(_LONG_S, _SLOW * audio_s):
            return ""
        self._is_told = True
        takes = f"this takes about {estimate(total_s)} here"
        if audio_s:
            times = f"{total_s / audio_s:.0f} times as long"
            takes += f" to make about {estimate(audio_s)} of audio, {times}"
        return f"{takes}: about {estimate(total_s - spent_s)} left"
