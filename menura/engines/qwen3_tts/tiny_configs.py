"""The configuration files of the tiny checkpoints: the published keys, small values."""

from collections.abc import Mapping

Config = dict[str, object]

_TEXT_ROWS_STEP = 64
_N_CODES = 256  # and 1024 control ids above them, of which the last places are the languages' ...
_LANGUAGES = (
    "chinese", "english", "german", "italian", "portuguese", "spanish", "japanese", "korean",
    "french", "russian",
)  # fmt: skip
_DIALECTS = ("beijing_dialect", "sichuan_dialect")
_SPEAKERS: Mapping[str, object] = {"vivian": False, "ryan": False, "eric": "sichuan_dialect"}

GENERATION: Mapping[str, object] = {
    "do_sample": True, "repetition_penalty": 1.05, "temperature": 0.9, "top_p": 1.0, "top_k": 50,
    "subtalker_dosample": True, "subtalker_temperature": 0.9, "subtalker_top_p": 1.0,
    "subtalker_top_k": 50, "max_new_tokens": 8192,
}  # fmt: skip
PREPROCESSOR: Mapping[str, object] = {
    "padding_side": "left",
    "padding_value": 0.0,
    "processor_class": "Qwen3TTSProcessor",
    "return_attention_mask": True,
}
CODEC_FRAMEWORK: Mapping[str, object] = {"framework": "pytorch", "task": "audio-codec"}
CODEC_PREPROCESSOR: Mapping[str, object] = {
    "feature_extractor_type": "EncodecFeatureExtractor",
    "feature_size": 1,
    "padding_side": "right",
    "padding_value": 0.0,
    "return_attention_mask": True,
    "sampling_rate": 24_000,
}


def model_config(variant: str, size: str, special_ids: Mapping[str, int]) -> Config:
    """`config.json` of a variant; the small size has no projection before its code predictor."""
    hidden_size = 64 if size == "1b7" else 32
    config: Config = {
        "architectures": ["Qwen3TTSForConditionalGeneration"],
        "model_type": "qwen3_tts",
        "tokenizer_type": "qwen3_tts_tokenizer_12hz",
        "tts_model_type": variant,
        "tts_model_size": size,
        "transformers_version": "4.57.3",
        "im_start_token_id": special_ids["<|im_start|>"],
        "im_end_token_id": special_ids["<|im_end|>"],
        "tts_pad_token_id": special_ids["<tts_pad>"],
        "tts_bos_token_id": special_ids["<tts_text_bos>"],
        "tts_eos_token_id": special_ids["<tts_text_eod>"],
        "talker_config": _talker(variant, hidden_size, max(special_ids.values()) + 1),
    }
    if variant == "base":
        config["speaker_encoder_config"] = {
            "enc_dim": hidden_size, "sample_rate": 24_000, "mel_dim": 128,
            "enc_channels": [16, 16, 16, 16, 48], "enc_kernel_sizes": [5, 3, 3, 3, 1],
            "enc_dilations": [1, 2, 3, 4, 1], "enc_attention_channels": 8,
            "enc_res2net_scale": 8, "enc_se_channels": 8,
        }  # fmt: skip
    return config


