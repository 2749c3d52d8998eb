import json
from collections.abc import Callable
from pathlib import Path

import pytest

from menura.engines.qwen3_tts.tiny import write_tokenizer
from menura.errors import ModelFilesError
from menura.text.bpe_files import byte_characters, read_vocabulary
from menura.text.byte_level_bpe import SPLIT, ByteLevelBPE


def test_every_byte_has_a_visible_character_of_its_own() -> None:
    characters = byte_characters()
    assert len(set(characters)) == 256
    assert characters[ord("A")] == "A"
    assert characters[ord(" ")] == "Ġ"
    assert characters[ord("\n")] == "Ċ"
    assert not any(character.isspace() for character in characters)


def test_a_version_line_above_the_merges_is_left_out(tmp_path: Path) -> None:
    write_tokenizer(tmp_path, many_entries=False)
    without = read_vocabulary(tmp_path)
    merges = tmp_path / "merges.txt"
    merges.write_text("#version: 0.2\n" + merges.read_text("utf-8"), "utf-8")
    assert read_vocabulary(tmp_path) == without


def test_special_tokens_keep_their_ids_and_flags(tmp_path: Path) -> None:
    special_ids = write_tokenizer(tmp_path, many_entries=False)
    vocabulary = read_vocabulary(tmp_path)
    assert ByteLevelBPE(vocabulary, SPLIT).special_ids == special_ids
    assert not any(token.normalized or token.strips_left for token in vocabulary.special_tokens)


def _change_json(
    name: str, change: Callable[[dict[str, object]], object]
) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        values = json.loads((folder / name).read_text("utf-8"))
        change(values)
        (folder / name).write_text(json.dumps(values), "utf-8")

    return damage


def _write(name: str, text: bytes) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(text)

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_write("vocab.json", b"{"), "vocab.json is not valid JSON"),
        (_write("vocab.json", b"[]"), "vocab.json holds no JSON object"),
        (_write("vocab.json", b"[" * 100_000), "vocab.json is not valid JSON"),
        (_write("vocab.json", b"\xff"), "vocab.json is not UTF-8"),
        (_change_json("vocab.json", lambda v: v.update({"x y": 0})), "not the numbers from 0"),
        (_change_json("vocab.json", lambda v: v.update({"x y": True})), "no whole number"),
        (
            _change_json("vocab.json", lambda v: v.update({"new": v.pop("Ċ")})),
            "the byte 10 has no entry",
        ),
        (_write("merges.txt", b"h e\nq zz\n"), "line 1 merges parts that are not in vocab.json"),
        (_write("merges.txt", b"nospace\n"), "line 1 merges parts"),
        (_write("tokenizer_config.json", b"{}"), "'added_tokens_decoder' is not an object"),
        (
            _change_json(
                "tokenizer_config.json", lambda v: v.update(added_tokens_decoder={"x": {}})
            ),
            "the added token 'x' has no id or no content",
        ),
        (
            _change_json(
                "tokenizer_config.json",
                lambda v: v.update(
                    added_tokens_decoder={"1": {"content": "a"}, "2": {"content": "a"}}
                ),
            ),
            "two added tokens have the same text",
        ),
        (lambda folder: (folder / "merges.txt").unlink(), "merges.txt cannot be read"),
    ],
)
def test_a_damaged_file_is_named(
    damage: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    write_tokenizer(tmp_path, many_entries=False)
    damage(tmp_path)
    with pytest.raises(ModelFilesError, match=message):
        read_vocabulary(tmp_path)
