"""Packed pieces cut again where their text has too many bytes, for models that read bytes.

A packed piece is bounded in time, and speech of that length is rarely long in bytes. Where it is (a
script of three bytes a letter, a row of links), the piece is opened: first into the pieces that it
was packed from, then each of those as a sentence that is too long. What fits stays as it was.
"""

import unicodedata
from collections.abc import Sequence
from functools import cache
from itertools import accumulate

from menura.text.cleaning import LONGEST_SILENCE, clean
from menura.text.cuts import cut
from menura.text.packing import without_silent
from menura.text.pieces import Piece, joined
from menura.text.scripts import is_spoken
from menura.text.unwanted import REMOVED


def n_bytes(text: str, piece: Piece) -> int:
    """The bytes (UTF-8) of what is spoken of a piece: its slice, cleaned, without outer spaces."""
    return len(clean(text[piece.start : piece.end])[0].strip().encode())


def within_bytes(
    text: str, packed: list[Piece], pieces: list[Piece], times: Sequence[int], max_bytes: int
) -> list[Piece]:
    """The packed pieces, those of more than `max_bytes` cut; order and spans stay.

    `pieces` are what was packed, each with something to speak; `times` is `duration.clock(text)`.
    """
    is_long = [n_bytes(text, piece) > max_bytes for piece in packed]
    if not any(is_long):
        return packed
    sizes = byte_clock(text)
    fitting: list[Piece] = []
    inner = iter(pieces)
    for piece, has_to_be_cut in zip(packed, is_long, strict=True):
        inside = [next(inner)]
        while inside[-1].end < piece.end:
            inside.append(next(inner))
        if not has_to_be_cut:
            fitting.append(piece)
            continue
        for part in _opened(text, inside, sizes, max_bytes):
            if n_bytes(text, part) <= max_bytes:
                fitting.append(part)
            else:
                # What is cut off begins a run of unread characters anew: leave room for those.
                cuts = cut(text, part, sizes, max_bytes * 3 // 4)
                fitting += without_silent(cuts, times)
    return fitting


def _opened(text: str, pieces: list[Piece], sizes: Sequence[int], max_bytes: int) -> list[Piece]:
    """The pieces put together to parts that fit, or that are single pieces, by halving."""
    done: list[Piece] = []
    waiting = [pieces]
    while waiting:
        inside = waiting.pop()
        part = joined(inside[0], inside[-1])
        if len(inside) == 1 or n_bytes(text, part) <= max_bytes:
            done.append(part)
            continue
        ends = sizes[part.start] + sizes[part.end]
        middle = min(range(1, len(inside)), key=lambda i: abs(2 * sizes[inside[i].start] - ends))
        waiting += [inside[middle:], inside[:middle]]
    return done


def byte_clock(text: str) -> list[int]:
    """The bytes before each character, and of all: [n + 1]; never fewer than cleaned text has.

    Characters that cleaning removes count nothing. Any other counts as if it was decomposed, since
    composing never makes a text longer.
    """
    costs: list[int] = []
    n_unread = 0
    for character in text:
        if REMOVED.match(character):
            costs.append(0)
            continue
        n_unread = 0 if is_spoken(character) else n_unread + 1
        costs.append(_decomposed_bytes(character) if n_unread <= LONGEST_SILENCE else 0)
    return list(accumulate(costs, initial=0))


@cache
def _decomposed_bytes(character: str) -> int:
    return len(unicodedata.normalize("NFD", character).encode())