def _talker(variant: str, hidden_size: int, n_text_ids: int) -> Config:
    is_custom = variant == "custom_voice"
    control = iter(range(_N_CODES + 100, _N_CODES + 1024))
    languages = (*_LANGUAGES, *_DIALECTS) if is_custom else _LANGUAGES
    names = ("pad_id", "bos_id", "eos_token_id", "think_id", "nothink_id", "think_bos_id",
             "think_eos_id")  # fmt: skip
    return {
        "model_type": "qwen3_tts_talker",
        **_transformer(hidden_size, 2 * hidden_size, n_layers=3, n_heads=4, n_kv_heads=2),
        **{f"codec_{name}": next(control) for name in names},
        "codec_language_id": {name: next(control) for name in languages},
        "spk_id": {name: next(control) for name in _SPEAKERS} if is_custom else {},
        "spk_is_dialect": dict(_SPEAKERS) if is_custom else {},
        "num_code_groups": 16,
        "vocab_size": _N_CODES + 1024,
        "text_hidden_size": 16 if n_text_ids > 100_000 else 48,
        "text_vocab_size": -(-n_text_ids // _TEXT_ROWS_STEP) * _TEXT_ROWS_STEP,
        "rms_norm_eps": 1e-6,
        "rope_theta": 1_000_000,
        "rope_scaling": {"interleaved": True, "mrope_section": [4, 2, 2], "rope_type": "default",
                         "type": "default"},
        "max_position_embeddings": 32_768,
        "position_id_per_seconds": 13,
        "code_predictor_config": {
            "model_type": "qwen3_tts_talker_code_predictor",
            **_transformer(32, 64, n_layers=2, n_heads=2, n_kv_heads=1),
            "layer_types": ["full_attention"] * 2,
            "num_code_groups": 16,
            "vocab_size": _N_CODES,
            "rms_norm_eps": 1e-6,
            "rope_theta": 1_000_000,
            "max_position_embeddings": 65_536,
        },
    }  # fmt: skip


def codec_config() -> Config:
    """`speech_tokenizer/config.json`: the published rates, few channels."""
    return {
        "architectures": ["Qwen3TTSTokenizerV2Model"],
        "model_type": "qwen3_tts_tokenizer_12hz",
        "encoder_valid_num_quantizers": 16,
        "input_sample_rate": 24_000,
        "output_sample_rate": 24_000,
        "encode_downsample_rate": 1920,
        "decode_upsample_rate": 1920,
        "encoder_config": {
            **_transformer(32, 64, n_layers=2, n_heads=2, n_kv_heads=2),
            "hidden_act": "gelu", "norm_eps": 1e-5, "rope_theta": 10_000.0, "sliding_window": 250,
            "num_filters": 4, "kernel_size": 7, "residual_kernel_size": 3, "last_kernel_size": 3,
            "compress": 2, "num_residual_layers": 1, "dilation_growth_rate": 2,
            "upsampling_ratios": [8, 6, 5, 4], "upsample_groups": 32, "_frame_rate": 12.5,
            "codebook_size": _N_CODES, "codebook_dim": 8, "num_quantizers": 32,
            "vector_quantization_hidden_dimension": 8, "num_semantic_quantizers": 1,
            "audio_channels": 1, "sampling_rate": 24_000, "pad_mode": "constant",
            "use_causal_conv": True, "use_conv_shortcut": False, "max_position_embeddings": 8000,
        },
        "decoder_config": {
            **_transformer(32, 64, n_layers=2, n_heads=4, n_kv_heads=4),
            "rms_norm_eps": 1e-5, "rope_theta": 10_000, "sliding_window": 72,
            "max_position_embeddings": 8000, "layer_scale_initial_scale": 0.01,
            "latent_dim": 32, "decoder_dim": 64, "codebook_dim": 16, "codebook_size": _N_CODES,
            "num_quantizers": 16, "num_semantic_quantizers": 1,
            "vector_quantization_hidden_dimension": 16, "upsampling_ratios": [2, 2],
            "upsample_rates": [8, 5, 4, 3],
        },
    }  # fmt: skip


def _transformer(
    hidden_size: int, intermediate_size: int, *, n_layers: int, n_heads: int, n_kv_heads: int
) -> Config:
    return {
        "hidden_size": hidden_size,
        "intermediate_size": intermediate_size,
        "num_hidden_layers": n_layers,
        "num_attention_heads": n_heads,
        "num_key_value_heads": n_kv_heads,
        "head_dim": 16,
        "hidden_act": "silu",
        "attention_bias": False,
        "attention_dropout": 0.0,
    }
