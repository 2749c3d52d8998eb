"""Where the characters that a reader sees begin: a small approximation of UAX #29's clusters.

Kept together: a base and its marks, variation selectors, joiners and emoji modifiers; emoji joined
by ZWJ; two regional indicators (a flag); the parts of a Hangul syllable; CR and LF; consonants
joined by an Indic or Khmer virama. Differences from the standard: "emoji" means any symbol of the
categories So and Sm; a removed character (`unwanted.REMOVED`) sticks to what stands before it;
prepended marks are not known; and a cluster joins at most four letters, so that no text can grow
one without end.
"""

import unicodedata
from typing import Final

from menura.text.unwanted import REMOVED

_MAX_JOINS: Final = 3

_EXTENDING = frozenset({"extend", "zwj", "linker"})
_BREAKING = frozenset({"start", "cr", "newline"})
_PAIRS = frozenset(
    {
        ("cr", "newline"),
        ("zwj", "picture"),
        ("flag", "flag"),
        ("initial", "initial"),
        ("initial", "vowel"),
        ("initial", "open syllable"),
        ("initial", "closed syllable"),
        ("open syllable", "vowel"),
        ("open syllable", "final"),
        ("vowel", "vowel"),
        ("vowel", "final"),
        ("closed syllable", "final"),
        ("final", "final"),
    }
)

_VIRAMA_CLASS: Final = 9
_VISIBLE_KILLERS = frozenset("\u0e3a\u103a")  # of that class, but they end a syllable
_EXTENDING_LETTERS = frozenset("\u0e33\u0eb3\uff9e\uff9f")  # Thai and Lao am, half-width voicing
_KINDS_OF_CHARACTER = {"\r": "cr", "\n": "newline", "\x85": "newline", "\u200d": "zwj"}


def cluster_starts(text: str) -> list[int]:
    """The index of the first code point of each cluster, ascending; empty for an empty text."""
    if text.isascii() and "\r" not in text and REMOVED.search(text) is None:
        return list(range(len(text)))
    kinds = {character: _kind(character) for character in set(text)}
    starts: list[int] = []
    previous, joins, linked = "start", 0, False
    for index, character in enumerate(text):
        kind = kinds[character]
        if kind in _EXTENDING:
            joined = previous not in _BREAKING
            linked = linked or kind == "linker"
        else:
            paired = (previous, kind) in _PAIRS or (linked and kind == "letter")
            joined = paired and joins < _MAX_JOINS
            joins = joins + 1 if joined else 0
            linked = False
        if not joined:
            starts.append(index)
        previous = "full flag" if joined and kind == "flag" else kind
    return starts


def _kind(character: str) -> str:
    """What the character does to the border before it and after it."""
    if character in _KINDS_OF_CHARACTER:
        return _KINDS_OF_CHARACTER[character]
    category = unicodedata.category(character)
    if category.startswith("M"):
        is_linker = unicodedata.combining(character) == _VIRAMA_CLASS
        return "linker" if is_linker and character not in _VISIBLE_KILLERS else "extend"
    if _extends(character):
        return "extend"
    if "\U0001f1e6" <= character <= "\U0001f1ff":
        return "flag"
    if category in {"So", "Sm"}:
        return "picture"
    return (_hangul_kind(character) or "letter") if category == "Lo" else "other"


def _extends(character: str) -> bool:
    """True for what is no mark and still belongs to the character before it."""
    return (
        character in _EXTENDING_LETTERS
        or character == "\u200c"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
        or REMOVED.match(character) is not None
    )


def _hangul_kind(letter: str) -> str | None:
    """The part of a Hangul syllable that the letter is; None for other letters."""
    if "\uac00" <= letter <= "\ud7a3":
        is_open = (ord(letter) - 0xAC00) % 28 == 0
        return "open syllable" if is_open else "closed syllable"
    if "\u1100" <= letter <= "\u115f" or "\ua960" <= letter <= "\ua97c":
        return "initial"
    if "\u1160" <= letter <= "\u11a7" or "\ud7b0" <= letter <= "\ud7c6":
        return "vowel"
    if "\u11a8" <= letter <= "\u11ff" or "\ud7cb" <= letter <= "\ud7fb":
        return "final"
    return None
