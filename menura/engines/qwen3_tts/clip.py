"""What a recording must be to speak like it, and what is likely to go wrong with it.

A model copies what it hears: a clip that is too short carries little of a voice, one that stops in
a word makes the model finish that word first, and a transcript of another length makes it stumble.
"""

import warnings

import numpy as np

from menura.audio.clip_checks import VoiceWarning, check_clip
from menura.speech import FloatArray, Reference
from menura.text.duration import expected_seconds

LONGEST_SILENCE_S = 5.0  # that may be put after it
GOOD_S = (3.0, 30.0)
# How the transcript's expected duration may stand to the time in which something is heard.
PACE = (0.6, 2.2)
_BLOCK_S = 0.02
_QUIET = 0.03  # of the clip's loudest block
_END_S = 0.06
_BEST = "5 to 15 seconds of clear speech"

# Warnings point at who called `tts.voice`: check, VoiceEncoder.encode, encode_voice, voice, caller.
_CALLER = 5


def check(reference: Reference, shortest_s: float) -> None:
    """Nothing, for a clip that a voice can be made of; what is doubtful about it is warned of.

    Raises: InvalidValueError: it is too short, silent, beyond full scale, or not all numbers;
        AudioTooLargeError: it is too long.
    """
    check_clip(reference.samples, reference.sample_rate_hz, shortest_s, _BEST)
    for doubt in doubts(reference):
        warnings.warn(doubt, VoiceWarning, stacklevel=_CALLER)


def doubts(reference: Reference) -> list[str]:
    """What is doubtful about a clip and its transcript, each as a sentence with advice."""
    seconds = len(reference.samples) / reference.sample_rate_hz
    found: list[str] = []
    if seconds < GOOD_S[0]:
        found.append(f"the clip has only {seconds:.1f} s; 5 to 15 seconds carry a voice better.")
    if seconds > GOOD_S[1]:
        found.append(
            f"the clip has {seconds:.0f} s; speech breaks off more often with clips over "
            f"{GOOD_S[1]:.0f} s: cut it to 5 to 15 seconds, at a pause."
        )
    levels = _levels(reference)
    is_heard = levels > _QUIET * levels.max()
    n_last = max(1, round(_END_S / _BLOCK_S))
    # Where nothing is ever quiet, the end is no different from any other place.
    if is_heard[-n_last:].all() and not is_heard.all():
        found.append(
            "the clip ends in the middle of a sound, which may be heard again at the start of "
            "what is spoken: end it at a pause."
        )
    if reference.transcript:
        found += _doubts_of_pace(reference.transcript, float(is_heard.sum()) * _BLOCK_S)
    return found


def _doubts_of_pace(transcript: str, heard_s: float) -> list[str]:
    expected_s = expected_seconds(transcript)
    pace = expected_s / max(heard_s, _BLOCK_S)
    if PACE[0] <= pace <= PACE[1]:
        return []
    more_or_less = "less" if pace < PACE[0] else "more"
    doubt = (
        f"the transcript would take about {expected_s:.1f} s to say, and {heard_s:.1f} s of the "
        f"clip are speech: it says {more_or_less} than the clip. Give exactly what is said in it."
    )
    return [doubt]


def _levels(reference: Reference) -> FloatArray:
    """The loudness (RMS) of each block [m] of the clip."""
    n_block = max(1, round(_BLOCK_S * reference.sample_rate_hz))
    n_blocks = -(-len(reference.samples) // n_block)
    padded = np.zeros(n_blocks * n_block)  # float64: squares of any float32 fit
    padded[: len(reference.samples)] = reference.samples
    return np.asarray(np.sqrt(np.mean(padded.reshape(n_blocks, n_block) ** 2, axis=1)), np.float32)
