"""What a model wants of the recording that it is to speak like.

The numbers are the engine's own, so that a voice can be told to fit, or not, without loading it.
"""

from dataclasses import dataclass
from enum import StrEnum


class TranscriptUse(StrEnum):
    """What a transcript does for the voice: nothing, it is closer with one, or there is none."""

    UNUSED = "unused"
    BETTER = "better"
    NEEDED = "needed"


@dataclass(frozen=True)
class ReferenceRules:
    """The lengths of recordings in seconds, and how one is used.

    From `shortest_s` to `longest_s` a voice can be made at all; within `good_s` (from, to) nothing
    is known to go wrong; `best_s` (from, to) is what to aim for. `way_with` and `way_without` are
    the modes of the voice with a transcript and without one; `way_without` is empty where one is
    needed.
    """

    transcript: TranscriptUse
    shortest_s: float
    good_s: tuple[float, float]
    best_s: tuple[float, float]
    longest_s: float
    way_with: str
    way_without: str = ""

    @property
    def best(self) -> str:
        """What to record, in words for a message."""
        return f"{self.best_s[0]:g} to {self.best_s[1]:g} seconds of clear speech"

    def way(self, *, has_transcript: bool) -> str:
        """The mode of a voice that is made of such a recording; empty if none can be made."""
        return self.way_with if has_transcript else self.way_without
