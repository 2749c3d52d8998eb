"""Where sentences end, by sentencex, which knows abbreviations and marks of many languages.

What was measured (sentencex 1.0.32): its offsets are code points; it drops line breaks at times,
takes time in the square of a long Chinese paragraph, refuses lone surrogates, and panics on some
spaces outside ASCII. So it sees a copy of the text, equal in length, in which every kind of space
and every character that it could choke on is a plain space, in windows of a few thousand
characters. Its answer is used only if its sentences join to what it was given; if they do not, or
if it panics, a sentence ends at a sentence mark and a space.
"""

import re
from collections import Counter

from menura.text.scripts import script_of

_WINDOW = 4000
_CHOKES = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_PLAIN_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？।॥۔؟።။])(?![。！？\s])\s*")
_LANGUAGE_CODE = re.compile(r"[a-z]{2,3}(?=[-_]|$)")

_CODE_OF_NAME = {
    "amharic": "am", "arabic": "ar", "armenian": "hy", "bengali": "bn", "bulgarian": "bg",
    "burmese": "my", "cantonese": "zh", "catalan": "ca", "chinese": "zh", "croatian": "hr",
    "czech": "cs", "danish": "da", "dutch": "nl", "english": "en", "estonian": "et",
    "finnish": "fi", "french": "fr", "georgian": "ka", "german": "de", "greek": "el",
    "gujarati": "gu", "hebrew": "he", "hindi": "hi", "hungarian": "hu", "indonesian": "id",
    "italian": "it", "japanese": "ja", "kannada": "kn", "khmer": "km", "korean": "ko", "lao": "lo",
    "latvian": "lv", "lithuanian": "lt", "malay": "ms", "malayalam": "ml", "mandarin": "zh",
    "marathi": "mr", "nepali": "ne", "norwegian": "no", "persian": "fa", "polish": "pl",
    "portuguese": "pt", "punjabi": "pa", "romanian": "ro", "russian": "ru", "serbian": "sr",
    "sinhala": "si", "slovak": "sk", "slovenian": "sl", "spanish": "es", "swahili": "sw",
    "swedish": "sv", "tamil": "ta", "telugu": "te", "thai": "th", "turkish": "tr",
    "ukrainian": "uk", "urdu": "ur", "vietnamese": "vi",
}  # fmt: skip

_CODE_OF_SCRIPT = {
    "latin": "en", "han": "zh", "kana": "ja", "hangul": "ko", "cyrillic": "ru", "arabic": "ar",
    "hebrew": "he", "greek": "el", "armenian": "hy", "georgian": "ka", "thai": "th", "lao": "lo",
    "khmer": "km", "myanmar": "my", "ethiopic": "am", "devanagari": "hi", "bengali": "bn",
    "gurmukhi": "pa", "gujarati": "gu", "oriya": "or", "tamil": "ta", "telugu": "te",
    "kannada": "kn", "malayalam": "ml", "sinhala": "si",
}  # fmt: skip


def code_for(language: str | None, text: str) -> str:
    """The code that sentencex knows for a language's name ("English") or tag ("zh-CN").

    None, "auto" and names that are not known here go by the commonest script of the text. An
    unknown language is no error here: the engine's own list decides about that.
    """
    name = (language or "").strip().casefold()
    if name in _CODE_OF_NAME:
        return _CODE_OF_NAME[name]
    if tag := _LANGUAGE_CODE.match(name):
        return tag.group()
    scripts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if script := script_of(character):
            scripts[script] += count
    if not scripts:
        return "en"
    if scripts["kana"]:  # Japanese prose can hold more Han than kana, Chinese holds no kana
        scripts["kana"] += scripts.pop("han", 0)
    return _CODE_OF_SCRIPT.get(scripts.most_common(1)[0][0], "en")


def sentence_ends(text: str, code: str) -> list[int]:
    """The index after each sentence of a text, ascending; the last is `len(text)`.

    Spaces belong to the sentence before them. Line breaks inside the text count as spaces.
    """
    view = _CHOKES.sub(" ", text)
    ends: list[int] = []
    start = 0
    while start + _WINDOW < len(view):
        window = view[start : start + _WINDOW]
        inside = _ends_in_window(window, code)[:-1]
        ends += [start + end for end in inside]
        # The last sentence of the window may go on: it is read again from its beginning. Where the
        # whole window is one sentence, the next window begins at a word and nothing ends between.
        start += inside[-1] if inside else (window.rfind(" ", _WINDOW // 2) + 1) or _WINDOW
    ends += [start + end for end in _ends_in_window(view[start:], code)]
    return ends


def _ends_in_window(window: str, code: str) -> list[int]:
    """The sentence ends of one window; the last is its length."""
    sentences = _sentencex(window, code)
    if "".join(sentences) != window:
        return _plain_ends(window)
    ends: list[int] = []
    for sentence in sentences:
        ends.append((ends[-1] if ends else 0) + len(sentence))
    return ends


def _sentencex(window: str, code: str) -> list[str]:
    """The sentences that sentencex finds; an empty list if it panicked."""
    from sentencex import segment  # noqa: PLC0415

    try:
        return [str(sentence) for sentence in segment(code, window)]
    except BaseException as error:
        # A Rust panic arrives as a BaseException whose class cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        return []


def _plain_ends(window: str) -> list[int]:
    """The ends by the plain rule: a sentence mark, then a space unless the mark is wide."""
    ends = [match.end() for match in _PLAIN_END.finditer(window)]
    return ends if ends and ends[-1] == len(window) else [*ends, len(window)]
