"""How long a text takes to speak, by counting its characters.

Each letter costs a time that depends on its script, each digit and each symbol that is read as a
word costs a fixed time, and the last of these before a comma or a full stop in running text costs
the pause there too. Everything else costs nothing. So a text costs something exactly when it holds
something to speak, and the cost of two slices is the cost of both together.

The numbers are estimates for reading aloud at an ordinary pace, meant for sizing. Latin letters,
digits, symbols and pauses are fitted to the built-in voice: prose of more than 10 s is within a
tenth of the estimate, any text takes up to 0.7 s more than said, and acronyms and addresses, whose
letters and dots are read out, take up to twice as long. The other scripts stand in proportion to
it, by the syllables a second of their languages divided by the usual letters a syllable. Source:
Pellegrino, Coupé and Marsico, "A cross-language perspective on speech information rate", Language
87 (2011): English 6.2, Mandarin 5.2, Japanese 7.8, Spanish 7.8, French 7.2, German 6.0, Italian
7.0. The pace of scripts that none of these is written in is a guess.
"""

import re
import unicodedata
from itertools import accumulate

import numpy as np

from menura.text.scripts import RULER, is_spoken, script_of

_LETTER_MS = {
    "latin": 65,
    "cyrillic": 70,
    "greek": 70,
    "armenian": 70,
    "georgian": 70,
    "arabic": 85,  # short vowels are spoken but not written
    "hebrew": 85,
    "syriac": 85,
    "han": 200,  # a syllable in Chinese, often two morae in Japanese
    "kana": 130,
    "hangul": 160,
    "bopomofo": 80,
    "yi": 180,
    "thai": 80,  # vowels above and below a consonant are marks, which cost nothing
    "lao": 80,
    "khmer": 100,
    "myanmar": 130,
    "ethiopic": 130,
    "cherokee": 130,
    "canadian": 130,
}
_OTHER_LETTER_MS = 100  # Devanagari and its kin too: a consonant is most of a syllable
_JAMO_MS = 20  # the vowel or final of a decomposed Hangul syllable; its initial costs the syllable
_DIGIT_MS = 350
_SYMBOL_MS = 400
_PAUSE_MS = 500

# A run of marks with more text after it in the same paragraph. Possessive, so that the time is
# linear: a long row of marks is looked at once.
_MARKS = ",.;:!?…،؛؟۔"
_WIDE_MARKS = "、，；：。！？।॥။၊"
_CLOSING = r"\"'”’»)\]}」』】）"
_GOES_ON = r"[^\S\n]*+\n?+[^\S\n]*+\S"
_PAUSE = re.compile(
    rf"(?<![\s{_MARKS}])[{_MARKS}]++(?=[{_CLOSING}]*+(?=\s){_GOES_ON})"
    rf"|(?<![\s{_WIDE_MARKS}])[{_WIDE_MARKS}]++(?=[{_CLOSING}]*+{_GOES_ON})"
)
_LOOK_BACK = 8  # characters before a mark in which the letter that it follows is looked for


def expected_seconds(text: str) -> float:
    """The estimated duration of the speech for `text`, in seconds; 0.0 if nothing is spoken."""
    return clock(text)[-1] / 1000


def clock(text: str) -> list[int]:
    """The time in ms at which each character begins, and the end: [n + 1] whole numbers.

    The slice `text[a:b]` costs `clock[b] - clock[a]`. Rulers ("=====") cost nothing.
    """
    if not text:
        return [0]
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    different, where = np.unique(codes, return_inverse=True)
    by_code = np.array([_character_ms(chr(code)) for code in different])
    costs: list[int] = by_code[where.reshape(-1)].tolist()
    for ruler in RULER.finditer(text):
        costs[ruler.start() : ruler.end()] = [0] * len(ruler.group())
    for mark in _PAUSE.finditer(text):
        for index in range(mark.start() - 1, max(mark.start() - 1 - _LOOK_BACK, -1), -1):
            if costs[index]:
                costs[index] += _PAUSE_MS
            if costs[index] or text[index].isspace():
                break
    return list(accumulate(costs, initial=0))


def _character_ms(character: str) -> int:
    """The time of one character in ms; 0 if it is not spoken."""
    if not is_spoken(character):
        return 0
    category = unicodedata.category(character)
    if category.startswith("N"):
        return _DIGIT_MS
    if not category.startswith("L"):
        return _SYMBOL_MS
    if "\u1160" <= character <= "\u11ff" or "\ud7b0" <= character <= "\ud7ff":
        return _JAMO_MS
    return _LETTER_MS.get(script_of(character) or "latin", _OTHER_LETTER_MS)
