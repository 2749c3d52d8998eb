"""How much memory each stage needs beside the weights: upper estimates from the sizes alone."""

from menura.engines.contract import Stage
from menura.engines.qwen3_tts.codec import CHUNK_FRAMES, CONTEXT_FRAMES
from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.engines.qwen3_tts.live_row import Utterance

_NUMBER_BYTES = 4
_REFERENCE_S = 30.0
_FEW = 4  # arrays of one size that are alive at the same time


def working_bytes(stage: Stage, utterance: Utterance, config: Qwen3TTSConfig) -> int:
    """An upper estimate for one row, in bytes; for voices, one of a clip of 30 seconds."""
    if stage is Stage.VOICE:
        return _voice_bytes(config)
    if stage is Stage.GENERATE:
        return _cache_bytes(utterance, config)
    return _codec_bytes(config)


def _voice_bytes(config: Qwen3TTSConfig) -> int:
    """The first convolution's channels at the full sample rate."""
    n_samples = round(_REFERENCE_S * config.codec.input_rate_hz)
    return _FEW * n_samples * config.codec.encoder.n_filters * _NUMBER_BYTES


def _cache_bytes(utterance: Utterance, config: Qwen3TTSConfig) -> int:
    """Keys and values of the longest utterance; a layer's are copied when they grow."""
    plan, sizes = utterance.plan, config.talker.transformer
    n_reference = 0 if plan.reference_codes is None else len(plan.reference_codes)
    n_prompt = len(plan.instruction_ids) + len(plan.reference_ids) + len(plan.text_ids)
    n_positions = n_prompt + n_reference + utterance.generation.settings.max_new_tokens
    position_bytes = 2 * sizes.n_kv_heads * sizes.head_dim * _NUMBER_BYTES
    return (sizes.n_layers + 1) * n_positions * position_bytes


def _codec_bytes(config: Qwen3TTSConfig) -> int:
    """The widest activations of a whole chunk: at each level the rate grows, the width halves."""
    decoder = config.codec.decoder
    n_steps = CHUNK_FRAMES + CONTEXT_FRAMES
    for ratio in decoder.upsampling_ratios:
        n_steps *= ratio
    widest, width = n_steps * decoder.decoder_size, decoder.decoder_size
    for rate in decoder.upsample_rates:
        n_steps, width = n_steps * rate, width // 2
        widest = max(widest, n_steps * width)
    return _FEW * widest * _NUMBER_BYTES
