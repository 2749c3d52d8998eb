"""A recording cut to its speech, with little silence at its ends and an end that does no harm.

A model begins where the clip stops, so a clip that stops in a sound is faded out there, and some
silence follows it. (Reports of other runtimes: a rest of the clip is heard before the first word.)
"""

from dataclasses import dataclass

import numpy as np

from menura.audio.levels import BLOCK_S, Span, block_levels, ends_in_sound, heard_blocks
from menura.audio.pcm import FloatArray
from menura.audio.recording_checks import KEPT_SILENCE_S

FADE_S = 0.01
AFTER_SOUND_S = 0.3


@dataclass(frozen=True, eq=False)
class Trim:
    """The samples [n] that are kept, and where in the recording they start and end."""

    start_s: float
    end_s: float
    samples: FloatArray


def trimmed(samples: FloatArray, rate_hz: int, keep_s: Span | None = None) -> Trim:
    """The part of samples [n] in which something is heard, or of it what lies in `keep_s`.

    At most 0.2 s of silence stay at each end, and all that is heard stays. Where the recording, or
    `keep_s`, ends in a sound, 10 ms are faded and 0.3 s of silence appended; a start in a sound is
    faded only.
    """
    offset = 0
    if keep_s is not None:
        offset = round(keep_s[0] * rate_hz)
        samples = samples[offset : round(keep_s[1] * rate_hz)]
    heard = heard_blocks(block_levels(samples, rate_hz))
    if not heard.any():
        return Trim(offset / rate_hz, (offset + len(samples)) / rate_hz, samples)
    places = np.flatnonzero(heard)
    first = round((float(places[0]) * BLOCK_S - KEPT_SILENCE_S) * rate_hz)
    after = round((float(places[-1] + 1) * BLOCK_S + KEPT_SILENCE_S) * rate_hz)
    first, after = max(0, first), min(len(samples), after)
    kept = samples[first:after].copy()
    n_fade = min(len(kept), round(FADE_S * rate_hz))
    ramp = np.linspace(0, 1, n_fade, dtype=np.float32)
    if ends_in_sound(heard[::-1]):
        kept[:n_fade] *= ramp
    if ends_in_sound(heard):
        kept[len(kept) - n_fade :] *= ramp[::-1]
        kept = np.concatenate([kept, np.zeros(round(AFTER_SOUND_S * rate_hz), np.float32)])
    return Trim((offset + first) / rate_hz, (offset + after) / rate_hz, kept)
