"""The configuration of a checkpoint: two folders, read strictly into the classes of `config.py`.

The published transformer has no `config.json`, and that of the published autoencoder does not say
every size. So the published model is known by the shapes in its files' headers. Any other size
comes from a `config.json` in each folder, whose keys are the ones below.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from menura.engines.echo_tts.config import (
    PUBLISHED,
    AutoencoderConfig,
    DiTConfig,
    EchoConfig,
    EncoderConfig,
    WindowedTransformerConfig,
)
from menura.engines.echo_tts.model_files import Part, find_part
from menura.runtime.json_fields import Fields, read_fields

CONFIG_FILE = "config.json"
# The beginning of the names in one of several equal parts: blocks.23.
_ONE_OF_SEVERAL = re.compile(r".*\b(?:blocks|layers|quantizers)\.\d+\.")

# Upstream's own numbers, which no configuration file holds.
DOWNSAMPLE_FACTORS = (2, 2)
ENCODER_HEAD_DIM = 64
ENCODER_WINDOW = 512
ENCODER_EXPANSION = 3

# Far above every published value, and far below what would exhaust a machine.
_MAX_SIZE = 16_384
_MAX_LAYERS = 128
_MAX_HEADS = 256
_MAX_ENTRIES = 1_000_000
_MAX_CODEBOOKS = 64
_MAX_RATE = 1024
_MAX_WINDOW = 65_536
_MAX_RATE_HZ = 192_000

Shapes = Mapping[str, tuple[int, ...]]


def read_config(folder: Path, autoencoder_folder: Path) -> EchoConfig:
    """The checkpoint's configuration, every value checked; no weight is read.

    Raises: ModelFilesError: a weights file is missing or damaged, or a `config.json` that is needed
        lacks a key, or a value has a wrong type, is out of range or contradicts another.
    """
    return EchoConfig(read_dit(folder), read_autoencoder(autoencoder_folder))


def read_dit(folder: Path) -> DiTConfig:
    """The sizes of the transformer in a folder. Raises: ModelFilesError: as `read_config`."""
    published = PUBLISHED.dit
    path = folder / CONFIG_FILE
    if not path.is_file() or _is_published(folder, Part.TRANSFORMER, _telling_shapes(published)):
        return published
    return _dit(read_fields(path))


def read_autoencoder(folder: Path) -> AutoencoderConfig:
    """The sizes of the autoencoder in a folder. Raises: ModelFilesError: as `read_config`."""
    published = PUBLISHED.autoencoder
    path = folder / CONFIG_FILE
    if not path.is_file() or _is_published(
        folder, Part.AUTOENCODER, _telling_codec_shapes(published)
    ):
        return published
    return _autoencoder(read_fields(path))


def _is_published(folder: Path, part: Part, wanted: Shapes) -> bool:
    """Whether what is there has the wanted shapes, and as many layers.

    A tensor may be missing: the loader names it, and no `config.json` is blamed for it.
    """
    found = find_part(folder, part)
    layers = {match[0] for name in wanted if (match := _ONE_OF_SEVERAL.match(name))}
    has_layers = all(any(name.startswith(layer) for name in found) for layer in layers)
    present = wanted.keys() & found.keys()
    return has_layers and all(found[name].entry.shape == wanted[name] for name in present)


def _telling_shapes(config: DiTConfig) -> Shapes:
    """Shapes that together hold every size of the transformer; the loader checks all of them."""
    last = f"blocks.{config.n_layers - 1}"
    text, speaker = config.text, config.speaker
    return {
        "in_proj.weight": (config.hidden_size, config.latent_size),
        "cond_module.0.weight": (config.hidden_size, config.timestep_size),
        f"{last}.attention.q_norm.weight": (config.n_heads, config.head_dim),
        f"{last}.mlp.w1.weight": (config.intermediate_size, config.hidden_size),
        f"{last}.mlp_adaln.gate_down.weight": (config.adaln_rank, config.hidden_size),
        "text_encoder.text_embedding.weight": (config.text_vocab_size, text.hidden_size),
        f"text_encoder.blocks.{text.n_layers - 1}.attention.q_norm.weight": (
            text.n_heads,
            text.head_dim,
        ),
        "speaker_encoder.in_proj.weight": (
            speaker.hidden_size,
            config.patch_size * config.latent_size,
        ),
        f"speaker_encoder.blocks.{speaker.n_layers - 1}.attention.q_norm.weight": (
            speaker.n_heads,
            speaker.head_dim,
        ),
    }


def _telling_codec_shapes(config: AutoencoderConfig) -> Shapes:
    """Shapes that together hold nearly every size of the autoencoder; the loader checks all."""
    inner = config.quantizer_transformer
    layer = f"quantizer.pre_module.layers.{inner.n_layers - 1}"
    return {
        "encoder.block.0.conv.bias": (config.encoder_width,),
        "decoder.model.0.conv.bias": (config.decoder_width,),
        f"{layer}.feed_forward.w1.weight": (inner.intermediate_size, config.latent_dim),
        f"quantizer.quantizer.quantizers.{config.n_codebooks - 1}.codebook.weight": (
            config.codebook_size,
            config.codebook_dim,
        ),
        "quantizer.semantic_quantizer.quantizers.0.codebook.weight": (
            config.semantic_codebook_size,
            config.codebook_dim,
        ),
    }


def _dit(found: Fields) -> DiTConfig:
    trunk = _encoder(found, "")
    if trunk.n_heads % 2:
        raise found.wrong("num_heads", "an even number: half of the heads carry positions")
    timestep_size = found.whole("timestep_embed_size", 2, _MAX_SIZE)
    if timestep_size % 2:
        raise found.wrong("timestep_embed_size", "an even number")
    return DiTConfig(
        latent_size=found.whole("latent_size", 1, _MAX_SIZE),
        hidden_size=trunk.hidden_size,
        intermediate_size=trunk.intermediate_size,
        n_layers=trunk.n_layers,
        n_heads=trunk.n_heads,
        norm_eps=found.number("norm_eps", 0.0, 1.0),
        text_vocab_size=found.whole("text_vocab_size", 256, _MAX_ENTRIES),
        text=_encoder(found, "text_"),
        speaker=_encoder(found, "speaker_"),
        patch_size=found.whole("speaker_patch_size", 1, 64),
        timestep_size=timestep_size,
        adaln_rank=found.whole("adaln_rank", 1, _MAX_SIZE),
    )


def _encoder(found: Fields, prefix: str) -> EncoderConfig:
    key = f"{prefix}model_size"
    config = EncoderConfig(
        hidden_size=found.whole(key, 1, _MAX_SIZE),
        intermediate_size=found.whole(f"{prefix}intermediate_size", 1, 4 * _MAX_SIZE),
        n_layers=found.whole(f"{prefix}num_layers", 1, _MAX_LAYERS),
        n_heads=found.whole(f"{prefix}num_heads", 1, _MAX_HEADS),
    )
    if config.hidden_size % (2 * config.n_heads):
        raise found.wrong(key, f"an even multiple of {prefix}num_heads, {config.n_heads}")
    return config


def _autoencoder(found: Fields) -> AutoencoderConfig:
    found.expect(causal=True)
    rates = found.wholes("encoder_rates", 1, _MAX_RATE)
    config = AutoencoderConfig(
        sample_rate_hz=found.whole("sample_rate", 1, _MAX_RATE_HZ),
        latent_dim=found.whole("latent_dim", 1, _MAX_SIZE),
        encoder_width=found.whole("encoder_dim", 1, _MAX_SIZE),
        encoder_rates=rates,
        decoder_width=found.whole("decoder_dim", 1, _MAX_SIZE),
        decoder_rates=found.wholes("decoder_rates", 1, _MAX_RATE),
        n_codebooks=found.whole("n_codebooks", 1, _MAX_CODEBOOKS),
        codebook_size=found.whole("codebook_size", 1, _MAX_ENTRIES),
        codebook_dim=found.whole("codebook_dim", 1, _MAX_SIZE),
        semantic_codebook_size=found.whole("semantic_codebook_size", 1, _MAX_ENTRIES),
        downsample_factors=DOWNSAMPLE_FACTORS,
        quantizer_transformer=_quantizer_transformer(found),
        encoder_transformer=None,
    )
    _check_widths(found, config)
    return replace(config, encoder_transformer=_encoder_transformer(found, config))


def _check_widths(found: Fields, config: AutoencoderConfig) -> None:
    """Nothing. Raises: ModelFilesError: the two directions do not fit each other."""
    if sorted(config.decoder_rates) != sorted(config.encoder_rates):
        raise found.wrong("decoder_rates", f"those of encoder_rates, {list(config.encoder_rates)}")
    if config.encoder_width << len(config.encoder_rates) > _MAX_SIZE:
        raise found.wrong("encoder_dim", f"at most {_MAX_SIZE} when each rate has doubled it")
    if config.decoder_width % (1 << len(config.decoder_rates)):
        raise found.wrong("decoder_dim", "a number that every rate can halve")
    if config.samples_per_frame > _MAX_RATE_HZ:
        raise found.wrong("encoder_rates", f"rates whose product is at most {_MAX_RATE_HZ}")


def _quantizer_transformer(found: Fields) -> WindowedTransformerConfig:
    hidden_size = found.whole("latent_dim", 1, _MAX_SIZE)
    n_heads = found.whole("quantizer_heads", 1, _MAX_HEADS)
    head_dim = found.whole("quantizer_head_dim", 2, 1024)
    if n_heads * head_dim != hidden_size or head_dim % 2:
        raise found.wrong(
            "quantizer_head_dim", f"even, and latent_dim / quantizer_heads, {hidden_size / n_heads}"
        )
    return replace(
        PUBLISHED.autoencoder.quantizer_transformer,
        hidden_size=hidden_size,
        intermediate_size=found.whole("quantizer_ffn", 1, 4 * _MAX_SIZE),
        n_layers=found.whole("quantizer_layers", 1, _MAX_LAYERS),
        n_heads=n_heads,
        n_kv_heads=n_heads,
        head_dim=head_dim,
        window=found.whole("quantizer_window", 1, _MAX_WINDOW),
    )


def _encoder_transformer(
    found: Fields, config: AutoencoderConfig
) -> WindowedTransformerConfig | None:
    """The transformer of the encoder's last block, None where it has no layers."""
    key = "encoder_transformer_layers"
    *before, n_layers = found.wholes(key, 0, _MAX_LAYERS)
    if len(before) + 1 != len(config.encoder_rates) or any(before):
        raise found.wrong(key, "one number for each of encoder_rates, 0 for all but the last")
    if not n_layers:
        return None
    width = config.encoder_width << len(config.encoder_rates)
    if width % ENCODER_HEAD_DIM:
        raise found.wrong(
            "encoder_dim", f"such that the last block's width is a multiple of {ENCODER_HEAD_DIM}"
        )
    n_heads = width // ENCODER_HEAD_DIM
    return replace(
        config.quantizer_transformer,
        hidden_size=width,
        intermediate_size=ENCODER_EXPANSION * width,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_heads,
        head_dim=ENCODER_HEAD_DIM,
        window=ENCODER_WINDOW,
    )
