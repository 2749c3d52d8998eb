"""What a recording must be to speak like it, and what is likely to go wrong with it.

A model copies what it hears: a clip that is too short carries little of a voice, one that stops in
a word makes the model finish that word first, and a transcript of another length makes it stumble.
"""

import warnings

from menura.audio.clip_checks import BEST_S, GOOD_S, LONGEST_S, VoiceWarning, check_clip
from menura.audio.levels import BLOCK_S, block_levels, ends_in_sound, heard_blocks
from menura.engines.contract import ReferenceRules, TranscriptUse
from menura.engines.qwen3_tts.prompt import IN_CONTEXT, X_VECTOR
from menura.speech import Reference
from menura.text.duration import expected_seconds
from menura.text.pace import DOUBTFUL, pace

LONGEST_SILENCE_S = 5.0  # that may be put after it
_BEST = f"{BEST_S[0]:g} to {BEST_S[1]:g} seconds"

# Warnings point at who called `tts.voice`: check, VoiceEncoder.encode, encode_voice, voice, caller.
_CALLER = 5


def rules(shortest_s: float) -> ReferenceRules:
    """What the model wants of a recording; `shortest_s` is what its speaker encoder needs."""
    return ReferenceRules(
        transcript=TranscriptUse.BETTER,
        shortest_s=shortest_s,
        good_s=GOOD_S,
        best_s=BEST_S,
        longest_s=LONGEST_S,
        way_with=IN_CONTEXT,
        way_without=X_VECTOR,
    )


def check(reference: Reference, shortest_s: float) -> None:
    """Nothing, for a clip that a voice can be made of; what is doubtful about it is warned of.

    Raises: InvalidValueError: it is too short, silent, beyond full scale, or not all numbers;
        AudioTooLargeError: it is too long.
    """
    check_clip(reference.samples, reference.sample_rate_hz, shortest_s, rules(shortest_s).best)
    for doubt in doubts(reference):
        warnings.warn(doubt, VoiceWarning, stacklevel=_CALLER)


def doubts(reference: Reference) -> list[str]:
    """What is doubtful about a clip and its transcript, each as a sentence with advice."""
    seconds = len(reference.samples) / reference.sample_rate_hz
    found: list[str] = []
    if seconds < GOOD_S[0]:
        found.append(f"the clip has only {seconds:.1f} s; {_BEST} carry a voice better.")
    if seconds > GOOD_S[1]:
        found.append(
            f"the clip has {seconds:.0f} s; speech breaks off more often with clips over "
            f"{GOOD_S[1]:.0f} s: cut it to {_BEST}, at a pause."
        )
    heard = heard_blocks(block_levels(reference.samples, reference.sample_rate_hz))
    if ends_in_sound(heard):
        found.append(
            "the clip ends in the middle of a sound, which may be heard again at the start of "
            "what is spoken: end it at a pause."
        )
    if reference.transcript:
        found += _doubts_of_pace(reference.transcript, float(heard.sum()) * BLOCK_S)
    return found


def _doubts_of_pace(transcript: str, heard_s: float) -> list[str]:
    ratio = pace(transcript, heard_s)
    if DOUBTFUL[0] <= ratio <= DOUBTFUL[1]:
        return []
    more_or_less = "less" if ratio < DOUBTFUL[0] else "more"
    doubt = (
        f"the transcript would take about {expected_seconds(transcript):.1f} s to say, and "
        f"{heard_s:.1f} s of the clip are speech: it says {more_or_less} than the clip. "
        "Give exactly what is said in it."
    )
    return [doubt]
