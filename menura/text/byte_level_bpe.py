"""Byte-level BPE: a text becomes ids, whole or as it arrives, and control tokens stay out of it.

A text is normalised (NFC), split into words by a regular expression, and each word's UTF-8 bytes
are merged by rank. Special tokens are strings such as `<|im_end|>` with ids of their own. They are
recognised in a user's text only where the caller asks for it: otherwise somebody could end or steer
a prompt from inside the text that is to be read aloud.

The merging is done by the library `tokenizers`; `bpe_files.py` reads and checks the files.
"""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from menura.errors import InvalidValueError, ModelFilesError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# The two splits in use. They differ in what a word of letters is: the second ends one where a
# lower-case letter is followed by a capital, keeps combining marks in it, and knows no `'ll`.
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CASE_SPLIT = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# What ends a word of letters for certain: punctuation, symbols, separators, controls, formats.
_NO_WORD = ("P", "S", "Z", "Cc", "Cf")
_PLAIN_SPACES = " \t\u3000"


@dataclass(frozen=True)
class SpecialToken:
    """A special token: its string and id, and how it is found in a text where it is parsed."""

    text: str
    id: int
    strips_left: bool = False
    strips_right: bool = False
    single_word: bool = False
    normalized: bool = False


@dataclass(frozen=True)
class Vocabulary:
    """The tables of a tokenizer: base entries with ids, merges in rank order, special tokens."""

    entries: Mapping[str, int]
    merges: tuple[tuple[str, str], ...]
    special_tokens: tuple[SpecialToken, ...]


class ByteLevelBPE:
    """Text to ids. `special_ids` are the ids of the special tokens by their strings."""

    def __init__(self, vocabulary: Vocabulary, split: str) -> None:
        self.special_ids = {token.text: token.id for token in vocabulary.special_tokens}
        self._vocabulary = vocabulary
        self._split = split
        self._plain = _tokenizer(vocabulary, split)
        _check_special_ids(vocabulary)

    def encode(self, text: str, *, parse_special_tokens: bool = False) -> list[int]:
        """The text's ids.

        A special token's string inside the text is spelled out like any other characters; with
        `parse_special_tokens` it becomes the special token.

        Raises: InvalidValueError: the text holds half of a surrogate pair, which is no character.
        """
        _check_characters(text)
        tokenizer = self._parsing if parse_special_tokens else self._plain
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    @cached_property
    def _parsing(self) -> "Tokenizer":
        """The tokenizer that knows the special tokens: few texts need it, and it is large."""
        tokenizer = _tokenizer(self._vocabulary, self._split)
        _add_special_tokens(tokenizer, self._vocabulary.special_tokens)
        return tokenizer

    def normal_form(self, text: str) -> str:
        """The text as it is split: composed as far as Unicode composes it (NFC).

        Raises: InvalidValueError: as `encode`.
        """
        _check_characters(text)
        assert self._plain.normalizer is not None
        return str(self._plain.normalizer.normalize_str(text))


class TextStream:
    """Ids of a text that arrives in pieces, given out once no later character can change them.

    The ids of all pieces together are exactly those of the whole text. What must wait: characters
    that a following accent would compose with, and the last word, whose split and merges depend on
    what follows. Where special tokens are parsed, everything waits for the end.
    """

    def __init__(self, tokenizer: ByteLevelBPE, *, parse_special_tokens: bool = False) -> None:
        self._tokenizer = tokenizer
        self._parses = parse_special_tokens
        self._composed = ""  # in its final form, but its last word may go on
        self._raw = ""  # may still be composed with what follows

    def add(self, piece: str) -> list[int]:
        """The ids that are certain now and were not before."""
        self._raw += piece
        if self._parses:
            return []
        n_final = _last_start(self._raw)
        n_searched = len(self._composed)
        self._composed += self._tokenizer.normal_form(self._raw[:n_final])
        self._raw = self._raw[n_final:]
        cut = _last_certain_cut(self._composed, n_searched)
        ids = self._tokenizer.encode(self._composed[:cut])
        self._composed = self._composed[cut:]
        return ids

    def close(self) -> list[int]:
        """The ids that were still held back; the text has ended."""
        rest = self._composed + self._raw
        self._composed = self._raw = ""
        return self._tokenizer.encode(rest, parse_special_tokens=self._parses)


def _check_characters(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidValueError(
            f"the text holds {text[error.start]!a}, half of a surrogate pair and no character; "
            "decode the text correctly, or leave it out.",
            param="text",
        ) from error


def _last_start(text: str) -> int:
    """The last position whose character can compose with nothing before it; 0 if there is none."""
    for position in range(len(text) - 1, 0, -1):
        if not _may_join_the_one_before(text[position]):
            return position
    return 0


def _may_join_the_one_before(character: str) -> bool:
    """Whether NFC could compose the character with an earlier one, or move it before one."""
    if unicodedata.category(character) in ("Mn", "Mc", "Me", "Cn"):  # Cn: newer than this table
        return True
    return (
        "\u1160" <= character <= "\u11ff"  # Hangul vowels and final consonants
        or "\U00016d63" <= character <= "\U00016d6a"  # Kirat Rai vowel signs, which are letters
    )


def _last_certain_cut(text: str, n_searched: int) -> int:
    """The last position that both splits cut at whatever follows the text; 0 if there is none.

    A match of either split that begins before such a position ends there, and looks at no
    character beyond `text[position]`; and a match that begins there does not look back.
    """
    for position in range(len(text) - 1, max(n_searched, 1) - 1, -1):
        if _cuts(unicodedata.category(text[position - 1]), text[position]):
            return position
    return 0


def _cuts(before: str, character: str) -> bool:
    """Whether a cut is certain between a character of category `before` and this one."""
    category = unicodedata.category(character)
    if before[0] == "N" or category[0] == "N":
        return True  # every digit is a word by itself
    if before[0] == "L" and category.startswith(_NO_WORD):
        return True
    return character in _PLAIN_SPACES and before[0] in "LMPS"


def _tokenizer(vocabulary: Vocabulary, split: str) -> "Tokenizer":
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers  # noqa: PLC0415

    merges = list(vocabulary.merges)
    tokenizer = Tokenizer(models.BPE(vocab=dict(vocabulary.entries), merges=merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(split), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    return tokenizer


def _add_special_tokens(tokenizer: "Tokenizer", special_tokens: tuple[SpecialToken, ...]) -> None:
    from tokenizers import AddedToken  # noqa: PLC0415

    for token in special_tokens:
        added = AddedToken(
            token.text,
            lstrip=token.strips_left,
            rstrip=token.strips_right,
            single_word=token.single_word,
            normalized=token.normalized,
        )
        tokenizer.add_tokens([added])


def _check_special_ids(vocabulary: Vocabulary) -> None:
    """Nothing, where the library will give each special token the id that the files state.

    Raises: ModelFilesError: it will not.
    """
    place = len(vocabulary.entries)
    for token in vocabulary.special_tokens:
        got = vocabulary.entries.get(token.text, place)
        place += token.text not in vocabulary.entries
        if got != token.id:
            raise ModelFilesError(
                f"the special token {token.text!r} has the id {token.id} in the tokenizer's files, "
                f"but {got} is its place after the vocabulary: the files do not belong together."
            )
