from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from menura.engines.qwen3_tts.config_files import VARIANTS, read_config
from menura.engines.qwen3_tts.tiny import Tiny, write


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_checkpoint_depends_on_its_seed_alone(variant: str, tmp_path: Path) -> None:
    first, again, other = (
        _files(write(tmp_path / name, Tiny(variant, seed=seed)))
        for name, seed in (("first", 3), ("again", 3), ("other", 4))
    )
    assert first == again
    differing = {name for name in first if first[name] != other[name]}
    assert differing == {"model.safetensors", "speech_tokenizer/model.safetensors"}
    assert set(first) == {
        "config.json", "generation_config.json", "preprocessor_config.json", "vocab.json",
        "merges.txt", "tokenizer_config.json", "model.safetensors",
        "speech_tokenizer/config.json", "speech_tokenizer/configuration.json",
        "speech_tokenizer/preprocessor_config.json", "speech_tokenizer/model.safetensors",
    }  # fmt: skip


def test_it_is_small(tmp_path: Path) -> None:
    assert sum(map(len, _files(write(tmp_path)).values())) < 3_000_000


def test_an_endless_one_never_scores_the_end(tmp_path: Path) -> None:
    folder = write(tmp_path, Tiny(endless=True))
    head = load_file(folder / "model.safetensors")["talker.codec_head.weight"]
    assert not head[read_config(folder).talker.eos_id].any()
    assert head.dtype == torch.bfloat16
