import json
from pathlib import Path
from typing import Any

import pytest

from menura.engines.qwen3_tts.config_files import read_config
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.engines.qwen3_tts.tokenizer import read_tokenizer
from menura.errors import ModelFilesError


def _ids(folder: Path, text: str) -> list[int]:
    return read_tokenizer(folder, read_config(folder)).encode(text)


def _set(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values), "utf-8")


def test_only_a_large_vocabulary_of_a_recent_model_is_split_at_capitals(tmp_path: Path) -> None:
    small = write(tmp_path / "small", Tiny("custom_voice"))
    large = write(tmp_path / "large", Tiny("custom_voice", many_entries=True))
    assert len(_ids(small, "iP")) == 1
    assert len(_ids(large, "iP")) == 2
    _set(large / "config.json", transformers_version="4.57.1")
    assert len(_ids(large, "iP")) == 1


def test_ids_that_are_not_the_models_are_refused(tmp_path: Path) -> None:
    write(tmp_path, Tiny())
    _set(tmp_path / "config.json", im_end_token_id=5)
    with pytest.raises(ModelFilesError, match=r"<\|im_end\|> has the id \d+ .* and 5 in config"):
        _ids(tmp_path, "a")


def test_more_ids_than_embeddings_are_refused(tmp_path: Path) -> None:
    write(tmp_path, Tiny())
    path = tmp_path / "tokenizer_config.json"
    added = json.loads(path.read_text("utf-8"))["added_tokens_decoder"]
    first = max(map(int, added)) + 1
    more = {str(first + i): {"content": f"<extra {i}>"} for i in range(64)}
    _set(path, added_tokens_decoder=added | more)
    with pytest.raises(ModelFilesError, match="more than the talker's text_vocab_size"):
        _ids(tmp_path, "a")
