"""What every recording must be before a voice is made of it."""

import math

import numpy as np

from menura.audio.pcm import FloatArray
from menura.errors import AudioTooLargeError, InvalidValueError

LONGEST_S = 300.0
BEST_S = (5.0, 15.0)
GOOD_S = (3.0, 30.0)  # shorter ones carry little of a voice; with longer ones models stumble
SILENT_PEAK = 1e-4
LOUDEST_PEAK = 4.0  # full scale is 1; decoders overshoot a little


class VoiceWarning(UserWarning):
    """A recording will make a voice, but perhaps not a good one."""


def check_clip(samples: FloatArray, rate_hz: int, shortest_s: float, best: str) -> None:
    """Nothing, for a clip's samples [n] that a voice can be made of.

    `best` is what to give instead, such as "5 to 15 seconds of clear speech".

    Raises: InvalidValueError: it is too short, silent, beyond full scale, or not all numbers;
        AudioTooLargeError: it is too long.
    """
    seconds = len(samples) / rate_hz
    if seconds < shortest_s:
        n_needed = math.ceil(shortest_s * rate_hz)
        raise InvalidValueError(
            f"the clip has {seconds:.3f} s ({len(samples)} samples), and a voice needs at least "
            f"{shortest_s:.3f} s ({n_needed} samples at {rate_hz} Hz); give {best}.",
            param="clip",
        )
    if seconds > LONGEST_S:
        raise AudioTooLargeError(
            f"the clip has {seconds:.0f} s, and a voice is made of at most {LONGEST_S:.0f} s; "
            f"give {best}.",
            param="clip",
        )
    if not np.isfinite(samples).all():
        raise InvalidValueError(
            "the clip has samples that are NaN or infinite; check the recording.", param="clip"
        )
    peak = float(np.abs(samples).max())
    if peak < SILENT_PEAK:
        raise InvalidValueError(
            "the clip is silent, so there is no voice in it; check the recording.", param="clip"
        )
    if peak > LOUDEST_PEAK:
        raise InvalidValueError(
            f"the clip's samples reach {peak:g}, and full scale is 1: give integers as integers, "
            "or divide floats so that they fit.",
            param="clip",
        )
