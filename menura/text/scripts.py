"""Which script a letter belongs to, and which characters a voice can speak.

The script comes from the character's Unicode name ("CYRILLIC SMALL LETTER A"), after compatibility
decomposition ("ﬁ" is "f", "𝒳" is "X"). Python's own tables thus cover every script they know, and
nothing here needs a list of code points.

A character is spoken when it is a letter, a number, a currency sign or one of a few symbols that
are read as words ("%" is "percent"). Punctuation, marks and emoji are not. Three or more of the
same symbol in a row are a ruler ("=====") and not words.
"""

import re
import unicodedata
from functools import cache

from menura.text.unwanted import REMOVED_CLASS, without_sequences

WITHOUT_SPACES = frozenset(
    {"han", "kana", "bopomofo", "yi", "thai", "lao", "khmer", "myanmar"}
    | {"tibetan", "javanese", "balinese"}
)
"""Scripts that put no space between words: their text may be cut between graphemes."""

SPOKEN_SYMBOLS = frozenset("%‰&+=@°×÷±√∞≈≠≤≥∑∫∂∆∏∈§№℃℉")
"""Symbols that are read as words, besides currency signs. "#", "*", "<" are markup too often."""

_EMOJI_LETTERS = frozenset("ℹ")  # a letter for Unicode, a picture for everybody else

# Marks and removed characters do not interrupt a ruler: cleaning takes them out or composes them.
_BETWEEN = rf"[{REMOVED_CLASS}\u0300-\u036f]"
RULER = re.compile(rf"([^\w\s{REMOVED_CLASS}\u0300-\u036f])(?:{_BETWEEN}*\1){{2,}}")
"""Three or more of the same symbol or punctuation mark: drawn, never read."""

_SCRIPT_OF_FIRST_WORD: dict[str, str | None] = {
    "CJK": "han",
    "IDEOGRAPHIC": "han",
    "HIRAGANA": "kana",
    "KATAKANA": "kana",
    "HENTAIGANA": "kana",
    "KATAKANA-HIRAGANA": "kana",
    "HALFWIDTH": "kana",
    "VERTICAL": "kana",
    "ROMAN": "latin",
    "TURNED": "latin",
    "MODIFIER": None,
    "CARON": None,
}


@cache
def script_of(character: str) -> str | None:
    """The script of a letter ("latin", "han", "kana", "hangul", ...); None if it is no letter.

    Modifier letters that all scripts share (the letter apostrophe) have no script either. Letters
    too new for this Python's Unicode tables are "unknown".
    """
    if not unicodedata.category(character).startswith("L"):
        return None
    first = unicodedata.normalize("NFKD", character)[0]
    if not unicodedata.category(first).startswith("L"):
        first = character
    word = unicodedata.name(first, "UNKNOWN").split()[0]
    return _SCRIPT_OF_FIRST_WORD.get(word, word.lower())


@cache
def is_spoken(character: str) -> bool:
    """True if the character alone is read aloud: a letter, a number or a word-like symbol."""
    if character in _EMOJI_LETTERS:
        return False
    category = unicodedata.category(character)
    return category[0] in "LN" or category == "Sc" or character in SPOKEN_SYMBOLS


def speakable(text: str) -> bool:
    """True if something is read aloud outside of rulers and terminal sequences."""
    return any(is_spoken(character) for character in set(RULER.sub("", without_sequences(text))))


def unreadable(text: str, alphabet: frozenset[str]) -> dict[str, list[str]]:
    """The letters of `text` that `alphabet` lacks, by script: each once, in order of appearance.

    A letter is readable if it, or the letters it decomposes to once marks and case are put aside,
    are in the alphabet: with "a" to "z", "É" and "ﬁ" are readable and "я" is not. Upper and lower
    case of one letter are listed once.
    """
    found: dict[str, dict[str, str]] = {}
    for character in dict.fromkeys(text):
        script = script_of(character)
        if script is not None and not _is_readable(character, alphabet):
            found.setdefault(script, {}).setdefault(character.casefold(), character)
    return {script: list(letters.values()) for script, letters in found.items()}


def _is_readable(letter: str, alphabet: frozenset[str]) -> bool:
    """True if the letter itself or all letters it is made of are in the alphabet."""
    if letter in alphabet:
        return True
    forms = (letter, letter.casefold())
    parts = [[c for c in unicodedata.normalize("NFKD", form) if c.isalpha()] for form in forms]
    return any(bool(letters) and alphabet.issuperset(letters) for letters in parts)
