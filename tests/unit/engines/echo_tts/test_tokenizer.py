import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from menura.engines.echo_tts.tokenizer import (
    LONGEST_BYTES,
    MOST_ADDED_BYTES,
    EchoTokenizer,
    normalized,
)
from menura.errors import InvalidValueError

RECORDED = json.loads((Path(__file__).parent / "recorded_texts.json").read_text("utf-8"))


@dataclass(frozen=True)
class Text:
    """One recorded text: what upstream made of it; ids as hexadecimal digits."""

    text: str
    normalized: str
    ids: str
    plain_ids: str


@dataclass(frozen=True)
class Cut:
    """One recorded text of a batch, with the most ids asked for."""

    text: str
    max_bytes: int | None
    normalize: bool
    ids: str


TEXTS = [Text(**entry) for entry in RECORDED["texts"]]
CUTS = [Cut(**entry) for entry in RECORDED["cut"]]


@pytest.mark.parametrize("case", TEXTS, ids=lambda case: ascii(case.text[:20]))
def test_normalisation_and_ids_are_upstreams(case: Text) -> None:
    tokenizer = EchoTokenizer()

    assert tokenizer.normalized(case.text) == case.normalized
    assert tokenizer.encode(case.text) == list(bytes.fromhex(case.ids))
    assert tokenizer.encode(case.text, normalize=False) == list(bytes.fromhex(case.plain_ids))


@pytest.mark.parametrize("case", CUTS, ids=lambda case: f"{case.text[:8]!a}-{case.max_bytes}")
def test_a_text_is_cut_at_a_byte_even_inside_a_character(case: Cut) -> None:
    ids = EchoTokenizer().encode(case.text, case.normalize, max_bytes=case.max_bytes)

    assert ids == list(bytes.fromhex(case.ids))


def test_all_recorded_texts_are_here() -> None:
    assert len(TEXTS) == 51
    assert len(CUTS) == 8


def test_normalisation_adds_no_more_bytes_than_it_says() -> None:
    for character in map(chr, [*range(0xD800), *range(0xE000, 0x20000)]):
        added = len(normalized(character).encode()) - len(character.encode())
        assert added <= MOST_ADDED_BYTES - 1, ascii(character)
    text = "a" * (LONGEST_BYTES - MOST_ADDED_BYTES)
    assert len(EchoTokenizer().encode(text)) == LONGEST_BYTES


def test_half_a_surrogate_pair_is_refused_by_its_name() -> None:
    with pytest.raises(InvalidValueError, match=r"'\\ud83d'") as caught:
        EchoTokenizer().encode("a \ud83d b")
    assert caught.value.param == "text"
