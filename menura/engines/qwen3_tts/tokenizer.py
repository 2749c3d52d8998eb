"""The text tokenizer of a checkpoint: its files, and which of two splits into words it uses."""

from pathlib import Path

from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.errors import ModelFilesError
from menura.text.bpe_files import read_vocabulary
from menura.text.byte_level_bpe import CASE_SPLIT, SPLIT, ByteLevelBPE

# parity: a base vocabulary of more than 100,000 entries is split by the newer rule
_MANY_ENTRIES = 100_000


def read_tokenizer(folder: Path, config: Qwen3TTSConfig) -> ByteLevelBPE:
    """The folder's tokenizer.

    Upstream loads its tokenizer with a correction that was made for other models; the library
    applies it to a local folder when the vocabulary is large and `config.json` is recent. The
    published folders fulfil both.

    Raises: ModelFilesError: a file is damaged, or its ids are not those of `config.json`.
    """
    vocabulary = read_vocabulary(folder)
    splits_case = config.claims_case_split and len(vocabulary.entries) > _MANY_ENTRIES
    tokenizer = ByteLevelBPE(vocabulary, CASE_SPLIT if splits_case else SPLIT)
    n_ids = len(vocabulary.entries) + len(vocabulary.special_tokens)
    if n_ids > config.talker.text_vocab_size:
        raise ModelFilesError(
            f"{folder}: the tokenizer has {n_ids} ids, more than the talker's text_vocab_size, "
            f"{config.talker.text_vocab_size}."
        )
    for text, wanted in (("<|im_start|>", config.im_start_id), ("<|im_end|>", config.im_end_id)):
        if tokenizer.special_ids.get(text) != wanted:
            raise ModelFilesError(
                f"{folder}: {text} has the id {tokenizer.special_ids.get(text)} in the tokenizer's "
                f"files and {wanted} in config.json."
            )
    return tokenizer
