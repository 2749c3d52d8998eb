"""The plan of a text: segments of a bounded expected duration, with nothing lost.

`segments` cuts any text of any length: paragraphs and meaningful lines (`lines`), sentences
(`sentences`), then clauses, spaces and graphemes where a sentence is too long (`cuts`); small
pieces are put together again (`packing`), and cut once more for a model that reads a bounded number
of bytes (`byte_limit`). The spans of the segments joined are the input; what is
spoken of each is its slice, cleaned (`cleaning`). Durations are estimates (`duration`).
Markup is not read here: markdown and HTML are text.
"""

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from menura.errors import InvalidValueError, NothingToSpeakError
from menura.text.byte_limit import within_bytes
from menura.text.cleaning import Dropped, clean
from menura.text.cuts import cut
from menura.text.duration import clock, expected_seconds
from menura.text.lines import blocks
from menura.text.packing import Sizes, pack, without_silent
from menura.text.pieces import Boundary, Piece
from menura.text.scripts import speakable
from menura.text.sentences import code_for, sentence_ends
from menura.text.unwanted import without_sequences

__all__ = [
    "DEFAULT_MAX_S",
    "DEFAULT_TARGET_S",
    "Boundary",
    "Dropped",
    "Pauses",
    "Segment",
    "clean",
    "expected_seconds",
    "segments",
    "speakable",
]

DEFAULT_TARGET_S = 12.0
"""Two or three sentences: enough for a model to find its tone, and soon spoken."""
DEFAULT_MAX_S = 25.0
"""Models with a fixed window have 30 s; the rest is for what the estimate misses."""
MIN_MAX_S = 2.0  # one grapheme never costs more, so the bound always holds
MIN_MAX_BYTES = 360  # nor has it more bytes, with those of unread characters behind it


@dataclass(frozen=True)
class Pauses:
    """The silence put after a segment, in seconds, by what ends it.

    Models end a segment with a little silence of their own (0.1 to 0.4 s), so these are what is
    missing to a reader's pauses: about half a second after a sentence and nearly a second after a
    paragraph. A clause that had to be cut gets none, since no reader stops there for long.
    """

    clause_s: float = 0.0
    sentence_s: float = 0.15
    paragraph_s: float = 0.5

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (math.isfinite(value) and value >= 0):
                message = f"{name} is {value}; a pause is 0 or more seconds."
                raise InvalidValueError(message, param=name)

    def after(self, boundary: Boundary) -> float:
        """The silence after a segment that ends with `boundary`, in seconds."""
        pauses = {
            Boundary.CLAUSE: self.clause_s,
            Boundary.SENTENCE: self.sentence_s,
            Boundary.PARAGRAPH: self.paragraph_s,
        }
        return pauses.get(boundary, 0.0)


_DEFAULT_PAUSES = Pauses()


@dataclass(frozen=True)
class Segment:
    """One part of a text, spoken in one go.

    `text` is the slice `start` to `end` (code points) of the input, cleaned and without spaces at
    its ends; a single line break inside stays. `expected_s` is its estimated duration and `pause_s`
    the silence after it (0 after the last). `dropped` is what cleaning removed. `cut_inside_word`
    says that the segment ends inside a run without spaces that alone was too long.
    """

    text: str
    start: int
    end: int
    expected_s: float
    boundary: Boundary
    pause_s: float
    dropped: tuple[Dropped, ...] = ()
    cut_inside_word: bool = False


