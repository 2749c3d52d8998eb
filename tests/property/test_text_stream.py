import pytest
from hypothesis import given
from hypothesis import strategies as st

from menura.text.byte_level_bpe import CASE_SPLIT, SPLIT, ByteLevelBPE, TextStream
from tests.unit.text.small_vocabulary import small_vocabulary

TOKENIZERS = {split: ByteLevelBPE(small_vocabulary(), split) for split in (SPLIT, CASE_SPLIT)}
# Characters at which normal forms, splits and merges change their mind, beside any others.
TRICKY = (
    "ahelloPABZ'' \t\r\n/12½.,!<>=|_-—中ł½ä가ᄀ\u1161\u11a8éे\u0301\u0323\u0338\u093cक\u0958ǅʰ"
    "\u200d\u3000\u00a0\u2028\x00😀\U0001f44d\U0001f3fd\U00016d67\U00016d63\u037e\u212b"
)
CHARACTERS = st.one_of(
    st.sampled_from(TRICKY), st.characters(exclude_categories=["Cs"], max_codepoint=0x1FFFF)
)
PIECES = st.lists(st.text(CHARACTERS, max_size=6), max_size=12)


@pytest.mark.parametrize("split", [SPLIT, CASE_SPLIT])
@given(pieces=PIECES)
def test_pieces_give_the_ids_of_the_whole(split: str, pieces: list[str]) -> None:
    tokenizer = TOKENIZERS[split]
    stream = TextStream(tokenizer)
    ids = [i for piece in pieces for i in stream.add(piece)] + stream.close()
    assert ids == tokenizer.encode("".join(pieces))


@pytest.mark.parametrize("split", [SPLIT, CASE_SPLIT])
@given(start=st.text(CHARACTERS, max_size=20), ends=st.lists(st.text(CHARACTERS, max_size=4)))
def test_what_left_stays_right_whatever_follows(split: str, start: str, ends: list[str]) -> None:
    tokenizer = TOKENIZERS[split]
    certain = TextStream(tokenizer).add(start)
    for end in ends:
        assert tokenizer.encode(start + end)[: len(certain)] == certain


@given(words=st.lists(st.text(st.sampled_from("abcdefghijklmnop"), min_size=1), min_size=4))
def test_little_is_held_back(words: list[str]) -> None:
    tokenizer = TOKENIZERS[SPLIT]
    certain = TextStream(tokenizer).add(" ".join(words))
    assert certain == tokenizer.encode(" ".join(words[:-1]))


@pytest.mark.parametrize("split", [SPLIT, CASE_SPLIT])
@given(text=st.text(CHARACTERS, max_size=40))
def test_parsing_changes_nothing_where_no_special_token_stands(split: str, text: str) -> None:
    tokenizer = TOKENIZERS[split]
    if not any(special in text for special in tokenizer.special_ids):
        assert tokenizer.encode(text, parse_special_tokens=True) == tokenizer.encode(text)
