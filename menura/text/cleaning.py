"""Cleaned text: composed (NFC), without characters that no voice can read and some would choke on.

Dropped: control characters but tab and newline, the controls of text direction, lone surrogates.
Kept: joiners (ZWJ, ZWNJ) and everything else that shapes letters.
The old and rare line breaks (CRLF, CR, vertical tab, form feed, NEL, the ASCII separators) become
one newline: they stand between words, and dropping them would glue two words together.
"""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

_CONTROLS = r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
_DIRECTIONS = r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_SURROGATES = r"\ud800-\udfff"
REMOVED_CLASS = _CONTROLS + _DIRECTIONS + _SURROGATES
"""What cleaning removes, as the inside of a regular expression's character class."""

REMOVED = re.compile(f"[{REMOVED_CLASS}]")
_LINE_BREAK = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1f\x85]")


@dataclass(frozen=True)
class Dropped:
    """A character that cleaning removed (`U+202E RIGHT-TO-LEFT OVERRIDE`), and how often."""

    character: str
    count: int


def clean(text: str) -> tuple[str, tuple[Dropped, ...]]:
    """The text as a voice gets it, and what was removed, in order of first appearance.

    Spaces at the ends stay; `plan.segments` strips them.
    """
    removed = Counter(REMOVED.findall(text))
    kept = _LINE_BREAK.sub("\n", REMOVED.sub("", text))
    dropped = tuple(Dropped(_label(character), count) for character, count in removed.items())
    return unicodedata.normalize("NFC", kept), dropped


def _label(character: str) -> str:
    """The code point and name of a character: control characters and surrogates have no name."""
    unnamed = "LONE SURROGATE" if "\ud800" <= character <= "\udfff" else "CONTROL CHARACTER"
    return f"U+{ord(character):04X} {unicodedata.name(character, unnamed)}"
