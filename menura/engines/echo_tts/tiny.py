"""Writes the smallest checkpoint that loads: the published layout, few numbers, from fixed seeds.

It speaks noise, but everything that can be wrong with names, layouts, shapes and orders is as wrong
in it as in a real model, and no two of its widths are equal. Upstream loads it too, and its answers
for these very numbers are recorded: each tensor is drawn by a generator (numpy's PCG64) that is
seeded with the CRC-32 of the tensor's published name.
"""

import json
import math
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from menura.engines.echo_tts import codec_tables, weights
from menura.engines.echo_tts.config import ROPE_THETA, AutoencoderConfig
from menura.engines.echo_tts.config_files import read_config
from menura.engines.echo_tts.model_files import AUTOENCODER_FOLDER, MODEL_STEM, PCA_STEM
from menura.runtime.tensor_names import Shape

DIT_CONFIG: Mapping[str, object] = {
    "latent_size": 80, "model_size": 96, "num_layers": 3, "num_heads": 4,
    "intermediate_size": 160, "norm_eps": 1e-5, "text_vocab_size": 256, "text_model_size": 40,
    "text_num_layers": 2, "text_num_heads": 2, "text_intermediate_size": 72,
    "speaker_patch_size": 4, "speaker_model_size": 56, "speaker_num_layers": 2,
    "speaker_num_heads": 2, "speaker_intermediate_size": 88, "timestep_embed_size": 32,
    "adaln_rank": 8,
}  # fmt: skip
CODEC_CONFIG: Mapping[str, object] = {
    "sample_rate": 44_100, "causal": True, "latent_dim": 64, "encoder_dim": 4,
    "encoder_rates": [2, 4, 8, 8], "encoder_transformer_layers": [0, 0, 0, 1],
    "encoder_block_size": 4096, "decoder_dim": 48, "decoder_rates": [8, 8, 4, 2],
    "n_codebooks": 9, "codebook_size": 32, "codebook_dim": 8, "semantic_codebook_size": 64,
    "quantizer_layers": 2, "quantizer_heads": 2, "quantizer_head_dim": 32, "quantizer_ffn": 96,
    "quantizer_window": 16, "quantizer_block_size": 1024,
}  # fmt: skip
# The rows of the stored tables, which are `encoder_block_size` and `quantizer_block_size`.
_ENCODER_ROWS, _QUANTIZER_ROWS = 4096, 1024
_PCA_SEED = 7
_PCA_SCALE = 1 / 18
# The published file stores the quantizer's weight norms in the older form, all others in the newer.
_NEWER = (".parametrizations.weight.original0", ".parametrizations.weight.original1")
_OLDER = (".weight_g", ".weight_v")


def write(folder: Path) -> Path:
    """The folder, with a transformer in it and its autoencoder in a folder inside."""
    return write_pair(folder, folder / AUTOENCODER_FOLDER)


def write_pair(folder: Path, autoencoder_folder: Path) -> Path:
    """The folder, after transformer and autoencoder were written into their two folders."""
    autoencoder_folder.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    _write_json(folder / "config.json", DIT_CONFIG)
    _write_json(autoencoder_folder / "config.json", CODEC_CONFIG)
    # Before the weights are there, the configuration files say the sizes.
    for place in (folder, autoencoder_folder):
        save_file({"nothing": torch.zeros(1)}, place / f"{MODEL_STEM}.safetensors")
    config = read_config(folder, autoencoder_folder)

    shapes = weights.dit_stored(config.dit).shapes | weights.blockwise_stored(config.dit).shapes
    dit = {name: drawn(name, shape).bfloat16() for name, shape in shapes.items()}
    save_file(dit, folder / f"{MODEL_STEM}.safetensors")
    pca = _pca(config.dit.latent_size, config.autoencoder.latent_dim)
    save_file(pca, folder / f"{PCA_STEM}.safetensors")
    codec = _codec(config.autoencoder)
    save_file(codec, autoencoder_folder / f"{MODEL_STEM}.safetensors")
    return folder


def _codec(config: AutoencoderConfig) -> dict[str, Tensor]:
    shapes = weights.codec_stored(config, ()).shapes
    return {_stored_name(name): drawn(name, shape) for name, shape in shapes.items()} | {
        name: _buffer(name, config) for name in codec_tables.buffers(config)
    }


def _stored_name(name: str) -> str:
    if name.startswith("quantizer."):
        for newer, older in zip(_NEWER, _OLDER, strict=True):
            name = name.replace(newer, older)
    return name


def drawn(name: str, shape: Shape) -> Tensor:
    """The float32 numbers [shape] of the tensor with this published name, of a plausible size."""
    generator = np.random.Generator(np.random.PCG64(zlib.crc32(name.encode())))
    z = generator.standard_normal(shape)
    if name.endswith("alpha"):
        z = 1.0 + 0.3 * np.abs(z)
    elif name.endswith(_NEWER[0]):
        z = 0.5 + 0.3 * np.abs(z)
    elif name.endswith("gamma"):
        z = 0.3 + 0.05 * z
    elif "norm" in name and name.endswith("weight"):
        z = 1.0 + 0.2 * z
    elif name.endswith("bias"):
        z = 0.1 * z
    elif "codebook" not in name and "embedding" not in name:
        z = z / math.sqrt(math.prod(shape[1:]))
    return torch.from_numpy(np.ascontiguousarray(z, dtype=np.float32))


def _pca(latent_size: int, latent_dim: int) -> dict[str, Tensor]:
    """The projection. Its rows are not orthonormal: there are more of them than channels."""
    generator = np.random.Generator(np.random.PCG64(_PCA_SEED))
    components = generator.standard_normal((latent_size, latent_dim)) / math.sqrt(latent_size)
    mean = 0.3 * generator.standard_normal(latent_dim)
    return {
        weights.COMPONENTS: torch.from_numpy(components.astype(np.float32)),
        weights.MEAN: torch.from_numpy(mean.astype(np.float32)),
        weights.SCALE: torch.tensor([_PCA_SCALE], dtype=torch.float32),
    }


def _buffer(name: str, config: AutoencoderConfig) -> Tensor:
    """A table that upstream stores: a causal mask [n, n], or cosines and sines [n, d/2, 2]."""
    is_quantizers = name.startswith("quantizer.")
    n_rows = _QUANTIZER_ROWS if is_quantizers else _ENCODER_ROWS
    if name.endswith("causal_mask"):
        return torch.ones(n_rows, n_rows, dtype=torch.bool).tril()
    sizes = config.quantizer_transformer if is_quantizers else config.encoder_transformer
    assert sizes is not None
    exponents = torch.arange(0, sizes.head_dim, 2).float() / sizes.head_dim
    angles = torch.outer(torch.arange(n_rows).float(), 1.0 / ROPE_THETA**exponents)
    turns = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turns).bfloat16()


def _write_json(path: Path, values: Mapping[str, object]) -> None:
    path.write_text(json.dumps(values, indent=1) + "\n", "utf-8")
