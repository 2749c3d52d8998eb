from itertools import accumulate

import pytest

from menura.text.cuts import cut
from menura.text.pieces import Boundary, Piece


def cuts(text: str, limit_ms: int) -> list[tuple[str, Boundary, bool]]:
    """The pieces; each letter and digit of the text takes 100 ms."""
    clock = list(accumulate((100 * c.isalnum() for c in text), initial=0))
    pieces = cut(text, Piece(0, len(text), Boundary.SENTENCE), clock, limit_ms)
    return [(text[p.start : p.end], p.boundary, p.inside_word) for p in pieces]


def texts(text: str, limit_ms: int) -> list[str]:
    return [piece for piece, _, _ in cuts(text, limit_ms)]


def test_a_short_sentence_is_left_alone() -> None:
    assert cuts("Hello, you there.", 2000) == [("Hello, you there.", Boundary.SENTENCE, False)]


def test_the_clause_nearest_to_the_middle_is_cut_first() -> None:
    assert cuts("aaaaa, bbbbb bbbbb, ccccc ccccc, ddddd", 2000) == [
        ("aaaaa, bbbbb bbbbb, ", Boundary.CLAUSE, False),
        ("ccccc ccccc, ddddd", Boundary.SENTENCE, False),
    ]


def test_a_clause_at_the_very_edge_is_no_help_and_a_space_is_taken() -> None:
    assert cuts("So, bbbbbbbbb bbbbbbbbb ccccccccc ccccccccc", 2000) == [
        ("So, bbbbbbbbb bbbbbbbbb ", Boundary.CUT, False),
        ("ccccccccc ccccccccc", Boundary.SENTENCE, False),
    ]


@pytest.mark.parametrize(
    "mark",
    [
        ", ",
        "; ",
        ": ",
        " - ",
        " -- ",
        " – ",
        "—",
        "… ",
        ") ",
        "] ",
        "، ",
        "؛ ",
        "! ",
        '" ',
    ],
)
def test_marks_of_clauses_in_scripts_with_spaces(mark: str) -> None:
    assert cuts(f"aaaaa aaaaa{mark}bbbbb bbbbb", 1000) == [
        (f"aaaaa aaaaa{mark}", Boundary.CLAUSE, False),
        ("bbbbb bbbbb", Boundary.SENTENCE, False),
    ]


@pytest.mark.parametrize("mark", "、，；：。！」）")
def test_wide_marks_need_no_space(mark: str) -> None:
    assert texts(f"天天天天天{mark}气气气", 500) == [
        f"天天天天天{mark}",
        "气气气",
    ]


def test_a_wide_mark_stays_with_the_closing_marks_after_it() -> None:
    assert texts("「天天天。」气气气", 300) == [
        "「天天天。」",
        "气气气",
    ]


@pytest.mark.parametrize("number", ["1,984", "3.14", "12:30", "1，000", "10-20", "1.2.3.4"])
def test_numbers_stay_whole_where_a_space_can_be_cut(number: str) -> None:
    assert texts(f"aaaa aaaa {number} bbbb bbbb", 1300) in (
        [f"aaaa aaaa {number} ", "bbbb bbbb"],
        ["aaaa aaaa ", f"{number} bbbb bbbb"],
    )


def test_a_title_stays_with_its_name_and_a_number_with_its_groups() -> None:
    assert texts("aaaa aaaaaa Mr. Smithson bbbb", 1400) == ["aaaa aaaaaa ", "Mr. Smithson bbbb"]
    assert texts("aaa aaaaaaa 1 000 bbbbbbbb bb", 1400) == ["aaa aaaaaaa ", "1 000 bbbbbbbb bb"]


def test_spaces_between_digits_are_cut_before_any_word_is() -> None:
    assert cuts("1 2 3 4", 200) == [
        ("1 2 ", Boundary.CUT, False),
        ("3 4", Boundary.SENTENCE, False),
    ]


def test_a_no_break_space_is_no_space() -> None:
    assert texts("aaaaaa\u00a0aaa aaa bbbbbb", 1000) == ["aaaaaa\u00a0aaa ", "aaa bbbbbb"]


def test_one_long_word_is_cut_between_graphemes_and_said_so() -> None:
    assert cuts("e\u0301" * 20, 1000) == [
        ("e\u0301" * 10, Boundary.CUT, True),
        ("e\u0301" * 10, Boundary.SENTENCE, False),
    ]


def test_only_the_run_that_is_too_long_is_cut_inside() -> None:
    assert cuts("aaa " + "b" * 20, 1000) == [
        ("aaa ", Boundary.CUT, False),
        ("b" * 10, Boundary.CUT, True),
        ("b" * 10, Boundary.SENTENCE, False),
    ]


def test_a_script_without_spaces_is_cut_between_graphemes_with_its_numbers_whole() -> None:
    assert cuts("共有1234567人参加了这个活动", 900) == [
        ("共有1234567", Boundary.CUT, False),
        ("人参加了这个活动", Boundary.SENTENCE, False),
    ]


def test_thai_vowels_and_small_kana_stay_with_their_letters() -> None:
    assert texts("กกเกกก", 400) == ["กก", "เกกก"]
    assert texts("かかきゃかか", 400) == ["かか", "きゃかか"]


def test_pieces_are_even_and_bounded_and_lose_nothing() -> None:
    text = "天" * 1000
    pieces = texts(text, 6_300)
    assert "".join(pieces) == text
    assert [len(piece) for piece in pieces] == [
        62,
        63,
        62,
        63,
        62,
        63,
        62,
        63,
        62,
        63,
        62,
        63,
        62,
        63,
        62,
        63,
    ]
