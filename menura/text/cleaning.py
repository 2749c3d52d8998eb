"""Cleaned text: composed (NFC), without characters that no voice can read and some would choke on.

Dropped: control characters but tab and newline, whole terminal sequences (colours in a log), the
controls of text direction, lone surrogates. Kept: joiners (ZWJ, ZWNJ) and all that shapes letters.
A long run of characters that nobody reads (leader dots, emoji, heaps of accents) keeps its first
few: it has no duration in a plan, but costs a model as much as speech does.
The old and rare line breaks (CRLF, CR, vertical tab, form feed, NEL, the ASCII separators) become
one newline: they stand between words, and dropping them would glue two words together.
"""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import groupby

from menura.text.scripts import RULER, is_spoken
from menura.text.unwanted import REMOVED, TERMINAL

LONGEST_SILENCE = 12
"""The most characters in a row that are kept although none of them is read aloud."""

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
    plain = TERMINAL.sub("\x1b", text)  # one control character stands for the sequence
    removed = Counter(REMOVED.findall(plain))
    kept, left_out = _without_long_silence(_LINE_BREAK.sub("\n", REMOVED.sub("", plain)))
    # Composing comes second, since it is slow on heaps of accents; it may make a run longer.
    kept, left_out_too = _without_long_silence(unicodedata.normalize("NFC", kept))
    removed += Counter(c for c in left_out + left_out_too if not c.isspace())
    dropped = tuple(Dropped(label(character), count) for character, count in removed.items())
    return kept, dropped


def _without_long_silence(text: str) -> tuple[str, str]:
    """The text with each long run of unread characters cut to its first, and what was cut off."""
    is_read = [is_spoken(character) for character in text]
    for ruler in RULER.finditer(text):
        is_read[ruler.start() : ruler.end()] = [False] * len(ruler.group())
    kept, left_out, start = [], [], 0
    for read, places in groupby(is_read):
        end = start + sum(1 for _ in places)
        run = text[start:end]
        first, rest = (run, "") if read else _first_of(run)
        kept.append(first)
        left_out.append(rest)
        start = end
    return "".join(kept), "".join(left_out)


def _first_of(run: str) -> tuple[str, str]:
    """The beginning that stays of a run that nobody reads, and the rest.

    A run that held a space ends with one, so that what follows is not glued on.
    """
    first, rest = run[:LONGEST_SILENCE], run[LONGEST_SILENCE:]
    if any(map(str.isspace, rest)) and not first[-1].isspace():
        first, rest = first[:-1] + " ", first[-1] + rest
    return first, rest


def label(character: str) -> str:
    """The code point and name of a character: control characters and surrogates have no name."""
    unnamed = "LONE SURROGATE" if "\ud800" <= character <= "\udfff" else "CONTROL CHARACTER"
    return f"U+{ord(character):04X} {unicodedata.name(character, unnamed)}"
