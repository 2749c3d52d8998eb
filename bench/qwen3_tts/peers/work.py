"""What one frame must cost at least, from the checkpoint's sizes and what the machine can do.

At one row the language model is limited by reading its weights, once for the talker and once for
each of the predictor's steps; the codec by arithmetic.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch.utils.flop_counter import FlopCounterMode

from menura.engines.qwen3_tts.codec_decoder import CodecDecoder
from menura.engines.qwen3_tts.config import CodecDecoderConfig, TalkerConfig, TransformerConfig
from menura.engines.qwen3_tts.config_files import read_config

_COUNTED_FRAMES = 25


@dataclass(frozen=True)
class Work:
    """What one frame takes: weights read by the language model, operations of the codec."""

    n_weights: int
    codec_flop: float


def work_of(folder: Path) -> Work:
    """The work of a frame of the checkpoint in a folder."""
    config = read_config(folder)
    return Work(weights_of(config.talker), codec_flop(config.codec.decoder))


def weights_of(talker: TalkerConfig) -> int:
    """The weights that are read for one frame; single rows of tables are not counted."""
    predictor = talker.code_predictor
    n_steps = talker.n_codebooks - 1
    width, inner = talker.transformer.hidden_size, predictor.transformer.hidden_size
    projection = 0 if width == inner else width * inner
    step = layers(predictor.transformer) + inner * predictor.codebook_size + projection
    return layers(talker.transformer) + width * talker.codec_vocab_size + n_steps * step


def layers(sizes: TransformerConfig) -> int:
    """The weights of a stack's matrices."""
    heads = 2 * sizes.n_heads + 2 * sizes.n_kv_heads  # query and output, key and value
    block = sizes.hidden_size * (heads * sizes.head_dim + 3 * sizes.intermediate_size)
    return sizes.n_layers * block


def codec_flop(config: CodecDecoderConfig) -> float:
    """The codec's operations for one frame, counted by torch without computing anything."""
    with torch.device("meta"):
        decoder = CodecDecoder(config)
        codes = torch.zeros(1, config.n_codebooks, _COUNTED_FRAMES, dtype=torch.int64)
    with torch.inference_mode(), FlopCounterMode(display=False) as counted:
        decoder(codes)
    total: int = counted.get_total_flops()
    return total / _COUNTED_FRAMES


def least_s(
    work: Work, limits: Mapping[str, float], weight_bits: float, codec: str
) -> tuple[float, float]:
    """Least seconds of a frame: the language model's reading, and the codec's arithmetic."""
    reading_s = work.n_weights * weight_bits / 8 / (limits["read_gb_s"] * 1e9)
    return reading_s, work.codec_flop / (limits[f"{codec}_gflop_s"] * 1e9)
