import string

import pytest

from menura.text.scripts import script_of, speakable, unreadable

ENGLISH = frozenset(string.ascii_lowercase)


@pytest.mark.parametrize(
    ("character", "script"),
    [
        ("a", "latin"),
        ("É", "latin"),
        ("ﬁ", "latin"),
        ("Ａ", "latin"),
        ("𝒳", "latin"),
        ("你", "han"),
        ("々", "han"),
        ("𠀀", "han"),
        ("あ", "kana"),
        ("ー", "kana"),
        ("\uff76", "kana"),
        ("\uff9e", "kana"),
        ("한", "hangul"),
        ("\u1100", "hangul"),
        ("Ж", "cyrillic"),
        ("ع", "arabic"),
        ("א", "hebrew"),
        ("ก", "thai"),
        ("ำ", "thai"),
        ("अ", "devanagari"),
        ("ក", "khmer"),
        ("က", "myanmar"),
        ("α", "greek"),
        ("µ", "greek"),
        ("ሀ", "ethiopic"),
    ],
)
def test_a_letter_has_a_script(character: str, script: str) -> None:
    assert script_of(character) == script


@pytest.mark.parametrize("character", [*"1 .%\n", "\u0301", "ि", "😄", "\ud800", "\u02bc"])
def test_what_is_no_letter_of_one_script_has_none(character: str) -> None:
    assert script_of(character) is None


@pytest.mark.parametrize(
    "text", ["a", "7", "%", "$", "€", "& ", "+", "=", "@", "°", "!a!", "²", "=="]
)
def test_letters_numbers_and_symbols_read_as_words_are_speakable(text: str) -> None:
    assert speakable(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "...",
        "#*_~^|<>",
        "😄",
        "ℹ\ufe0f",
        "↔\ufe0f",
        "\u0301",
        "\u200b",
        "\ud83d",
    ],
)
def test_punctuation_marks_and_emoji_are_not_speakable(text: str) -> None:
    assert not speakable(text)


@pytest.mark.parametrize("ruler", ["===", "+++++", "=\x00==", "≠≠≠", "=\u0338=\u0338=\u0338"])
def test_a_ruler_is_not_speakable(ruler: str) -> None:
    assert not speakable(ruler)
    assert not speakable(f"{ruler}\n{ruler}")
    assert speakable(f"{ruler} a")


def test_letters_outside_the_alphabet_are_listed_by_script_once_in_order() -> None:
    found = unreadable(
        "Hi Привет, 你好! при 你 5%",
        ENGLISH,
    )

    assert found == {
        "cyrillic": ["П", "р", "и", "в", "е", "т"],
        "han": ["你", "好"],
    }


@pytest.mark.parametrize(
    "text",
    [
        "",
        "café",
        "cafe\u0301",
        "NAÏVE",
        "ﬁne",
        "ａ",
        "straße",
        "\u02bcokina",
        "1 + 1 😄",
    ],
)
def test_marks_case_and_ligatures_do_not_make_a_letter_unreadable(text: str) -> None:
    assert unreadable(text, ENGLISH) == {}


def test_an_alphabet_of_capitals_reads_capitals_only() -> None:
    assert unreadable("Éé", frozenset("E")) == {"latin": ["é"]}


def test_a_letter_without_a_decomposition_is_unreadable() -> None:
    assert unreadable("Smørrebrød Øl", ENGLISH) == {"latin": ["ø"]}
