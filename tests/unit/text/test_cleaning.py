import pytest

from menura.text.cleaning import LONGEST_SILENCE, Dropped, clean


def test_a_plain_text_is_left_alone() -> None:
    assert clean(" Tab\tand\nnewline, ok. ") == (" Tab\tand\nnewline, ok. ", ())


def test_letters_are_composed() -> None:
    assert clean("Cafe\u0301 \u1100\u1161\u11a8") == ("Café 각", ())


def test_removed_characters_are_reported_in_order_with_their_counts() -> None:
    text, dropped = clean("\u202ea\x00b\u202e\ud83dc\x7f")

    assert text == "abc"
    assert dropped == (
        Dropped("U+202E RIGHT-TO-LEFT OVERRIDE", 2),
        Dropped("U+0000 CONTROL CHARACTER", 1),
        Dropped("U+D83D LONE SURROGATE", 1),
        Dropped("U+007F CONTROL CHARACTER", 1),
    )


def test_letters_are_composed_over_a_removed_character() -> None:
    assert clean("e\x00\u0301")[0] == "é"


@pytest.mark.parametrize("kept", ["\u200c", "\u200d", "\u00ad", "\ufe0f", "😄"])
def test_what_shapes_letters_and_pictures_is_kept(kept: str) -> None:
    assert clean(f"a{kept}b") == (f"a{kept}b", ())


@pytest.mark.parametrize("code", [0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), 0x2066, 0x2069])
def test_controls_of_direction_are_dropped(code: int) -> None:
    text, dropped = clean(f"a{chr(code)}b")

    assert text == "ab"
    assert [entry.count for entry in dropped] == [1]


@pytest.mark.parametrize("line_break", ["\r\n", "\r", "\x0b", "\x0c", "\x85", "\x1c", "\x1f"])
def test_every_line_break_becomes_one_newline_and_no_words_are_glued(line_break: str) -> None:
    assert clean(f"one{line_break}two") == ("one\ntwo", ())


def test_two_line_breaks_stay_two() -> None:
    assert clean("one\r\n\r\ntwo")[0] == "one\n\ntwo"


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07word", "word"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b[1;38;5;208mbold\x1b[m [31m", "bold [31m"),
    ],
)
def test_a_terminal_sequence_is_dropped_whole(text: str, spoken: str) -> None:
    cleaned, dropped = clean(text)
    assert cleaned == spoken
    assert [entry.character[:6] for entry in dropped] == ["U+001B"]


@pytest.mark.parametrize(
    ("run", "n_reported"),
    [
        ("." * 100_000, 99_988),
        ("😄" * 6_000, 5_988),
        ("\u0301" * 3_000, 2_988),
        ("=" * 500, 488),
        (" " * 500, 0),
        (". " * 3_000, 2_994),
    ],
)
def test_a_long_run_that_nobody_reads_keeps_its_first_characters(run: str, n_reported: int) -> None:
    cleaned, dropped = clean(f"x{run}y")
    assert cleaned == f"x{run[:LONGEST_SILENCE]}y"
    assert sum(entry.count for entry in dropped) == n_reported


@pytest.mark.parametrize(
    "text", ["Wait... what?!", "a,\n\n“b”", "....", "π = 3", "👨‍👩‍👧‍👦 family"]
)
def test_an_ordinary_run_of_marks_stays(text: str) -> None:
    assert clean(text) == (text, ())


def test_a_run_that_held_a_space_still_parts_the_words_around_it() -> None:
    assert clean("one" + ". " * 50 + "5")[0] == "one. . . . . . 5"
    assert clean("one" + " ." * 50 + " 5")[0] == "one . . . . .  5"