def segments(
    text: str,
    *,
    language: str | None = None,
    target_s: float = DEFAULT_TARGET_S,
    max_s: float = DEFAULT_MAX_S,
    max_bytes: int | None = None,
    pauses: Pauses = _DEFAULT_PAUSES,
    split: bool = True,
) -> list[Segment]:
    """The segments of the text, in order; the slices `text[start:end]` join to the text.

    Sentences are put together up to `target_s` seconds, and no segment is expected to take longer
    than `max_s`, nor has it more than `max_bytes` of text in UTF-8. `language` (a name or a tag;
    None: by script) helps to find sentences. With `split=False` the text is one segment as it is:
    not cleaned, not stripped, however long.

    Raises: NothingToSpeakError: the text is empty, blank, only punctuation or only emoji (with
        `split=False`: it has nothing visible). InvalidValueError: `target_s`, `max_s` or
        `max_bytes` is out of range.
    """
    sizes = _checked_sizes(target_s, max_s)
    if max_bytes is not None and max_bytes < MIN_MAX_BYTES:
        message = f"max_bytes is {max_bytes}; a segment's longest text is {MIN_MAX_BYTES} or more."
        raise InvalidValueError(message, param="max_bytes")
    if not split:
        if not any(map(_is_visible, set(text))):
            raise _nothing_to_speak(text)
        return [Segment(text, 0, len(text), clock(text)[-1] / 1000, Boundary.END, 0.0)]
    looked_at = without_sequences(text)
    times = clock(looked_at)
    if times[-1] == 0:
        raise _nothing_to_speak(looked_at)
    pieces = [
        part
        for sentence in _sentences(looked_at, language)
        for part in cut(looked_at, sentence, times, sizes.limit_ms)
    ]
    pieces = without_silent(pieces, times)
    packed = pack(pieces, times, sizes)
    if max_bytes is not None:
        packed = within_bytes(text, packed, pieces, times, max_bytes)
    return [_segment(text, piece, times, pauses, is_last=piece is packed[-1]) for piece in packed]


def _checked_sizes(target_s: float, max_s: float) -> Sizes:
    """The sizes in ms; a target over the maximum is the maximum.

    Raises: InvalidValueError: one is out of range.
    """
    if not (math.isfinite(max_s) and max_s >= MIN_MAX_S):
        message = f"max_s is {max_s}; a segment's longest duration is {MIN_MAX_S} s or more."
        raise InvalidValueError(message, param="max_s")
    if not (math.isfinite(target_s) and target_s > 0):
        message = f"target_s is {target_s}; the duration to aim for is more than 0 seconds."
        raise InvalidValueError(message, param="target_s")
    limit_ms = int(max_s * 1000)
    return Sizes(target_ms=min(int(target_s * 1000), limit_ms), limit_ms=limit_ms)


def _sentences(text: str, language: str | None) -> Iterator[Piece]:
    """The sentences of the text in order; their spans join to the text."""
    for block in blocks(text):
        content = text[block.start : block.end]
        ends = sentence_ends(content, code_for(language, content))
        start = block.start
        for end in ends[:-1]:
            yield Piece(start, block.start + end, Boundary.SENTENCE)
            start = block.start + end
        last = Boundary.PARAGRAPH if block.ends_paragraph else Boundary.SENTENCE
        yield Piece(start, block.end, last)


def _segment(
    text: str, piece: Piece, times: Sequence[int], pauses: Pauses, *, is_last: bool
) -> Segment:
    """The segment of one packed piece."""
    cleaned, dropped = clean(text[piece.start : piece.end])
    boundary = Boundary.END if is_last else piece.boundary
    return Segment(
        text=cleaned.strip(),
        start=piece.start,
        end=piece.end,
        expected_s=(times[piece.end] - times[piece.start]) / 1000,
        boundary=boundary,
        pause_s=pauses.after(boundary),
        dropped=dropped,
        cut_inside_word=piece.inside_word,
    )


def _is_visible(character: str) -> bool:
    """True if the character is neither a space nor invisible (control, format, surrogate)."""
    return unicodedata.category(character)[0] not in "ZC"


def _nothing_to_speak(text: str) -> NothingToSpeakError:
    """The error for a text without anything to speak; it says what the text holds instead."""
    kinds = {_kind(character) for character in set(text)}
    held = " and ".join(sorted(kinds - {"spaces"})) or "only spaces"
    reason = f"it holds {held}" if text else "it is empty"
    return NothingToSpeakError(
        f"the text has nothing to speak: {reason}. Give at least one letter, digit or symbol that "
        "is read as a word (%, $, &).",
        param="text",
    )


def _kind(character: str) -> str:
    """What a user calls a character that is not spoken."""
    category = unicodedata.category(character)
    if character.isspace():
        return "spaces"
    if category.startswith("C"):
        return "invisible characters"
    if category.startswith("M"):
        return "combining marks"
    return "emoji" if category == "So" or character > "\uffff" else "punctuation"
