"""Forcing the speaker: while the time is high, the speaker's keys and values are multiplied.

The keys that a row was given are shared with other rows and are never written: scaling makes new
ones, and taking it back is going back to the old ones.

Source: Echo-TTS (Darefsky), 2025.
"""

from dataclasses import dataclass

from torch import Tensor

from menura.engines.echo_tts.dit import Keys


@dataclass(frozen=True)
class SpeakerScale:
    """Keys and values times `scale` from a block's first step until the time falls below `min_t`.

    In the first `max_layers` layers, or in all where that is None. A scale that no step takes back
    ends with its block, unless `compounds`: then the next block's comes on top of it.
    """

    scale: float
    max_layers: int | None
    min_t: float
    compounds: bool = False


class SpeakerContext:
    """The speaker's keys as one row sees them now: scaled or not, or none where no speaker is."""

    def __init__(self, speaker: Keys | None, scale: SpeakerScale | None) -> None:
        self.keys = speaker
        self._speaker = speaker
        self._scale = scale
        self._n_times = 0

    def enter_block(self) -> None:
        """Scale the keys for a block's first step."""
        if self._scale is not None:
            # parity: a speaker scale that no step takes back comes on top of it in the next block
            self._force(self._scale, self._n_times + 1 if self._scale.compounds else 1)

    def leave(self, t: Tensor, t_next: Tensor) -> None:
        """Take the scale back if the step between two of the times [n + 1] goes below `min_t`."""
        if self._scale is not None and t >= self._scale.min_t > t_next:
            self._force(self._scale, self._n_times - 1)

    def _force(self, scale: SpeakerScale, n_times: int) -> None:
        self._n_times = n_times
        if self._speaker is None or n_times == 0:
            self.keys = self._speaker
            return
        factor, n_layers = scale.scale**n_times, scale.max_layers
        n_forced = len(self._speaker) if n_layers is None else n_layers
        forced = tuple((key * factor, value * factor) for key, value in self._speaker[:n_forced])
        self.keys = forced + self._speaker[n_forced:]
