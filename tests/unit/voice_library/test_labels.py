"""Labels are for people: any text that can be seen, found however it is written."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from menura.errors import InvalidValueError
from menura.voice_library.labels import LONGEST_LABEL, checked_label, folded, is_id, new_id


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("Anna", "Anna"),
        ("  Anna \n Lena ", "Anna Lena"),
        ("Zoe\u0308", "Zoë"),
        ("\x1b[2JAnna\x07", "Anna"),
        ("An\u202ena", "Anna"),
        ("../../etc/passwd", "../../etc/passwd"),  # a text like others: it is no path here
        ("C:\\x", "C:\\x"),
        ("CON", "CON"),
        ("安娜 👩‍🦰", "安娜 👩‍🦰"),
        ("x" * LONGEST_LABEL, "x" * LONGEST_LABEL),
    ],
)
def test_what_can_be_seen_is_a_label(given: str, kept: str) -> None:
    assert checked_label(given) == kept


@pytest.mark.parametrize(
    "given",
    [None, 3, "", " ", "\u200d", "\u3164", "\x1b[2J", "\u202e", "\u0301", "x" * 81, "x" * 10_000,
     "voice_" + "0" * 32, "VOICE_" + "F" * 32, "lib:Anna", "LIB:Anna", "ｌｉｂ:Anna"],
)  # fmt: skip
def test_what_could_not_be_seen_or_found_is_refused(given: object) -> None:
    with pytest.raises(InvalidValueError) as no:
        checked_label(given)
    assert no.value.param == "label"
    assert len(no.value.message) < 300


@pytest.mark.parametrize(
    ("label", "other"),
    [("Anna", "ANNA"), ("Zoë", "Zoe\u0308"), ("ＡＮＮＡ", "anna"), ("Straße", "STRASSE")],
)
def test_labels_are_compared_however_they_are_written(label: str, other: str) -> None:
    assert folded(label) == folded(other)


@given(st.text(max_size=100))
def test_a_label_that_is_kept_is_kept_as_it_is(text: str) -> None:
    try:
        label = checked_label(text)
    except InvalidValueError:
        return
    assert checked_label(label) == label == unicodedata.normalize("NFC", label)
    label.encode()


def test_an_id_is_new_each_time() -> None:
    first, second = new_id(), new_id()
    assert is_id(first)
    assert is_id(second)
    assert first != second
    assert not is_id(first + "\n")
    assert not is_id(first.upper())
