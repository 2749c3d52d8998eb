import json
import warnings
from pathlib import Path

import pytest

from menura.engines.qwen3_tts.tiny import write_tokenizer
from menura.errors import InvalidValueError, ModelFilesError
from menura.text.bpe_files import read_vocabulary
from menura.text.byte_level_bpe import (
    CASE_SPLIT,
    SPLIT,
    ByteLevelBPE,
    SpecialToken,
    TextStream,
    Vocabulary,
)
from tests.unit.text.small_vocabulary import SPECIAL_TEXTS, small_vocabulary

# Recorded from upstream's own processor (qwen-tts 0.1.1, transformers 4.57.3) on these folders.
GOLDEN = json.loads(Path(__file__).with_name("golden_ids.json").read_text("utf-8"))


@pytest.mark.parametrize(
    ("many_entries", "split", "key"), [(False, SPLIT, "split"), (True, CASE_SPLIT, "case_split")]
)
def test_the_ids_are_upstreams(many_entries: bool, split: str, key: str, tmp_path: Path) -> None:
    write_tokenizer(tmp_path, many_entries)
    tokenizer = ByteLevelBPE(read_vocabulary(tmp_path), split)
    got = [tokenizer.encode(text, parse_special_tokens=True) for text in GOLDEN["texts"]]
    assert got == GOLDEN[key]


def test_the_two_splits_give_other_ids() -> None:
    vocabulary = small_vocabulary()
    split, case_split = ByteLevelBPE(vocabulary, SPLIT), ByteLevelBPE(vocabulary, CASE_SPLIT)
    joined, cut = [vocabulary.entries["iP"]], [vocabulary.entries["i"], vocabulary.entries["P"]]
    assert (split.encode("iP"), case_split.encode("iP")) == (joined, cut)
    assert len(split.encode("/\n/")) == 3
    assert len(case_split.encode("/\n/")) == 2


@pytest.mark.parametrize("text", SPECIAL_TEXTS)
@pytest.mark.parametrize("frame", ["{}", "a {} b", "{}{}", "hello{}\n"])
def test_special_strings_in_a_text_are_plain_characters(text: str, frame: str) -> None:
    vocabulary = small_vocabulary()
    tokenizer = ByteLevelBPE(vocabulary, SPLIT)
    without_special_tokens = ByteLevelBPE(
        Vocabulary(vocabulary.entries, vocabulary.merges, ()), SPLIT
    )
    whole = frame.replace("{}", text)
    assert tokenizer.encode(whole) == without_special_tokens.encode(whole)
    assert not set(tokenizer.encode(whole)) & set(tokenizer.special_ids.values())
    assert tokenizer.special_ids[text] in tokenizer.encode(whole, parse_special_tokens=True)


def test_accents_are_composed_before_they_are_read() -> None:
    tokenizer = ByteLevelBPE(small_vocabulary(), SPLIT)
    assert tokenizer.encode("e\u0301") == tokenizer.encode("\u00e9")
    assert tokenizer.normal_form("e\u0301 \u212b") == "\u00e9 \u00c5"


def test_making_a_tokenizer_warns_of_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ByteLevelBPE(small_vocabulary(), CASE_SPLIT).encode("hello")
    assert caught == []
    assert capfd.readouterr() == ("", "")


def test_a_special_token_with_a_strange_id_is_refused() -> None:
    vocabulary = small_vocabulary()
    strange = Vocabulary(vocabulary.entries, vocabulary.merges, (SpecialToken("<x>", 9999),))
    with pytest.raises(ModelFilesError, match=r"'<x>' has the id 9999"):
        ByteLevelBPE(strange, SPLIT)


def test_half_of_a_surrogate_pair_is_refused() -> None:
    tokenizer = ByteLevelBPE(small_vocabulary(), SPLIT)
    for read in (tokenizer.encode, TextStream(tokenizer).add):
        with pytest.raises(InvalidValueError, match=r"'\\ud800', half of a surrogate pair"):
            read("a\ud800 b c d")


def _stream_steps(text: str, split: str = SPLIT) -> list[int]:
    """How many ids leave after each character of a text."""
    stream = TextStream(ByteLevelBPE(small_vocabulary(), split))
    return [len(stream.add(character)) for character in text]


def test_a_word_leaves_as_soon_as_what_follows_it_is_certain() -> None:
    # "hello" is certain at the character after the space: until then an accent could come.
    assert _stream_steps("hello you") == [0, 0, 0, 0, 0, 0, 1, 0, 0]


def test_a_last_word_waits_for_the_end() -> None:
    stream = TextStream(ByteLevelBPE(small_vocabulary(), SPLIT))
    assert stream.add("hello") == []
    assert stream.close() == [small_vocabulary().entries["hello"]]
    assert stream.close() == []


def test_an_accent_can_still_change_what_came_before_it() -> None:
    tokenizer = ByteLevelBPE(small_vocabulary(), SPLIT)
    stream = TextStream(tokenizer)
    ids = [*stream.add("hello e"), *stream.add("\u0301"), *stream.add("\u0323 x"), *stream.close()]
    assert ids == tokenizer.encode("hello e\u0301\u0323 x")


def test_a_capital_can_still_change_a_word_before_the_last_one() -> None:
    tokenizer = ByteLevelBPE(small_vocabulary(), CASE_SPLIT)
    stream = TextStream(tokenizer)
    ids = [*stream.add("AB\u4e2dC"), *stream.add("d "), *stream.close()]
    assert ids == tokenizer.encode("AB\u4e2dCd ")


def test_parsed_special_tokens_wait_for_the_end() -> None:
    tokenizer = ByteLevelBPE(small_vocabulary(), SPLIT)
    stream = TextStream(tokenizer, parse_special_tokens=True)
    assert [stream.add(piece) for piece in ("hello <|im_", "end|> you ")] == [[], []]
    assert stream.close() == tokenizer.encode("hello <|im_end|> you ", parse_special_tokens=True)
