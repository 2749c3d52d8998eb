"""Where the speech in a canvas of latents ends, while the canvas still grows block by block.

The model fills what follows the speech with latents that hardly move. The speech ends where the
first such stretch begins; what follows is not decoded. A latent may be decoded before later blocks
are there as soon as no later block can make it the beginning of a flat stretch.

Legend: T latents, C latent channels.
"""

import numpy as np

from menura.engines.echo_tts.latents import FLAT_FRAMES, FLAT_STD, flattening_point
from menura.speech import FloatArray

# The bound is computed in another order than the spread itself, so it needs a little room.
_ROUNDING = 1.001


class SpeechEnd:
    """The latents of one utterance as they come, and where its speech ends."""

    def __init__(self) -> None:
        self._latents: FloatArray | None = None
        self._n_given = 0
        self.n_trimmed = 0
        self.is_found = False

    def add(self, latents: FloatArray, *, is_last: bool) -> FloatArray:
        """The latents [T, C] that are speech for certain and were not given before.

        After the last ones have come, `is_found` says whether the speech ended before them, and
        `n_trimmed` how many were left out after its end.
        """
        before = [] if self._latents is None else [self._latents]
        canvas = np.concatenate([*before, latents])
        self._latents = canvas
        end = flattening_point(canvas)
        # Without its last block, a canvas ends in the open: only a whole flat stretch counts.
        self.is_found = end < len(canvas) if is_last else end + FLAT_FRAMES <= len(canvas)
        self.n_trimmed = len(canvas) - end if self.is_found else 0
        certain = end if self.is_found or is_last else n_certain(canvas)
        given = canvas[self._n_given : certain]
        self._n_given = certain
        return given


def n_certain(canvas: FloatArray) -> int:
    """How many of the latents [T, C] are speech whatever comes after them.

    A stretch that begins in the canvas and goes on after it is as flat as can be if all that is to
    come equals its mean. If even that is not flat, no stretch begins there.
    """
    n_frames = len(canvas)
    n_values = FLAT_FRAMES * canvas.shape[1]
    for first in range(max(n_frames - FLAT_FRAMES + 1, 0), n_frames):
        here = canvas[first:].astype(np.float64)
        least = np.square(here - here.mean()).sum() / (n_values - 1)
        if np.sqrt(least) < FLAT_STD * _ROUNDING:
            return first
    return n_frames
