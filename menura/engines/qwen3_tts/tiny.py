"""Writes the smallest checkpoints that load: the published layout, few numbers, drawn from a seed.

They speak noise, but everything that can be wrong with ids, layouts, shapes and rates is as wrong
in them as in a real model. Upstream loads them too, which is what the parity tests need. Rows end
by themselves, most within 40 frames; those of an `endless` one never do.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from menura.engines.qwen3_tts import weights
from menura.engines.qwen3_tts.config_files import CODEC_FOLDER, read_config
from menura.engines.qwen3_tts.tiny_configs import (
    CODEC_FRAMEWORK,
    CODEC_PREPROCESSOR,
    GENERATION,
    PREPROCESSOR,
    codec_config,
    model_config,
)
from menura.runtime.tensor_names import tensor_names
from menura.text.bpe_files import byte_characters

# The last two are cut apart by one of the two splits, so that their ids tell which is used.
_WORDS = ("assistant", "user", "Ġthe", "ing", "Ġworld", "Hello", "ä½łå¥½", "ĊĊ", "iP", "Ċ/")
_SPECIAL_TOKENS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>",
    "<tts_pad>", "<tts_text_bos>", "<tts_text_eod>",
)  # fmt: skip
_MANY_ENTRIES = 100_100  # enough for the newer split of text into words
_END_GAIN = 2.5
_VECTORS = {"bias": 0.05, "alpha": 0.3, "beta": 0.3, "embedding_sum": 1.0}


@dataclass(frozen=True)
class Tiny:
    """Which tiny checkpoint: its variant and size as in `config.json`, and its seed."""

    variant: str = "base"
    size: str = "1b7"
    seed: int = 0
    endless: bool = False
    many_entries: bool = False


def write(folder: Path, tiny: Tiny = Tiny()) -> Path:
    """The folder, after the checkpoint's files were written into it."""
    codec_folder = folder / CODEC_FOLDER
    codec_folder.mkdir(parents=True, exist_ok=True)
    special_ids = write_tokenizer(folder, tiny.many_entries)
    _write_json(folder / "config.json", model_config(tiny.variant, tiny.size, special_ids))
    _write_json(folder / "generation_config.json", GENERATION)
    _write_json(folder / "preprocessor_config.json", PREPROCESSOR)
    _write_json(codec_folder / "config.json", codec_config())
    _write_json(codec_folder / "configuration.json", CODEC_FRAMEWORK)
    _write_json(codec_folder / "preprocessor_config.json", CODEC_PREPROCESSOR)
    write_weights(folder, tiny)
    return folder


def write_tokenizer(folder: Path, many_entries: bool) -> Mapping[str, int]:
    """The special tokens' ids, after the tokenizer's files were written."""
    merges = [pair for word in _WORDS for pair in _merges(word)]
    entries = [*byte_characters(), *dict.fromkeys(left + right for left, right in merges)]
    if many_entries:
        entries += [f"[{number}]" for number in range(_MANY_ENTRIES - len(entries))]
    special_ids = {text: len(entries) + i for i, text in enumerate(_SPECIAL_TOKENS)}
    _write_json(folder / "vocab.json", {entry: i for i, entry in enumerate(entries)})
    lines = "".join(f"{left} {right}\n" for left, right in dict.fromkeys(merges))
    (folder / "merges.txt").write_text(lines, "utf-8", newline="\n")
    flags = {"lstrip": False, "normalized": False, "rstrip": False, "single_word": False}
    added = {
        str(i): {"content": text, "special": "think" not in text, **flags}
        for text, i in special_ids.items()
    }
    tokenizer = {
        "added_tokens_decoder": added, "additional_special_tokens": list(_SPECIAL_TOKENS[1:3]),
        "add_prefix_space": False, "bos_token": None, "eos_token": "<|im_end|>",
        "pad_token": "<|endoftext|>", "unk_token": None, "errors": "replace",
        "split_special_tokens": False, "tokenizer_class": "Qwen2Tokenizer",
    }  # fmt: skip
    _write_json(folder / "tokenizer_config.json", tokenizer)
    return special_ids


def _merges(word: str) -> list[tuple[str, str]]:
    """The merges that build a word from the left, one character after another."""
    return [(start, whole[-1]) for start, whole in pairwise(accumulate(word))]


def write_weights(folder: Path, tiny: Tiny) -> None:
    """Write random weights of the shapes that the folder's configuration files state."""
    config = read_config(folder)
    model, codec = weights.modules(weights.build(config))
    drawn = _draw_all(model, weights.model_table(config), f"{tiny.seed}/{tiny.variant}/{tiny.size}")
    head = drawn["talker.codec_head.weight"]
    head[config.talker.eos_id] *= 0.0 if tiny.endless else _END_GAIN
    halves = {name: tensor.bfloat16() for name, tensor in drawn.items()}
    save_file(halves, folder / "model.safetensors", metadata={"format": "pt"})

    drawn = _draw_all(codec, weights.codec_table(config), f"{tiny.seed}/codec")
    encoder = config.codec.encoder
    for name in weights.unused_codec_tensors(encoder, config.codec.n_codebooks):
        shape = {
            "initialized": (1,),
            "cluster_usage": (encoder.codebook_size,),
            "embed_sum": (encoder.codebook_size, encoder.quantizer_size),
        }[name.rpartition(".")[2]]
        drawn[name] = torch.ones(shape)
    save_file(drawn, folder / CODEC_FOLDER / "model.safetensors", metadata={"format": "pt"})


def _draw_all(
    modules: Mapping[str, nn.Module], table: Mapping[str, str], seed: str
) -> dict[str, Tensor]:
    """A tensor for every parameter, by its published name."""
    names = tensor_names(modules, dict(table))
    drawn: dict[str, Tensor] = {}
    for part, module in modules.items():
        for name, parameter in module.named_parameters():
            published = names[f"{part}.{name}"]
            drawn[published] = _draw(f"{part}.{name}", parameter.shape, f"{seed}/{published}")
    return drawn


def _draw(name: str, shape: torch.Size, seed: str) -> Tensor:
    """Numbers of a size that keeps every layer's output near 1, whatever its width."""
    digest = hashlib.sha256(seed.encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:6], "big"))
    z = torch.randn(shape, generator=generator)
    leaf = name.rpartition(".")[2]
    if leaf == "cluster_usage":
        return 3 * z.abs() + 0.5
    if leaf in _VECTORS:
        return _VECTORS[leaf] * z
    if leaf == "gamma" or "scale" in name:
        return 0.3 + 0.05 * z
    if "norm." in name:
        return 1 + 0.1 * z
    return z * (_gain(name) / math.sqrt(_fan_in(name, shape)))


def _gain(name: str) -> float:
    if "head" in name:
        return 2.0  # scores far enough apart to make some codes likely
    if name.startswith("decoder.output_conv"):
        return 0.12  # most samples inside -1..1
    return 0.4 if ".units." in name else 1.0  # a residual adds a little


def _fan_in(name: str, shape: torch.Size) -> int:
    """How many inputs one output sums: of a table one row, of a transposed convolution twice the
    channels that it has first.
    """
    if "embedding" in name:
        return 4
    if name.startswith("decoder") and ".up." in name:
        return 2 * shape[0]
    return math.prod(shape[1:])


def _write_json(path: Path, values: Mapping[str, object]) -> None:
    path.write_text(json.dumps(values, ensure_ascii=False, indent=1), "utf-8")
