"""A sentence that is too long for one segment, cut into pieces of a bounded duration.

Five kinds of places are tried, one after another, each only for what is still too long: clause
marks; spaces; spaces that are better kept (between digits, after a full stop: "Mr. Smith"); between
graphemes of scripts that put no space between words; between any two graphemes, which cuts a word
and is said so. Each kind halves a piece at its place nearest to the middle of the duration. Every
kind looks at the text once, so the time is linear.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import NamedTuple

from menura.text.graphemes import cluster_starts
from menura.text.pieces import Boundary, Piece
from menura.text.scripts import WITHOUT_SPACES, script_of

# A clause or a space that leaves less than this on one side is no help: better a later kind.
_MIN_SIDE_MS = 2000
_MIN_SIDE_SHARE = 4  # of the limit, where that is less

# No-break spaces are left out: they hold a number and its unit, or French marks, together.
_SPACE = r"[^\S\u00a0\u202f\u2007]"
_WIDE = "、，；：。！？」』】）〉》—।॥။၊។"
_CLAUSE = re.compile(
    rf'(?:(?<=[,;:!?…،؛؟۔)\]}}»”"–{_WIDE}])|(?<=\s-)|(?<=\s--)){_SPACE}++'
    rf"|(?<=[{_WIDE}])(?![{_WIDE}\s,.;:!?…”’'\"])(?!(?<=\d[，：])\d)"
)
_GOOD_SPACE = re.compile(rf"(?<![.\s\d]){_SPACE}++|(?<=\d){_SPACE}++(?!\d)|\u200b++")
_ANY_SPACE = re.compile(rf"(?<!\s){_SPACE}++")

# Letters and marks that begin no line in their scripts, and those that end none.
_NEVER_FIRST = frozenset("ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶーヽヾゝゞ々〻ะาๅๆະາໆ་")
_NEVER_LAST = frozenset("เแโใไເແໂໃໄ")


class _Kind(NamedTuple):
    """One kind of place: what finds them in `text[start:end]`, and what a cut there is."""

    find: Callable[[str, int, int], list[int]]
    boundary: Boundary
    inside_word: bool = False
    is_choosy: bool = False


def cut(text: str, piece: Piece, clock: Sequence[int], limit_ms: int) -> list[Piece]:
    """Pieces that join to `piece`, each of at most `limit_ms` unless it is one grapheme.

    `clock` is `duration.clock(text)`. The last piece ends as `piece` does.
    """
    pieces = [piece]
    for kind in _KINDS:
        cuts: list[Piece] = []
        for part in pieces:
            if clock[part.end] - clock[part.start] > limit_ms:
                cuts += _halved(part, kind, kind.find(text, part.start, part.end), clock, limit_ms)
            else:
                cuts.append(part)
        pieces = cuts
    return pieces


def _halved(
    piece: Piece, kind: _Kind, places: list[int], clock: Sequence[int], limit_ms: int
) -> list[Piece]:
    """The piece cut at some of the places until each part fits the limit or has no good place."""
    min_side_ms = min(_MIN_SIDE_MS, limit_ms // _MIN_SIDE_SHARE) if kind.is_choosy else 1
    done: list[Piece] = []
    waiting = [piece]
    while waiting:
        part = waiting.pop()
        too_long = clock[part.end] - clock[part.start] > limit_ms
        place = _middle(part, places, clock, min_side_ms) if too_long else None
        if place is None:
            done.append(part)
        else:
            waiting.append(Piece(place, part.end, part.boundary, part.inside_word))
            waiting.append(Piece(part.start, place, kind.boundary, kind.inside_word))
    return done


def _middle(piece: Piece, places: list[int], clock: Sequence[int], min_side_ms: int) -> int | None:
    """The place nearest to the middle of the piece's duration; None if a side is too small."""
    begin, end = clock[piece.start], clock[piece.end]
    after = bisect_left(places, (begin + end) / 2, key=clock.__getitem__)
    near = places[max(0, after - 1) : after + 1]
    good = [place for place in near if begin + min_side_ms <= clock[place] <= end - min_side_ms]
    return min(good, key=lambda place: abs(2 * clock[place] - begin - end), default=None)


def _matches(pattern: re.Pattern[str]) -> Callable[[str, int, int], list[int]]:
    """A finder of the places after each match of the pattern."""

    def find(text: str, start: int, end: int) -> list[int]:
        return [match.end() for match in pattern.finditer(text, start, end)]

    return find


def _graphemes(text: str, start: int, end: int) -> list[int]:
    """The places between any two graphemes."""
    return [start + index for index in cluster_starts(text[start:end])]


def _graphemes_without_spaces(text: str, start: int, end: int) -> list[int]:
    """The places between two graphemes where a script without spaces may be cut.

    At least one side is a letter of such a script: "共|1234|人" keeps its number whole.
    """
    places: list[int] = []
    is_bare = False  # the cluster before this place begins with a letter of such a script
    before = " "
    for place in _graphemes(text, start, end):
        character = text[place]
        was_bare, is_bare = is_bare, script_of(character) in WITHOUT_SPACES
        if (was_bare or is_bare) and _may_part(before, character):
            places.append(place)
        before = character
    return places


def _may_part(before: str, after: str) -> bool:
    """True if neither character clings to the other: marks, small kana, Thai vowels, spaces."""
    if after in _NEVER_FIRST or before in _NEVER_LAST or after.isspace():
        return False
    opens = unicodedata.category(before) in {"Ps", "Pi"}
    closes = unicodedata.category(after) in {"Pe", "Pf", "Po"}
    return not opens and not closes


_KINDS = (
    _Kind(_matches(_CLAUSE), Boundary.CLAUSE, is_choosy=True),
    _Kind(_matches(_GOOD_SPACE), Boundary.CUT, is_choosy=True),
    _Kind(_matches(_ANY_SPACE), Boundary.CUT),
    _Kind(_graphemes_without_spaces, Boundary.CUT),
    _Kind(_graphemes, Boundary.CUT, inside_word=True),
)
