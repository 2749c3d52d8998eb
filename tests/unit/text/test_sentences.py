from itertools import pairwise

import pytest
import sentencex

from menura.text.sentences import code_for, sentence_ends


def split(text: str, code: str = "en") -> list[str]:
    ends = [0, *sentence_ends(text, code)]
    return [text[start:end] for start, end in pairwise(ends)]


@pytest.mark.parametrize(
    ("language", "text", "code"),
    [
        ("English", "", "en"),
        ("chinese", "Hello", "zh"),
        ("zh-CN", "Hello", "zh"),
        ("pt_BR", "", "pt"),
        ("EN", "", "en"),
        (None, "Hello there", "en"),
        ("auto", "Привет a", "ru"),
        ("Klingon", "你好", "zh"),
        (None, "東京東京で", "ja"),
        (None, "नम", "hi"),
        (None, "123 !", "en"),
        (None, "Ꭰ", "en"),
    ],
)
def test_the_code_comes_from_the_name_the_tag_or_the_script(
    language: str | None, text: str, code: str
) -> None:
    assert code_for(language, text) == code


def test_abbreviations_numbers_and_addresses_do_not_end_a_sentence() -> None:
    text = "Mr. Smith paid 3.14, e.g. at 1.2.3.4. See www.example.com. Really? Yes."
    assert split(text) == [
        "Mr. Smith paid 3.14, e.g. at 1.2.3.4. ",
        "See www.example.com. ",
        "Really? ",
        "Yes.",
    ]


def test_wide_marks_and_dandas_end_a_sentence_without_a_space() -> None:
    assert split("你好。是吗？对", "zh") == [
        "你好。",
        "是吗？",
        "对",
    ]
    assert split("नम। नम", "hi") == ["नम। ", "नम"]


def test_offsets_are_code_points_after_emoji() -> None:
    assert split("Hi 😄 there. Bye 𝒳 now. Ok.") == [
        "Hi 😄 there. ",
        "Bye 𝒳 now. ",
        "Ok.",
    ]


@pytest.mark.parametrize(
    "space", ["\n", "\r\n", "\u2028", "\u2029", "\u3000", "\u00a0", "\x85", "\ud800", "\x00"]
)
def test_odd_spaces_neither_lose_text_nor_panic(space: str) -> None:
    assert split(f"Hello world.{space}I said J.{space}K. Yes")[0] == f"Hello world.{space}"
    assert "".join(split(f"A.{space}J. B{space}.{space}C.")) == f"A.{space}J. B{space}.{space}C."


def test_a_long_text_is_read_in_windows_with_the_same_result() -> None:
    sentence = "The rain had begun, and Mr. Smith went home. "
    assert split(sentence * 500) == [sentence] * 500


def test_a_sentence_longer_than_the_window_stays_whole() -> None:
    long = "word " * 3000 + "end. "
    assert split("Short. " + long + "Next.") == ["Short. ", long, "Next."]


def test_an_empty_text_has_no_sentence() -> None:
    assert sentence_ends("", "en") == []


class PanicException(BaseException):
    """Named as the class of a Rust panic, which cannot be imported."""


def test_after_a_panic_the_plain_rule_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(code: str, text: str) -> list[str]:
        raise PanicException

    monkeypatch.setattr(sentencex, "segment", panic)

    assert split("One. Two!  Three… 你。好") == [
        "One. ",
        "Two!  ",
        "Three… ",
        "你。",
        "好",
    ]


def test_an_answer_that_loses_text_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sentencex, "segment", lambda code, text: [text[:3], text[4:]])

    assert split("One. Two.") == ["One. ", "Two."]


def test_other_exits_are_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(code: str, text: str) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(sentencex, "segment", interrupt)

    with pytest.raises(KeyboardInterrupt):
        sentence_ends("One. Two.", "en")
