"""Pieces packed into the stretches that become segments.

Within a paragraph, neighbours are put together up to the target, and a short piece goes to a
neighbour even over the target, never over the limit. Between paragraphs only a tiny piece ("No.",
"7") is joined, since models make things up when they speak a single word. A piece with nothing to
speak never stands alone, whatever it ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from menura.text.pieces import Boundary, Piece, absorbed, joined

_SHORT_SHARE = 4  # a piece under a quarter of the target is short
_TINY_MS = 700  # "Introduction" and "Chapter 1" cost more and stay paragraphs of their own


@dataclass(frozen=True)
class Sizes:
    """The durations to pack to, in ms: aim for `target_ms`, never pass `limit_ms`."""

    target_ms: int
    limit_ms: int


def without_silent(pieces: list[Piece], clock: Sequence[int]) -> list[Piece]:
    """The pieces, those that cost nothing put into the one before them (the first: after them).

    At least one piece must cost something.
    """
    kept: list[Piece] = []
    start = pieces[0].start
    for piece in pieces:
        if clock[piece.end] > clock[piece.start]:
            kept.append(Piece(start, piece.end, piece.boundary, piece.inside_word))
        elif kept:
            kept[-1] = absorbed(kept[-1], piece)
        else:
            continue
        start = piece.end
    return kept


def pack(pieces: list[Piece], clock: Sequence[int], sizes: Sizes) -> list[Piece]:
    """The pieces put together as the file's first lines say; their order and spans stay."""
    packed: list[Piece] = []
    paragraph: list[Piece] = []
    for piece in pieces:
        paragraph.append(piece)
        if piece.boundary is Boundary.PARAGRAPH:
            packed += _packed_paragraph(paragraph, clock, sizes)
            paragraph = []
    packed += _packed_paragraph(paragraph, clock, sizes)
    return _without_tiny(packed, clock, sizes.limit_ms)


def _packed_paragraph(pieces: list[Piece], clock: Sequence[int], sizes: Sizes) -> list[Piece]:
    """The pieces of one paragraph, packed."""
    short_ms = sizes.target_ms // _SHORT_SHARE
    packed: list[Piece] = []
    for number, piece in enumerate(pieces):
        if packed:
            before = packed[-1]
            both_ms = clock[piece.end] - clock[before.start]
            is_last = number == len(pieces) - 1
            ms = clock[piece.end] - clock[piece.start]
            is_short = clock[before.end] - clock[before.start] < short_ms
            is_short = is_short or (is_last and ms < short_ms)
            if both_ms <= (sizes.limit_ms if is_short else sizes.target_ms):
                packed[-1] = joined(before, piece)
                continue
        packed.append(piece)
    return packed


def _without_tiny(pieces: list[Piece], clock: Sequence[int], limit_ms: int) -> list[Piece]:
    """The pieces, each tiny one joined to the next, or else to the one before, where that fits."""
    kept: list[Piece] = []
    tiny: Piece | None = None
    for following in pieces:
        piece = following
        if tiny is not None:
            if clock[piece.end] - clock[tiny.start] <= limit_ms:
                piece = joined(tiny, piece)
            else:
                _append_tiny(kept, tiny, clock, limit_ms)
            tiny = None
        if clock[piece.end] - clock[piece.start] < _TINY_MS:
            tiny = piece
        else:
            kept.append(piece)
    if tiny is not None:
        _append_tiny(kept, tiny, clock, limit_ms)
    return kept


def _append_tiny(kept: list[Piece], tiny: Piece, clock: Sequence[int], limit_ms: int) -> None:
    """Puts a tiny piece into the last kept one if that fits, else after it."""
    if kept and clock[tiny.end] - clock[kept[-1].start] <= limit_ms:
        kept[-1] = joined(kept[-1], tiny)
    else:
        kept.append(tiny)
