"""A piece: a stretch of the input between two borders, not yet a segment."""

from dataclasses import dataclass
from enum import StrEnum


class Boundary(StrEnum):
    """What ends a segment."""

    CUT = "cut"  # the middle of a phrase: the text was too long for one segment
    CLAUSE = "clause"
    SENTENCE = "sentence"
    PARAGRAPH = "paragraph"
    END = "end"  # of the whole text


_STRENGTH = {boundary: strength for strength, boundary in enumerate(Boundary)}


@dataclass(frozen=True)
class Piece:
    """The code points `start` to `end` of the input, and what ends them."""

    start: int
    end: int
    boundary: Boundary
    inside_word: bool = False


def joined(first: Piece, second: Piece) -> Piece:
    """The two neighbours as one piece, which ends as the second does."""
    return Piece(first.start, second.end, second.boundary, second.inside_word)


def absorbed(piece: Piece, silent: Piece) -> Piece:
    """The piece with the silent one after it; the stronger of the two boundaries ends it."""
    stronger = max(piece.boundary, silent.boundary, key=_STRENGTH.__getitem__)
    return Piece(piece.start, silent.end, stronger, piece.inside_word)
