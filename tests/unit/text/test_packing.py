import pytest

from menura.text.packing import Sizes, pack, without_silent
from menura.text.pieces import Boundary, Piece

CUT, CLAUSE, SENTENCE, PARAGRAPH = list(Boundary)[:4]
SIZES = Sizes(target_ms=12_000, limit_ms=25_000)


def packed(*sizes: tuple[float, Boundary]) -> list[float]:
    """The seconds of each packed piece; each code point of the imagined text takes 0.1 s."""
    pieces: list[Piece] = []
    for seconds, boundary in sizes:
        start = pieces[-1].end if pieces else 0
        pieces.append(Piece(start, start + round(seconds * 10), boundary))
    clock = range(0, pieces[-1].end * 100 + 1, 100)
    result = pack(pieces, clock, SIZES)
    assert [piece.start for piece in result] == [0, *(piece.end for piece in result[:-1])]
    assert result[-1].end == pieces[-1].end
    return [(piece.end - piece.start) / 10 for piece in result]


def test_sentences_are_put_together_up_to_the_target() -> None:
    assert packed(*[(5, SENTENCE)] * 5) == [10, 10, 5]


def test_a_sentence_between_target_and_limit_stays_whole_and_alone() -> None:
    assert packed((8, SENTENCE), (20, SENTENCE), (8, SENTENCE)) == [8, 20, 8]


def test_a_short_beginning_and_a_short_end_join_over_the_target() -> None:
    assert packed((0.5, SENTENCE), (20, SENTENCE)) == [20.5]
    assert packed((10, SENTENCE), (2.5, PARAGRAPH), (10, PARAGRAPH)) == [12.5, 10]


def test_short_sentences_do_not_pile_up_to_the_limit() -> None:
    assert packed(*[(2, SENTENCE)] * 12) == [12, 12]


def test_nothing_joins_over_the_limit() -> None:
    assert packed((0.5, SENTENCE), (24.9, SENTENCE)) == [0.5, 24.9]


def test_paragraphs_stay_apart_unless_one_is_tiny() -> None:
    assert packed((3, PARAGRAPH), (0.7, PARAGRAPH), (3, PARAGRAPH)) == [3, 0.7, 3]
    assert packed((3, PARAGRAPH), (0.6, PARAGRAPH), (3, PARAGRAPH)) == [3, 3.6]


def test_tiny_paragraphs_go_on_joining_until_they_can_be_spoken() -> None:
    assert packed(*[(0.3, PARAGRAPH)] * 4, (5, PARAGRAPH)) == [0.9, 5.3]


def test_a_tiny_last_paragraph_joins_the_one_before() -> None:
    assert packed((3, PARAGRAPH), (4, PARAGRAPH), (0.5, PARAGRAPH)) == [3, 4.5]


def test_a_tiny_paragraph_before_a_full_one_joins_the_one_before() -> None:
    assert packed((3, PARAGRAPH), (0.5, PARAGRAPH), (24.9, PARAGRAPH)) == [3.5, 24.9]


def test_one_tiny_piece_alone_stays() -> None:
    assert packed((0.4, PARAGRAPH)) == [0.4]


def test_silent_pieces_join_the_one_before_and_the_first_ones_the_one_after() -> None:
    clock = [0, 0, 0, 100, 100, 100, 200]
    pieces = [
        Piece(0, 1, PARAGRAPH),
        Piece(1, 2, SENTENCE),
        Piece(2, 3, SENTENCE),
        Piece(3, 4, PARAGRAPH),
        Piece(4, 5, SENTENCE),
        Piece(5, 6, SENTENCE),
    ]

    assert without_silent(pieces, clock) == [Piece(0, 5, PARAGRAPH), Piece(5, 6, SENTENCE)]


@pytest.mark.parametrize("boundary", [CUT, CLAUSE])
def test_a_joined_piece_ends_as_its_second_half_does(boundary: Boundary) -> None:
    result = pack(
        [Piece(0, 1, SENTENCE), Piece(1, 2, boundary, inside_word=True)], [0, 900, 1800], SIZES
    )

    assert result == [Piece(0, 2, boundary, inside_word=True)]
