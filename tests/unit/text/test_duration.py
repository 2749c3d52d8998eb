import pytest

from menura.text.duration import clock, expected_seconds


def test_the_clock_has_the_beginning_of_each_character_and_the_end() -> None:
    assert clock("ab 1%") == [0, 65, 130, 130, 480, 880]
    assert clock("") == [0]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("The quick brown fox jumps over the lazy dog.", 2.275),
        ("今天天气", 0.8),
        ("かなー", 0.39),
        ("한국", 0.32),
        ("\u1112\u1161\u11ab", 0.2),
        ("Мир", 0.21),
        ("سلام", 0.34),
        ("ที่นี่", 0.16),
        ("नमस्ते", 0.4),
        ("1984", 1.4),
        ("½", 0.35),
        ("5 %", 0.75),
        ("€", 0.4),
    ],
)
def test_the_pace_depends_on_the_script(text: str, seconds: float) -> None:
    assert expected_seconds(text) == seconds


@pytest.mark.parametrize("silent", ["", " \n\t", "...!?", "😄", "\u0301", "=====", "\ud83d"])
def test_what_is_not_spoken_takes_no_time(silent: str) -> None:
    assert expected_seconds(silent) == 0.0
    assert expected_seconds(f"a{silent}b") == 0.13


def test_marks_and_composed_letters_take_the_same_time() -> None:
    assert expected_seconds("e\u0301") == expected_seconds("é")


@pytest.mark.parametrize(
    ("text", "pauses"),
    [
        ("a, a", 1),
        ('"A!" a', 1),
        ("a... a?", 1),
        ("a.\na", 1),
        ("a.\r\na", 1),
        ("a\u0301. a", 1),
        ("天。天，天", 2),
        ("天。」天", 1),
        ("है। है", 1),
        ("1,984 a.b 12:30 a", 0),
        ("a.", 0),
        ("a.\n\na", 0),
        ("a . . a", 0),
        ("... a", 0),
    ],
)
def test_a_mark_in_running_text_costs_a_pause(text: str, pauses: int) -> None:
    bare = "".join(character for character in text if character.isalnum())
    assert expected_seconds(text) == pytest.approx(expected_seconds(bare) + 0.5 * pauses)


def test_the_pause_belongs_to_the_letter_before_the_mark() -> None:
    assert clock("a), a") == [0, 565, 565, 565, 565, 630]


def test_an_ordinary_english_minute_is_about_a_minute() -> None:
    # 160 words of 4.7 letters, a mark after every eighth: the usual pace of an audiobook
    sentence = "One of the few other readers spoke quietly. "
    assert 50 <= expected_seconds(sentence * 20) <= 70
