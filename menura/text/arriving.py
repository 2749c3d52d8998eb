"""A text that comes in pieces, cut into whole sentences as soon as they are complete.

For models that need their text at once: what a sentence is does not depend on how the text was cut
into pieces on its way. A sentence is complete when the first letter or digit after it is there. One
that takes hardly any time to speak ("No.") waits for the next, since models make things up when
they speak a single word. A run of text without any end is cut at a space when it is very long.
"""

import re

from menura.text.duration import expected_seconds
from menura.text.pieces import Boundary
from menura.text.scripts import speakable
from menura.text.sentences import code_for, sentence_ends

LONGEST = 1000
"""The most characters that wait for the end of their sentence."""
SHORTEST_S = 0.7
"""What is expected to take less is not spoken alone, unless nothing else is known to come."""

_ENDS_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*\Z|\u2029\s*\Z")
_ENDS_SENTENCE = re.compile(r"(?:[.!?…。！？।॥۔؟።]\W*|\n\s*)\Z")
_MARK = re.compile(r"[^\w\s,;'\"‘’“”()\[\]/–—-]")
_LOOK_CHARACTERS = 300  # enough to know an abbreviation, or a quotation that is open


class ArrivingText:
    """What has come of a text and is not yet complete. `language` helps to find sentences."""

    def __init__(self, language: str | None = None) -> None:
        self._language = language
        self._rest = ""

    def add(self, piece: str) -> list[str]:
        """The parts that became complete with this piece, in order; nothing of the text is lost.

        A very long run of signs is complete too, although nothing of it can be spoken.
        """
        complete: list[str] = []
        for character in piece:
            self._rest += character
            if (character.isalnum() or len(self._rest) > LONGEST) and (part := self._cut()):
                complete.append(part)
        return complete

    def flush(self) -> str:
        """All that waits, as complete; empty where nothing of it can be spoken, and it waits on."""
        if not speakable(self._rest):
            return ""
        part, self._rest = self._rest, ""
        return part

    def _cut(self) -> str:
        """The part that is complete now that the last character is there; empty if none is."""
        part = self._rest[: self._end()]
        self._rest = self._rest[len(part) :]
        return part

    def _end(self) -> int:
        """Where the complete part ends; 0 if none is."""
        before = self._rest[:-1]
        end = len(before) if _ENDS_PARAGRAPH.search(before) else self._sentence_end(before)
        if end and expected_seconds(before[:end]) >= SHORTEST_S:
            return end
        is_long = len(before) >= LONGEST
        return (before.rfind(" ") + 1 or len(before)) if is_long else 0

    def _sentence_end(self, before: str) -> int:
        """Where a sentence ends in what stands before the last character; 0 if none does."""
        if not before or before[-1].isalnum() or not _MARK.search(before):
            return 0
        near = self._rest[-_LOOK_CHARACTERS:]
        ends = sentence_ends(near, code_for(self._language, near))[:-1]
        return len(self._rest) - len(near) + ends[-1] if ends else 0


def boundary_after(text: str) -> Boundary:
    """What ends the text, so that the silence after it can be chosen."""
    if _ENDS_PARAGRAPH.search(text):
        return Boundary.PARAGRAPH
    return Boundary.SENTENCE if _ENDS_SENTENCE.search(text[-100:]) else Boundary.CLAUSE
