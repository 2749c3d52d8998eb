"""Whole sentences of a text that comes in pieces: the same ones however it is cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from menura.text.arriving import LONGEST, ArrivingText, boundary_after
from menura.text.pieces import Boundary

PROSE = (
    'It rained all day in Dover. Dr. Smith paid 3.14 dollars for it at 5 p.m. on Monday! "Why?" '
    "he asked... Nobody knew the answer. No. Yes. It went on and on, as the U.S. army said.\n\n"
    "A heading of its own\n\nThe last paragraph has no end"
)
CHINESE = "今天下了一整天的雨。他问为什么？没有人知道答案！我们明天再去吧"


def parts_of(pieces: list[str]) -> list[str]:
    arriving = ArrivingText()
    parts = [part for piece in pieces for part in arriving.add(piece)]
    return [*parts, arriving.flush()]


def test_a_sentence_is_complete_when_the_next_one_begins() -> None:
    arriving = ArrivingText()
    assert arriving.add("It rained all day in Dover") == []
    assert arriving.add(". ") == []
    assert arriving.add("T") == ["It rained all day in Dover. "]
    assert arriving.add("hen") == []
    assert arriving.flush() == "Then"
    assert arriving.flush() == ""


def test_what_is_no_end_ends_nothing() -> None:
    assert parts_of(["It cost 3.", "14 dollars, said Dr. Smith of the well-known company"]) == [
        "It cost 3.14 dollars, said Dr. Smith of the well-known company"
    ]


def test_a_word_alone_waits_for_the_next_sentence() -> None:
    assert parts_of(["No. That was not what I meant. Good"])[0] == "No. That was not what I meant. "


def test_a_blank_line_ends_a_paragraph_without_a_mark() -> None:
    assert parts_of(["A heading of its own\n\nThe text"]) == [
        "A heading of its own\n\n",
        "The text",
    ]


@pytest.mark.parametrize("text", [PROSE, CHINESE])
def test_each_character_alone_gives_what_the_whole_text_gives(text: str) -> None:
    parts = parts_of([text])
    assert parts_of(list(text)) == parts
    assert "".join(parts) == text
    assert len(parts) >= 3


@given(st.lists(st.text(alphabet="abE .!?\n。,\"'(5", max_size=12), max_size=12))
def test_however_it_is_cut_the_parts_are_the_same_and_lose_nothing(pieces: list[str]) -> None:
    text = "".join(pieces)
    parts = parts_of(pieces)
    assert parts == parts_of([text])
    rest = text[len("".join(parts)) :]
    assert text.startswith("".join(parts))
    assert not any(character.isalnum() for character in rest)


def test_what_cannot_be_spoken_waits_on() -> None:
    arriving = ArrivingText()
    arriving.add(" ... ")
    assert arriving.flush() == ""
    arriving.add("yes")
    assert arriving.flush() == " ... yes"


@pytest.mark.parametrize("text", ["word " * 1000, "x" * 5000, "." * 5000, " " * 5000, "\n" * 5000])
def test_a_text_without_an_end_does_not_wait_for_ever(text: str) -> None:
    arriving = ArrivingText()
    parts = arriving.add(text)
    assert all(0 < len(part) <= LONGEST + 1 for part in parts)
    assert len(text) - len("".join(parts)) <= LONGEST + 1


@pytest.mark.parametrize(
    ("text", "boundary"),
    [
        ("An end. ", Boundary.SENTENCE),
        ('"An end!" ', Boundary.SENTENCE),
        ("一句话。", Boundary.SENTENCE),
        ("a line\n", Boundary.SENTENCE),
        ("An end.\n \n", Boundary.PARAGRAPH),
        ("and then", Boundary.CLAUSE),
        ("", Boundary.CLAUSE),
    ],
)
def test_what_ends_a_text_says_how_long_the_pause_is(text: str, boundary: Boundary) -> None:
    assert boundary_after(text) is boundary
