"""A clip's transcript: the text as it is kept, and what is doubtful about it."""

import re
import unicodedata

from menura.audio.findings import Finding, Severity
from menura.errors import InvalidValueError
from menura.text.duration import expected_seconds
from menura.text.pace import DOUBTFUL, IMPOSSIBLE, pace
from menura.text.unwanted import REMOVED, TERMINAL
from menura.voice_library.record import LONGEST_TRANSCRIPT

TOO_SHORT, TOO_LONG, DIFFERS = "transcript_too_short", "transcript_too_long", "transcript_differs"
ABOUT_TRANSCRIPT = frozenset({TOO_SHORT, TOO_LONG, DIFFERS})
_SHOWN = 200


def plain(given: str | None) -> str | None:
    """The transcript on one line, without what is no text; None where nothing is left.

    Raises: InvalidValueError: it is no text, or far too long.
    """
    if given is None:
        return None
    if not isinstance(given, str) or len(given) > LONGEST_TRANSCRIPT:
        raise InvalidValueError(
            f"transcript must be a text of at most {LONGEST_TRANSCRIPT:,} characters: what is said "
            "in the recording, word for word.",
            param="transcript",
        )
    text = REMOVED.sub("", TERMINAL.sub("", given))
    return unicodedata.normalize("NFC", re.sub(r"\s+", " ", text).strip()) or None


def check(transcript: str | None, heard_s: float) -> tuple[Finding, ...]:
    """What is found about a transcript of a clip in which something is heard for `heard_s`."""
    if transcript is None:
        return (
            Finding(
                "no_transcript",
                Severity.NOTE,
                "There is no transcript. Some models need one, and others copy a voice better "
                "with it.",
                "Write down what is said, word for word, or have it transcribed.",
            ),
        )
    ratio = pace(transcript, heard_s)
    if DOUBTFUL[0] <= ratio <= DOUBTFUL[1]:
        return ()
    is_short = ratio < DOUBTFUL[0]
    is_certain = not IMPOSSIBLE[0] <= ratio <= IMPOSSIBLE[1]
    fault = "leaves out a part of what is said" if is_short else "holds more than what is said"
    says = (
        f"The transcript would take about {expected_seconds(transcript):.1f} s to say, and "
        f"something is heard for {heard_s:.1f} s: it {'' if is_certain else 'perhaps '}{fault}."
    )
    return (
        Finding(
            TOO_SHORT if is_short else TOO_LONG,
            Severity.REFUSE if is_certain else Severity.WARN,
            says,
            "Write exactly what is said in the recording, from the first word to the last"
            + (", or cut the recording to what is written." if is_short else "."),
        ),
    )


def differs(heard: str) -> Finding:
    """The finding for a transcript that a recogniser does not agree with."""
    shown = heard if len(heard) <= _SHOWN else heard[:_SHOWN] + "…"
    return Finding(
        DIFFERS,
        Severity.WARN,
        f"The transcript is not what the recogniser heard, which is: “{shown}”",
        "Compare the two. If yours is what is said, go on.",
    )
