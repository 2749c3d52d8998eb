import sys
import unicodedata

import pytest

from menura.errors import InvalidValueError
from menura.text.byte_limit import byte_clock, n_bytes
from menura.text.pieces import Boundary, Piece
from menura.text.plan import segments

THAI = "ภาษาไทยเขียนติดกันไม่มีเว้นวรรคระหว่างคำ"  # 40 letters of 3 bytes each


def test_a_piece_has_the_bytes_of_its_cleaned_text() -> None:
    text = "  cafe\u0301\u202e, 今\n"
    assert n_bytes(text, Piece(0, len(text), Boundary.END)) == len("café, 今".encode())


def test_no_text_gets_longer_by_composing_it() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        parts = unicodedata.decomposition(character).split()
        if parts and not parts[0].startswith("<"):
            n_parts = sum(len(chr(int(part, 16)).encode()) for part in parts)
            composed = unicodedata.normalize("NFC", character)
            assert composed != character or len(character.encode()) <= n_parts


def test_the_clock_counts_what_is_kept() -> None:
    assert byte_clock("aé今") == [0, 1, 4, 7]
    assert byte_clock("a\u202eb") == [0, 1, 1, 2]
    assert byte_clock("a" + "." * 20 + "b")[-1] == 14


def test_sentences_stay_whole_where_a_segment_is_too_long_in_bytes() -> None:
    sentence = f"{THAI} {THAI}. "
    planned = segments(sentence * 4, target_s=25, max_bytes=600)
    assert [len(part.text.encode()) for part in planned] == [485, 485]
    assert [part.boundary for part in planned] == [Boundary.SENTENCE, Boundary.END]
    assert [part.text for part in segments(sentence * 4, target_s=25)] == [(sentence * 4).strip()]


def test_one_word_that_is_too_long_is_cut_and_said_so() -> None:
    text = "Look: " + "https://example.org/" + "a" * 800
    planned = segments(text, max_s=90, target_s=90, max_bytes=762)
    assert "".join(text[part.start : part.end] for part in planned) == text
    assert all(len(part.text) <= 762 for part in planned)
    assert [part.cut_inside_word for part in planned] == [False, True, False]
    assert planned[0].text == "Look:"


def test_what_fits_keeps_its_plan_beside_what_does_not() -> None:
    short = "A paragraph that fits. It has two sentences of some length.\n\n"
    long = f"{THAI} " * 8
    planned = segments(short + long + "\n\n" + short, target_s=30, max_s=60, max_bytes=762)
    assert planned[0].text == planned[-1].text == short.strip()
    assert planned[0].boundary is Boundary.PARAGRAPH
    assert len(planned) > 3


def test_the_plan_of_a_text_within_the_limit_is_the_same() -> None:
    text = "A sentence of some length is here. " * 30
    assert segments(text, max_bytes=762) == segments(text)


@pytest.mark.parametrize("max_bytes", [0, 359])
def test_a_limit_that_a_grapheme_may_pass_is_refused(max_bytes: int) -> None:
    with pytest.raises(InvalidValueError, match="360 or more") as caught:
        segments("Hello.", max_bytes=max_bytes)
    assert caught.value.param == "max_bytes"


def test_without_splitting_there_is_no_limit() -> None:
    assert len(segments("a" * 1000, max_bytes=762, split=False)) == 1
