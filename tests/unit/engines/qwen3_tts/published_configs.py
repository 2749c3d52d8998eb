"""The published configuration files: all values that the loader reads."""

import json
from pathlib import Path

_LANGUAGES = {
    "english": 2050, "german": 2053, "spanish": 2054, "chinese": 2055, "japanese": 2058,
    "french": 2061, "korean": 2064, "russian": 2069, "italian": 2070, "portuguese": 2071,
}  # fmt: skip
_DIALECTS = {"beijing_dialect": 2074, "sichuan_dialect": 2062}
_SPEAKERS = {
    "aiden": 2861, "sohee": 2864, "ono_anna": 2873, "eric": 2875, "dylan": 2878, "uncle_fu": 3010,
    "ryan": 3061, "vivian": 3065, "serena": 3066,
}  # fmt: skip


def _transformer(
    hidden: int, inner: int, layers: int, heads: int, kv: int, dim: int
) -> dict[str, object]:
    return {
        "hidden_size": hidden, "intermediate_size": inner, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": kv, "head_dim": dim,
    }  # fmt: skip


def write_configs(folder: Path, variant: str, size: str) -> Path:
    """The folder, after `config.json` and the codec's were written into it."""
    hidden = {"0b6": 1024, "1b7": 2048}[size]
    is_custom = variant == "custom_voice"
    rope = {"rms_norm_eps": 1e-6, "rope_theta": 1_000_000}
    talker = {
        **_transformer(hidden, 3 * hidden, 28, 16, 8, 128), **rope,
        "text_hidden_size": 2048, "text_vocab_size": 151_936, "vocab_size": 3072,
        "num_code_groups": 16, "codec_pad_id": 2148, "codec_bos_id": 2149,
        "codec_eos_token_id": 2150, "codec_think_id": 2154, "codec_nothink_id": 2155,
        "codec_think_bos_id": 2156, "codec_think_eos_id": 2157,
        "codec_language_id": _LANGUAGES | (_DIALECTS if is_custom else {}),
        "spk_id": _SPEAKERS if is_custom else {},
        "spk_is_dialect": {
            name: {"eric": "sichuan_dialect", "dylan": "beijing_dialect"}.get(name, False)
            for name in (_SPEAKERS if is_custom else {})
        },
        "code_predictor_config": {
            **_transformer(1024, 3072, 5, 16, 8, 128), **rope,
            "vocab_size": 2048, "num_code_groups": 16,
        },
    }  # fmt: skip
    top: dict[str, object] = {
        "model_type": "qwen3_tts", "tokenizer_type": "qwen3_tts_tokenizer_12hz",
        "tts_model_type": variant, "tts_model_size": size, "im_start_token_id": 151_644,
        "im_end_token_id": 151_645, "tts_pad_token_id": 151_671, "tts_bos_token_id": 151_672,
        "tts_eos_token_id": 151_673, "transformers_version": "4.57.3", "talker_config": talker,
    }  # fmt: skip
    if variant == "base":
        top["speaker_encoder_config"] = {"enc_dim": hidden, "sample_rate": 24_000}
    (folder / "speech_tokenizer").mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(top), "utf-8")
    (folder / "speech_tokenizer" / "config.json").write_text(json.dumps(_codec()), "utf-8")
    return folder


def _codec() -> dict[str, object]:
    return {
        "model_type": "qwen3_tts_tokenizer_12hz", "encoder_valid_num_quantizers": 16,
        "input_sample_rate": 24_000, "output_sample_rate": 24_000,
        "decode_upsample_rate": 1920, "encode_downsample_rate": 1920,
        "encoder_config": {
            **_transformer(512, 2048, 8, 8, 8, 64), "norm_eps": 1e-5, "rope_theta": 10_000.0,
            "num_filters": 64, "kernel_size": 7, "residual_kernel_size": 3, "last_kernel_size": 3,
            "num_residual_layers": 1, "compress": 2, "upsampling_ratios": [8, 6, 5, 4],
            "hidden_act": "gelu", "num_quantizers": 32, "num_semantic_quantizers": 1,
            "codebook_size": 2048, "codebook_dim": 256, "pad_mode": "constant",
            "vector_quantization_hidden_dimension": 256, "use_causal_conv": True,
        },
        "decoder_config": {
            **_transformer(512, 1024, 8, 16, 16, 64), "rms_norm_eps": 1e-5, "rope_theta": 10_000,
            "sliding_window": 72, "latent_dim": 1024, "codebook_dim": 512, "decoder_dim": 1536,
            "codebook_size": 2048, "num_quantizers": 16, "num_semantic_quantizers": 1,
            "upsample_rates": [8, 5, 4, 3], "upsampling_ratios": [2, 2], "hidden_act": "silu",
        },
    }  # fmt: skip
