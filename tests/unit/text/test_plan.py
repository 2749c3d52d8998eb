from math import inf, nan

import pytest

from menura.errors import InvalidValueError, NothingToSpeakError
from menura.text.plan import Boundary, Dropped, Pauses, Segment, segments, speakable

CHINESE = "今天天气很好，我们去公园吧。"


def test_a_short_text_is_one_segment_with_its_whole_span() -> None:
    assert segments("  Hello there.\n") == [
        Segment("Hello there.", 0, 15, 0.65, Boundary.END, 0.0, (), cut_inside_word=False)
    ]


def test_sentences_are_packed_and_a_paragraph_ends_with_its_pause() -> None:
    text = "One sentence is here. Another one follows it.\n\nThe next paragraph is this."

    first, second = segments(text)

    assert (first.text, first.start, first.end) == (text[:45], 0, 47)
    assert (first.boundary, first.pause_s) == (Boundary.PARAGRAPH, 0.5)
    assert (second.text, second.boundary, second.pause_s) == (text[47:], Boundary.END, 0.0)


def test_pauses_are_chosen_by_the_caller() -> None:
    text = "A sentence of some length is here. " * 9 + "\n\n" + "word word, " * 40
    pauses = Pauses(clause_s=0.1, sentence_s=0.2, paragraph_s=0.9)

    planned = segments(text, pauses=pauses)

    assert [(part.boundary.value, part.pause_s) for part in planned] == [
        ("sentence", 0.2),
        ("paragraph", 0.9),
        ("clause", 0.1),
        ("end", 0.0),
    ]


def test_the_letters_of_a_terminal_sequence_are_nothing_to_speak() -> None:
    coloured = "\x1b[31mRed.\x1b[0m"

    assert [part.text for part in segments(coloured)] == ["Red."]
    assert segments(coloured)[0].expected_s == segments("Red.")[0].expected_s
    for text in ("\x1b@", "\x1b[31m", "\x1b]0;title\x07"):
        assert not speakable(text)
        with pytest.raises(NothingToSpeakError, match="invisible characters"):
            segments(text)


@pytest.mark.parametrize("name", ["clause_s", "sentence_s", "paragraph_s"])
@pytest.mark.parametrize("value", [-0.1, nan, inf])
def test_a_bad_pause_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(InvalidValueError, match=name) as raised:
        Pauses(**{name: value})

    assert raised.value.param == name


def test_a_tiny_paragraph_is_never_spoken_alone() -> None:
    text = "No.\n\n7\n\nThis paragraph is long enough to be spoken."
    assert [part.text for part in segments(text)] == [text]


def test_a_heading_of_ordinary_length_keeps_its_paragraph() -> None:
    text = "Chapter 1\n\nIt was a dark and stormy night."
    assert [part.text for part in segments(text)] == ["Chapter 1", text[11:]]


def test_a_silent_paragraph_belongs_to_the_one_before() -> None:
    text = "🎉\n\nThe first part ends here.\n\n* * *\n\nThe second part begins.\n\n😄"

    first, second = segments(text)

    assert text[second.start :] == "The second part begins.\n\n😄"
    assert first.text.endswith("* * *")
    assert first.boundary is Boundary.PARAGRAPH


def test_the_text_of_a_segment_is_its_slice_cleaned() -> None:
    (only,) = segments("\u202eCafe\u0301\x00 ok\r\nthere\x00.")

    assert only.text == "Café ok\nthere."
    assert only.dropped == (
        Dropped("U+202E RIGHT-TO-LEFT OVERRIDE", 1),
        Dropped("U+0000 CONTROL CHARACTER", 2),
    )


def test_each_segment_reports_what_was_dropped_from_it() -> None:
    first, second = segments("The first para\x00graph is here.\n\nThe second one is clean.")

    assert first.dropped == (Dropped("U+0000 CONTROL CHARACTER", 1),)
    assert second.dropped == ()


def test_long_chinese_is_cut_at_sentences_and_long_words_inside() -> None:
    planned = segments(CHINESE * 10)
    assert [part.text for part in planned] == [CHINESE * 3, CHINESE * 3, CHINESE * 4]

    assert [(len(part.text), part.cut_inside_word) for part in segments("a" * 600)] == [
        (300, True),
        (300, False),
    ]


def test_the_language_decides_about_abbreviations() -> None:
    text = "Am 3. Oktober war es so weit, und alle kamen, wie jedes Jahr, gern zu uns. Ende."
    assert segments(text, language="German", target_s=1.0)[0].text.startswith("Am 3. Oktober war")


def test_target_and_maximum_are_kept() -> None:
    text = "Five words are in here. " * 20
    assert len(segments(text)) == 3
    assert len(segments(text, target_s=4.0)) == 10
    assert max(part.expected_s for part in segments(text, target_s=99.0, max_s=5.0)) <= 5.0


@pytest.mark.parametrize("value", [1.9, -1.0, nan, inf])
def test_a_maximum_out_of_range_is_refused_by_name(value: float) -> None:
    with pytest.raises(InvalidValueError, match=f"max_s is {value}") as raised:
        segments("Hello.", max_s=value)

    assert raised.value.param == "max_s"


@pytest.mark.parametrize("value", [0.0, nan, inf])
def test_a_target_out_of_range_is_refused_by_name(value: float) -> None:
    with pytest.raises(InvalidValueError, match=f"target_s is {value}") as raised:
        segments("Hello.", target_s=value)

    assert raised.value.param == "target_s"


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("", "it is empty"),
        (" \n\t", "it holds only spaces"),
        ("?!", "it holds punctuation"),
        ("😄", "it holds emoji"),
        ("😄 ... \u0301", "it holds combining marks and emoji and punctuation"),
        ("\u200b", "it holds invisible characters"),
    ],
)
def test_the_error_says_what_the_text_holds(text: str, held: str) -> None:
    with pytest.raises(NothingToSpeakError, match=f"nothing to speak: {held}"):
        segments(text)


def test_without_splitting_the_text_is_handed_over_as_it_is() -> None:
    text = " Cafe\u0301\x00 \u202e " + "word " * 500
    assert segments(text, split=False) == [Segment(text, 0, len(text), 130.26, Boundary.END, 0.0)]


@pytest.mark.parametrize("text", ["", " \n\u3000", "\x00", "\u200b\ufeff"])
def test_without_splitting_a_blank_text_is_refused_too(text: str) -> None:
    with pytest.raises(NothingToSpeakError):
        segments(text, split=False)


def test_without_splitting_visible_punctuation_is_the_callers_own_choice() -> None:
    assert [part.text for part in segments("...", split=False)] == ["..."]
