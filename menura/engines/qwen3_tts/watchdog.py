"""When an utterance has gone astray: it runs far past its text, repeats itself, or falls silent.

Language models over codes do this now and then. The bounds are generous: speech that anybody would
call right never meets them. Exact mode does not use them.
"""

from collections import deque

import numpy as np

from menura.speech import FloatArray

# The budget of a text: this many times its expected duration, and a time for slow starts.
BUDGET_FACTOR = 3.0
BUDGET_EXTRA_S = 8.0
# First codes that repeat a pattern of at most this many frames, for this long.
LONGEST_PATTERN = 4
REPEATING_S = 3.0
# Below -60 dB of full scale, for this long.
SILENT_LEVEL = 1e-3
SILENT_S = 5.0


class Watchdog:
    """Watches one utterance; says when it should be ended."""

    def __init__(self, frame_rate_hz: float) -> None:
        self._frame_rate_hz = frame_rate_hz
        self._n_frames = 0
        self._budget_frames: float | None = None
        self._first_codes: deque[int] = deque(maxlen=round(REPEATING_S * frame_rate_hz))
        self._silent_s = 0.0

    def expect(self, seconds: float) -> None:
        """Note how long the whole text is expected to take; before, there is no budget."""
        budget_s = BUDGET_FACTOR * seconds + BUDGET_EXTRA_S
        self._budget_frames = budget_s * self._frame_rate_hz

    def note(self, first_code: int) -> None:
        """Note a frame by its first code."""
        self._n_frames += 1
        self._first_codes.append(first_code)

    def hear(self, samples: FloatArray, sample_rate_hz: int) -> None:
        """Note audible output [n]."""
        loud = np.flatnonzero(np.abs(samples) > SILENT_LEVEL)
        silent_from = int(loud[-1]) + 1 if loud.size else 0
        before = 0.0 if loud.size else self._silent_s
        self._silent_s = before + (samples.size - silent_from) / sample_rate_hz

    @property
    def alarm(self) -> str:
        """Why the utterance should end now, in words; empty while it is on its way."""
        if self._budget_frames is not None and self._n_frames >= self._budget_frames:
            return "it ran far past the time that its text should take"
        if self._silent_s >= SILENT_S:
            return f"it was silent for {SILENT_S:g} s"
        return f"it repeated itself for {REPEATING_S:g} s" if self._repeats() else ""

    def _repeats(self) -> bool:
        codes = list(self._first_codes)
        if len(codes) < (self._first_codes.maxlen or 0):
            return False
        return any(codes[n:] == codes[:-n] for n in range(1, LONGEST_PATTERN + 1))
