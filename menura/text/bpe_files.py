"""The files of a byte-level BPE tokenizer: `vocab.json`, `merges.txt` and `tokenizer_config.json`.

They come from strangers, so every entry is checked: ids with gaps, a byte without an entry, or a
merge of unknown parts would give wrong ids without a word.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from menura.errors import ModelFilesError
from menura.text.byte_level_bpe import SpecialToken, Vocabulary

MAX_FILE_BYTES = 64_000_000
MAX_SPECIAL_TOKENS = 10_000


def read_vocabulary(folder: Path) -> Vocabulary:
    """The tables of the folder's tokenizer.

    Raises: ModelFilesError: a file is missing or damaged; the message names it and the entry.
    """
    entries = _entries(folder / "vocab.json")
    return Vocabulary(
        entries=entries,
        merges=_merges(folder / "merges.txt", entries),
        special_tokens=_special_tokens(folder / "tokenizer_config.json"),
    )


def byte_characters() -> tuple[str, ...]:
    """The character that stands for each of the 256 bytes: itself where it can be seen."""
    seen = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    unseen = [byte for byte in range(256) if byte not in seen]
    return tuple(
        chr(byte) if byte in seen else chr(256 + unseen.index(byte)) for byte in range(256)
    )


def _entries(path: Path) -> Mapping[str, int]:
    found = _json_object(path)
    for text in [text for text, found_id in found.items() if type(found_id) is not int]:
        raise ModelFilesError(f"{path}: the entry {text!r} has no whole number as its id.")
    ids = cast("dict[str, int]", found)
    if sorted(ids.values()) != list(range(len(ids))):
        raise ModelFilesError(f"{path}: the ids are not the numbers from 0 to {len(ids) - 1}.")
    for byte, character in enumerate(byte_characters()):
        if character not in ids:
            raise ModelFilesError(f"{path}: the byte {byte} has no entry ({character!r}).")
    return ids


def _merges(path: Path, entries: Mapping[str, int]) -> tuple[tuple[str, str], ...]:
    merges: list[tuple[str, str]] = []
    # Not splitlines: an entry may hold the other line separators of Unicode.
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if not line or (number == 1 and line.startswith("#version")):
            continue
        left, _, right = line.partition(" ")
        if left not in entries or right not in entries or left + right not in entries:
            raise ModelFilesError(f"{path}: line {number} merges parts that are not in vocab.json.")
        merges.append((left, right))
    return tuple(merges)


def _special_tokens(path: Path) -> tuple[SpecialToken, ...]:
    """The added tokens in the order of their ids."""
    added = _json_object(path).get("added_tokens_decoder")
    if not isinstance(added, dict) or len(added) > MAX_SPECIAL_TOKENS:
        raise ModelFilesError(f"{path}: 'added_tokens_decoder' is not an object of tokens.")
    tokens = [_special_token(path, key, found) for key, found in added.items()]
    if len({token.text for token in tokens}) != len(tokens):
        raise ModelFilesError(f"{path}: two added tokens have the same text.")
    return tuple(sorted(tokens, key=lambda token: token.id))


def _special_token(path: Path, key: str, found: object) -> SpecialToken:
    text = found.get("content") if isinstance(found, dict) else None
    is_id = key.isascii() and key.isdecimal() and len(key) < 10
    if not isinstance(found, dict) or not isinstance(text, str) or not text or not is_id:
        raise ModelFilesError(f"{path}: the added token {key!r} has no id or no content.")
    return SpecialToken(
        text,
        int(key),
        strips_left=found.get("lstrip") is True,
        strips_right=found.get("rstrip") is True,
        single_word=found.get("single_word") is True,
        normalized=found.get("normalized") is True,
    )


def _json_object(path: Path) -> dict[str, object]:
    try:
        found = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise ModelFilesError(f"{path} is not valid JSON ({type(error).__name__}).") from error
    if not isinstance(found, dict):
        raise ModelFilesError(f"{path} holds no JSON object.")
    return found


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise ModelFilesError(f"{path} is larger than {MAX_FILE_BYTES:,} bytes.")
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise ModelFilesError(f"{path} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise ModelFilesError(f"{path} is not UTF-8.") from error
