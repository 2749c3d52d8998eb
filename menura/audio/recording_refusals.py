"""For what no voice is made of a recording. Everything else about one stands in `recording_checks`.

A recording that is imported with its voice is refused for the same reasons.
"""

import numpy as np

from menura.audio.clip_checks import BEST_S, LONGEST_S, LOUDEST_PEAK, SILENT_PEAK
from menura.audio.findings import Finding, Severity
from menura.audio.levels import BLOCK_S, BoolArray, block_levels, heard_blocks
from menura.audio.pcm import FloatArray

SHORTEST_S = 1.0
BEST_LENGTH = f"{BEST_S[0]:g} to {BEST_S[1]:g} seconds"
BEST = f"{BEST_LENGTH} of one person speaking clearly are best"


def refusal(samples: FloatArray, rate_hz: int) -> Finding | None:
    """Why no voice is made of samples [n], or None where one is. It costs less than `found`."""
    if fault := unfit(samples, rate_hz):
        return fault
    return too_little_sound(sound_s(heard_blocks(block_levels(samples, rate_hz))))


def sound_s(heard: BoolArray) -> float:
    """From the first sound to the last: how long it is when it is trimmed, of blocks [m]."""
    places = np.flatnonzero(heard)
    n_blocks = int(places[-1] - places[0] + 1) if len(places) else len(heard)
    return round(n_blocks * BLOCK_S, 3)


def unfit(samples: FloatArray, rate_hz: int, channel_peak: float = 0.0) -> Finding | None:
    """Why samples [n] cannot even be measured, or None if they can.

    `channel_peak`: the loudest sample of a single channel, where several were mixed.
    """
    seconds = len(samples) / rate_hz
    if seconds > LONGEST_S:
        return Finding(
            "too_long",
            Severity.REFUSE,
            f"The recording has {seconds:.0f} s, and at most {LONGEST_S:.0f} s are looked at.",
            f"Cut it to the best part: {BEST}.",
        )
    if not np.isfinite(samples).all():
        return Finding(
            "not_numbers",
            Severity.REFUSE,
            "The recording holds samples that are not numbers (NaN or infinite).",
            "Export it again, for example as a 16-bit wav.",
        )
    peak = max(float(samples.max(initial=0.0)), -float(samples.min(initial=0.0)))
    if peak > LOUDEST_PEAK:
        return Finding(
            "over_full_scale",
            Severity.REFUSE,
            f"Its samples reach {peak:.3g}, and full scale is 1: they are noise when played.",
            "Export it again, for example as a 16-bit wav.",
        )
    if seconds < SHORTEST_S:
        return Finding(
            "too_short",
            Severity.REFUSE,
            f"The recording has {_length_words(seconds)}; a voice needs at least {SHORTEST_S:g} s.",
            f"Record more: {BEST}.",
        )
    return _silence(peak, channel_peak, seconds)


def _silence(peak: float, channel_peak: float, seconds: float) -> Finding | None:
    if peak < SILENT_PEAK <= channel_peak:
        return cancelled(Severity.REFUSE, "so nothing is left when they are mixed to one.")
    if peak < SILENT_PEAK:
        return Finding(
            "silent",
            Severity.REFUSE,
            "The recording is silent, so there is no voice in it.",
            "Check the microphone and its level, then record it again.",
            ((0.0, round(seconds, 3)),),
        )
    return None


def cancelled(severity: Severity, what: str) -> Finding:
    """The finding for channels of which nothing, or little, is left together: `what` says that."""
    return Finding(
        "channels_cancel",
        severity,
        f"The channels cancel each other out (one is the other upside down), {what}",
        "Give one of the channels alone, as a mono file.",
    )


def too_little_sound(seconds: float) -> Finding | None:
    """Why a recording with so much sound is refused, or None where that is enough."""
    if seconds >= SHORTEST_S:
        return None
    says = f"Something is heard for only {_length_words(seconds)}; a voice needs {SHORTEST_S:g} s."
    return Finding("too_short", Severity.REFUSE, says, f"Record more: {BEST}.")


def _length_words(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.005 else "less than a hundredth of a second"
