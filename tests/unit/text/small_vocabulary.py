"""A byte-level vocabulary of a few entries, made in memory."""

from menura.text.bpe_files import byte_characters
from menura.text.byte_level_bpe import SpecialToken, Vocabulary

SPECIAL_TEXTS = ("<|im_start|>", "<|im_end|>", "<think>")
_MERGES = (
    ("h", "e"), ("he", "l"), ("hel", "l"), ("hell", "o"), ("Ċ", "Ċ"), ("i", "P"), ("Ċ", "/"),
    ("1", "2"), ("Ġ", "Ġ"), ("ä", "½"), ("ä½", "ł"), ("'", "l"), ("'l", "l"), ("l", "a"),
)  # fmt: skip


def small_vocabulary() -> Vocabulary:
    """All bytes, fourteen merges and three special tokens."""
    texts = [*byte_characters(), *(left + right for left, right in _MERGES)]
    special = (SpecialToken(text, len(texts) + i) for i, text in enumerate(SPECIAL_TEXTS))
    return Vocabulary({text: i for i, text in enumerate(texts)}, _MERGES, tuple(special))
