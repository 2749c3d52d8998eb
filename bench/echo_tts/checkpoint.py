"""A random Echo-TTS checkpoint with the shapes of the published one: 5.6 GB, its codec 1.9 GB.

    python -m bench.echo_tts.checkpoint [whole | half | small | tiny]

prints the folder, which is written first where it is missing. Speed depends on shapes, not on what
the weights say. The files have the published layout, tables that upstream stores included, so that
upstream loads them as well; the codec's is shared by all sizes but the last. `half` has half of the
trunk's blocks, for float32 of both sides at once in 24 GB of memory; `small` has one block of each
kind, for what the codec does alone; `tiny` is to try the bench itself.
"""

import argparse
import json
import math
import os
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import torch
from platformdirs import user_cache_path
from torch import Tensor

from menura.engines.echo_tts import codec_tables, tiny, weights
from menura.engines.echo_tts.config import PUBLISHED, ROPE_THETA, AutoencoderConfig, DiTConfig
from menura.engines.echo_tts.model_files import MODEL_STEM, PCA_STEM

# Names the folder of the checkpoints; without it, they lie in the user's cache.
VARIABLE = "BENCH_MODEL"  # not MENURA_: those are settings
WHOLE, HALF, SMALL, TINY = "whole", "half", "small", "tiny"
_DIT = PUBLISHED.dit
DITS: Mapping[str, DiTConfig] = {
    WHOLE: _DIT,
    HALF: replace(_DIT, n_layers=_DIT.n_layers // 2),
    SMALL: replace(
        _DIT,
        n_layers=1,
        text=replace(_DIT.text, n_layers=1),
        speaker=replace(_DIT.speaker, n_layers=1),
    ),
}
MODEL, CODEC = Path("jordand", "echo-tts-base"), Path("jordand", "fish-s1-dac-min")

# The rows of the tables in the published codec's file.
_ENCODER_ROWS, _QUANTIZER_ROWS = 16_384, 4096
_DTYPES = {torch.bfloat16: "BF16", torch.float32: "F32", torch.bool: "BOOL"}
_POOL = torch.randn(2**24, generator=torch.Generator().manual_seed(0))
_PCA_SCALE = 1 / 18


def folder(size: str) -> Path:
    """The folder with the checkpoint of a size, written first where it is missing."""
    given = os.environ.get(VARIABLE)
    parent = Path(given) if given else user_cache_path("menura") / "bench" / "echo_tts"
    path = parent / size
    if path.is_dir():
        return path
    parent.mkdir(parents=True, exist_ok=True)
    codec = folder(WHOLE) / CODEC if size in (HALF, SMALL) else None
    with tempfile.TemporaryDirectory(dir=parent) as unfinished:
        return write(Path(unfinished) / size, size, codec).rename(path)


def write(root: Path, size: str, codec: Path | None) -> Path:
    """The folder, after a checkpoint was written into it, or tied to a `codec` that is there."""
    if size == TINY:
        tiny.write_pair(root / MODEL, root / CODEC)
        return root
    config = DITS[size]
    (root / MODEL).mkdir(parents=True)
    if size != WHOLE:
        sizes = json.dumps(_upstream_sizes(config), indent=1)
        (root / MODEL / "config.json").write_text(sizes, "utf-8")
    _write_model(root / MODEL, config)
    if codec is None:
        (root / CODEC).mkdir()
        _write_codec(root / CODEC, PUBLISHED.autoencoder)
    else:
        (root / CODEC).symlink_to(codec, target_is_directory=True)
    return root


def _write_model(path: Path, config: DiTConfig) -> None:
    shapes = weights.dit_stored(config).shapes | weights.blockwise_stored(config).shapes
    _write_tensors(
        path / f"{MODEL_STEM}.safetensors",
        {name: (torch.bfloat16, shape) for name, shape in shapes.items()},
    )
    n_latents, n_channels = config.latent_size, PUBLISHED.autoencoder.latent_dim
    pca = {weights.COMPONENTS: (n_latents, n_channels), weights.MEAN: (n_channels,),
           weights.SCALE: (1,)}  # fmt: skip
    _write_tensors(
        path / f"{PCA_STEM}.safetensors",
        {name: (torch.float32, shape) for name, shape in pca.items()},
    )


def _write_codec(path: Path, config: AutoencoderConfig) -> None:
    shapes = {
        name: (torch.float32, shape)
        for name, shape in weights.codec_stored(config, ()).shapes.items()
    }
    tables = {name: _table(name) for name in sorted(codec_tables.buffers(config))}
    found = {_stored_name(name): stored for name, stored in shapes.items()}
    found |= {name: (table.dtype, tuple(table.shape)) for name, table in tables.items()}
    _write_tensors(path / f"{MODEL_STEM}.safetensors", found, tables)


def _stored_name(name: str) -> str:
    """The published file stores the quantizer's weight norms in the older form."""
    if not name.startswith("quantizer."):
        return name
    newer = ".parametrizations.weight.original"
    return name.replace(f"{newer}0", ".weight_g").replace(f"{newer}1", ".weight_v")


def _write_tensors(
    path: Path,
    stored: Mapping[str, tuple[torch.dtype, tuple[int, ...]]],
    tables: Mapping[str, Tensor] | None = None,
) -> None:
    """Write a safetensors file, one tensor at a time, so that memory holds no more than one."""
    header: dict[str, object] = {}
    end = 0
    for name, (dtype, shape) in stored.items():
        start, end = end, end + dtype.itemsize * math.prod(shape)
        header[name] = {"dtype": _DTYPES[dtype], "shape": shape, "data_offsets": [start, end]}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with path.open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for name, (dtype, shape) in stored.items():
            table = (tables or {}).get(name)
            _append(file, numbers(name, shape).to(dtype) if table is None else table)


def _append(file: BinaryIO, tensor: Tensor) -> None:
    tensor.contiguous().view(torch.uint8).numpy().tofile(file)


def numbers(name: str, shape: tuple[int, ...]) -> Tensor:
    """Random numbers float32 [shape] that keep every layer's output near 1."""
    n_numbers = math.prod(shape)
    start = zlib.crc32(name.encode()) % (len(_POOL) // 2)
    z = torch.cat(list(_pieces(start, n_numbers))).view(shape)
    leaf = name.rpartition(".")[2]
    if leaf == weights.SCALE:
        return torch.full(shape, _PCA_SCALE)
    if (
        leaf == "alpha"
        or leaf in ("original0", "weight_g")
        or ("norm" in name and leaf == "weight")
    ):
        return 1 + 0.1 * z
    if leaf in ("gamma", "bias"):
        return 0.1 * z
    if "codebook" in name or "embedding" in name:
        return z
    return z / math.sqrt(math.prod(shape[1:]))


def _pieces(start: int, n_numbers: int) -> Iterator[Tensor]:
    """So many numbers of the pool, from its beginning again where it ends."""
    while n_numbers > 0:
        piece = _POOL[start : start + n_numbers]
        yield piece
        n_numbers -= len(piece)
        start = 0


def _table(name: str) -> Tensor:
    """A table that upstream stores: a causal mask [n, n], or cosines and sines [n, d/2, 2]."""
    config = PUBLISHED.autoencoder
    is_quantizers = name.startswith("quantizer.")
    n_rows = _QUANTIZER_ROWS if is_quantizers else _ENCODER_ROWS
    if name.endswith("causal_mask"):
        return torch.ones(n_rows, n_rows, dtype=torch.bool).tril()
    exponents = torch.arange(0, config.quantizer_transformer.head_dim, 2).float()
    frequencies = 1.0 / ROPE_THETA ** (exponents / config.quantizer_transformer.head_dim)
    angles = torch.outer(torch.arange(n_rows).float(), frequencies)
    return torch.stack((angles.cos(), angles.sin()), dim=-1).bfloat16()


def _upstream_sizes(config: DiTConfig) -> Mapping[str, object]:
    """The keys of a `config.json`, which are upstream's arguments."""
    text, speaker = config.text, config.speaker
    return {
        "latent_size": config.latent_size, "model_size": config.hidden_size,
        "num_layers": config.n_layers, "num_heads": config.n_heads,
        "intermediate_size": config.intermediate_size, "norm_eps": config.norm_eps,
        "text_vocab_size": config.text_vocab_size, "text_model_size": text.hidden_size,
        "text_num_layers": text.n_layers, "text_num_heads": text.n_heads,
        "text_intermediate_size": text.intermediate_size, "speaker_patch_size": config.patch_size,
        "speaker_model_size": speaker.hidden_size, "speaker_num_layers": speaker.n_layers,
        "speaker_num_heads": speaker.n_heads,
        "speaker_intermediate_size": speaker.intermediate_size,
        "timestep_embed_size": config.timestep_size, "adaln_rank": config.adaln_rank,
    }  # fmt: skip


def main() -> None:
    """Print the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("size", nargs="?", choices=(*DITS, TINY), default=WHOLE)
    sys.stdout.write(f"{folder(parser.parse_args().size)}\n")


if __name__ == "__main__":
    main()
