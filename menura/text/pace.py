"""Whether a transcript can be what is said in a recording: its expected duration tells.

A transcript of another length makes a model stumble: it repeats a sound for ever, or says the rest
of the transcript first.
"""

from menura.text.duration import expected_seconds

# How the expected duration may stand to the time in which something is heard: outside the first
# it is doubtful, outside the second nobody could have said it. Fast and slow speakers, numbers and
# acronyms lie within. Measured in docs/LOG.md.
DOUBTFUL = (0.6, 2.2)
IMPOSSIBLE = (0.4, 2.5)
_SHORTEST_S = 0.02


def pace(transcript: str, heard_s: float) -> float:
    """How much longer the transcript takes to say than something is heard; 1 fits."""
    return expected_seconds(transcript) / max(heard_s, _SHORTEST_S)
