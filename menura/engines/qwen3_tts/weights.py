"""The weights of a checkpoint: which tensor belongs to which parameter, and the loading.

`model.safetensors` holds talker, code predictor and speaker encoder, `speech_tokenizer/` the codec.
A table maps the beginnings of our parameters' names to those of the published tensors; what follows
(`weight`, `bias`, `codebooks.3.cluster_usage`) is the same in both, or stands in the table too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from menura.engines.qwen3_tts.code_predictor import CodePredictor
from menura.engines.qwen3_tts.codec_decoder import CodecDecoder
from menura.engines.qwen3_tts.codec_encoder import CodecEncoder
from menura.engines.qwen3_tts.config import (
    CodecDecoderConfig,
    CodecEncoderConfig,
    Qwen3TTSConfig,
    SpeakerEncoderConfig,
)
from menura.engines.qwen3_tts.config_files import CODEC_FOLDER
from menura.engines.qwen3_tts.speaker_encoder import SpeakerEncoder
from menura.engines.qwen3_tts.talker import Talker
from menura.nn.codec_blocks import DILATIONS
from menura.runtime.checkpoint_tensors import fill, without_memory
from menura.runtime.found_tensors import find_tensors
from menura.runtime.tensor_names import tensor_names

Names = dict[str, str]

_BLOCK = {
    "attention.query.": "self_attn.q_proj.",
    "attention.key.": "self_attn.k_proj.",
    "attention.value.": "self_attn.v_proj.",
    "attention.output.": "self_attn.o_proj.",
    "attention.query_norm.": "self_attn.q_norm.",
    "attention.key_norm.": "self_attn.k_norm.",
    "attention_norm.": "input_layernorm.",
    "attention_scale.weight": "self_attn_layer_scale.scale",
    "feed_forward.gate.": "mlp.gate_proj.",
    "feed_forward.up.": "mlp.up_proj.",
    "feed_forward.down.": "mlp.down_proj.",
    "feed_forward_norm.": "post_attention_layernorm.",
    "feed_forward_scale.weight": "mlp_layer_scale.scale",
}
_GELU_BLOCK = _BLOCK | {"feed_forward.up.": "mlp.fc1.", "feed_forward.down.": "mlp.fc2."}


@dataclass(frozen=True)
class Parts:
    """The modules of one checkpoint; without a speaker encoder where it cannot clone."""

    talker: Talker
    code_predictor: CodePredictor
    speaker_encoder: SpeakerEncoder | None
    codec_encoder: CodecEncoder
    codec_decoder: CodecDecoder


def load(
    folder: Path,
    config: Qwen3TTSConfig,
    device: torch.device,
    dtype: torch.dtype,
    codec_dtype: torch.dtype | None = None,
) -> Parts:
    """Every part on a device, in one dtype, or the codec in its own.

    Raises: ModelFilesError: a tensor is missing, unused, damaged or of a wrong shape; its name is
        in the message.
    """
    parts = build(config)
    model, codec = modules(parts)
    fill(model, tensor_names(model, model_table(config)), find_tensors(folder), (), device, dtype)
    fill(
        codec,
        tensor_names(codec, codec_table(config)),
        find_tensors(folder / CODEC_FOLDER),
        unused_codec_tensors(config.codec.encoder, config.codec.n_codebooks),
        device,
        codec_dtype or dtype,
    )
    return parts


def build(config: Qwen3TTSConfig) -> Parts:
    """The parts without memory for their weights."""
    encoder = config.speaker_encoder
    with without_memory():
        return Parts(
            Talker(config.talker),
            CodePredictor(config.talker.code_predictor, config.talker.transformer.hidden_size),
            None if encoder is None else SpeakerEncoder(encoder),
            CodecEncoder(config.codec.encoder, config.codec.n_codebooks),
            CodecDecoder(config.codec.decoder),
        )


def modules(parts: Parts) -> tuple[dict[str, nn.Module], dict[str, nn.Module]]:
    """The modules of `model.safetensors` and those of the codec, by the names of the tables."""
    model: dict[str, nn.Module] = {
        "talker": parts.talker,
        "code_predictor": parts.code_predictor,
    }
    if parts.speaker_encoder is not None:
        model["speaker_encoder"] = parts.speaker_encoder
    return model, {"encoder": parts.codec_encoder, "decoder": parts.codec_decoder}


def model_table(config: Qwen3TTSConfig) -> Names:
    """The beginnings of names in `model.safetensors`."""
    talker, predictor = config.talker, config.talker.code_predictor
    table = {
        "talker.text_embedding.": "talker.model.text_embedding.",
        "talker.codec_embedding.": "talker.model.codec_embedding.",
        "talker.text_projection.inner.": "talker.text_projection.linear_fc1.",
        "talker.text_projection.outer.": "talker.text_projection.linear_fc2.",
        "talker.codec_head.": "talker.codec_head.",
        "code_predictor.embeddings.": "talker.code_predictor.model.codec_embedding.",
        "code_predictor.heads.": "talker.code_predictor.lm_head.",
        "code_predictor.projection.": "talker.code_predictor.small_to_mtp_projection.",
    }
    table |= _transformer("talker.transformer.", "talker.model.", talker.transformer.n_layers)
    table |= _transformer(
        "code_predictor.transformer.",
        "talker.code_predictor.model.",
        predictor.transformer.n_layers,
    )
    return table if config.speaker_encoder is None else table | _speaker(config.speaker_encoder)


def _transformer(ours: str, theirs: str, n_layers: int, block: Names = _BLOCK) -> Names:
    layers = {
        f"{ours}blocks.{layer}.{inner}": f"{theirs}layers.{layer}.{published}"
        for layer in range(n_layers)
        for inner, published in block.items()
    }
    return layers | {f"{ours}final_norm.": f"{theirs}norm."}


def _speaker(config: SpeakerEncoderConfig) -> Names:
    p = "speaker_encoder."
    table = {
        f"{p}input.": f"{p}blocks.0.",
        f"{p}aggregate.": f"{p}mfa.",
        f"{p}pool.attend.": f"{p}asp.tdnn.",
        f"{p}pool.score.": f"{p}asp.conv.",
        f"{p}output.": f"{p}fc.",
    }
    for block in range(len(config.channels) - 2):
        ours, theirs = f"{p}blocks.{block}.", f"{p}blocks.{block + 1}."
        table |= {
            f"{ours}mix_in.": f"{theirs}tdnn1.",
            f"{ours}res2net.groups.": f"{theirs}res2net_block.blocks.",
            f"{ours}mix_out.": f"{theirs}tdnn2.",
            f"{ours}excitation.squeeze.": f"{theirs}se_block.conv1.",
            f"{ours}excitation.excite.": f"{theirs}se_block.conv2.",
        }
    return table


def codec_table(config: Qwen3TTSConfig) -> Names:
    """The beginnings of names in `speech_tokenizer/model.safetensors`."""
    return _codec_encoder(config.codec.encoder) | _codec_decoder(config.codec.decoder)


def _codec_encoder(config: CodecEncoderConfig) -> Names:
    """Upstream numbers its layers through, activations without weights included."""
    layers, n_blocks = "encoder.encoder.layers.", len(config.strides)
    table = {
        "encoder.input_conv.": f"{layers}0.",
        "encoder.output_conv.": f"{layers}{3 * n_blocks + 2}.",
        "encoder.downsample.": "encoder.downsample.",
    }
    for block in range(n_blocks):
        ours = f"encoder.blocks.{block}."
        table |= {
            f"{ours}unit.narrow.": f"{layers}{3 * block + 1}.block.1.",
            f"{ours}unit.widen.": f"{layers}{3 * block + 1}.block.3.",
            f"{ours}down.": f"{layers}{3 * block + 3}.",
        }
    table |= _transformer(
        "encoder.transformer.",
        "encoder.encoder_transformer.",
        config.transformer.n_layers,
        _GELU_BLOCK,
    )
    for part in ("semantic", "acoustic"):
        ours, theirs = f"encoder.quantizer.{part}.", _encoder_stack(part)
        table |= {f"{ours}{end}": f"{theirs}{end}" for end in ("input_proj.", "output_proj.")}
        for book in range(config.n_codebooks):
            published = f"{theirs}layers.{book}.codebook."
            table |= {
                f"{ours}codebooks.{book}.embedding_sum": f"{published}embed_sum",
                f"{ours}codebooks.{book}.cluster_usage": f"{published}cluster_usage",
            }
    return table


def _encoder_stack(part: str) -> str:
    return f"encoder.quantizer.{part}_residual_vector_quantizer."


def unused_codec_tensors(config: CodecEncoderConfig, n_kept: int) -> frozenset[str]:
    """Published tensors that speak no part: marks of training, and codebooks that are not kept."""
    return frozenset(_unused(config, n_kept))


def _unused(config: CodecEncoderConfig, n_kept: int) -> Iterator[str]:
    n_semantic = config.n_semantic_codebooks
    sizes = {"semantic": n_semantic, "acoustic": config.n_codebooks - n_semantic}
    kept = {"semantic": n_semantic, "acoustic": n_kept - n_semantic}
    for part, n_published in sizes.items():
        for book in range(n_published):
            published = f"{_encoder_stack(part)}layers.{book}.codebook."
            yield f"{published}initialized"
            if book >= kept[part]:
                yield f"{published}embed_sum"
                yield f"{published}cluster_usage"


def _codec_decoder(config: CodecDecoderConfig) -> Names:
    n_blocks = len(config.upsample_rates)
    stack = "decoder.decoder."
    table = {
        "decoder.latent_conv.": "decoder.pre_conv.",
        "decoder.transformer.input_proj.": "decoder.pre_transformer.input_proj.",
        "decoder.transformer.output_proj.": "decoder.pre_transformer.output_proj.",
        "decoder.input_conv.": f"{stack}0.",
        "decoder.output_act.": f"{stack}{n_blocks + 1}.",
        "decoder.output_conv.": f"{stack}{n_blocks + 2}.",
    }
    table |= _transformer(
        "decoder.transformer.blocks.", "decoder.pre_transformer.", config.transformer.n_layers
    )
    for part, published in (("semantic", "rvq_first"), ("acoustic", "rvq_rest")):
        ours, theirs = f"decoder.quantizer.{part}.", f"decoder.quantizer.{published}."
        table |= {f"{ours}{end}": f"{theirs}{end}" for end in ("input_proj.", "output_proj.")}
        for book in range(config.n_codebooks):
            table[f"{ours}codebooks.{book}."] = f"{theirs}vq.layers.{book}._codebook."
    for level in range(len(config.upsampling_ratios)):
        table |= _latent_upsampling(f"decoder.latent_upsampling.{level}.", level)
    for block in range(n_blocks):
        table |= _upsampling_block(f"decoder.blocks.{block}.", f"{stack}{block + 1}.block.")
    return table


def _latent_upsampling(ours: str, level: int) -> Names:
    theirs = f"decoder.upsample.{level}."
    return {
        f"{ours}up.": f"{theirs}0.",
        f"{ours}mix.": f"{theirs}1.",
        f"{ours}mix.depthwise.": f"{theirs}1.dwconv.",
        f"{ours}mix.expand.": f"{theirs}1.pwconv1.",
        f"{ours}mix.shrink.": f"{theirs}1.pwconv2.",
    }


def _upsampling_block(ours: str, theirs: str) -> Names:
    table = {f"{ours}act.": f"{theirs}0.", f"{ours}up.": f"{theirs}1."}
    for unit in range(len(DILATIONS)):
        table |= {
            f"{ours}units.{unit}.dilated_act.": f"{theirs}{unit + 2}.act1.",
            f"{ours}units.{unit}.dilated.": f"{theirs}{unit + 2}.conv1.",
            f"{ours}units.{unit}.pointwise_act.": f"{theirs}{unit + 2}.act2.",
            f"{ours}units.{unit}.pointwise.": f"{theirs}{unit + 2}.conv2.",
        }
    return table
