"""A random Qwen3-TTS checkpoint with the shapes of a published Base model, 0.6B or 1.7B.

Speed depends on shapes, not on what the weights say. The files have the published layout, so that
upstream loads them as well. Rows never end by themselves: every run has as many frames as it asks
for.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_cache_path

from menura.engines.qwen3_tts import tiny, tiny_configs
from menura.engines.qwen3_tts.config_files import CODEC_FOLDER

# Names the folder of the checkpoint (2.5 GB; 4.5 GB); without it, it lies in the user's cache.
VARIABLE = "BENCH_MODEL"  # not MENURA_: those are settings

Config = dict[str, object]
_N_CODES = 2048
_N_CONTROL_IDS = 1024
_WIDE = {"hidden_size": 1024, "intermediate_size": 3072, "num_attention_heads": 16,
         "num_key_value_heads": 8, "head_dim": 128}  # fmt: skip
_TALKER = {"0b6": _WIDE, "1b7": {**_WIDE, "hidden_size": 2048, "intermediate_size": 6144}}
_CODEC_ENCODER = {
    "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 8,
    "num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 64, "num_filters": 64,
    "upsample_groups": 512, "codebook_size": _N_CODES, "codebook_dim": 256,
    "vector_quantization_hidden_dimension": 256,
}  # fmt: skip
_CODEC_DECODER = {
    "hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 8,
    "num_attention_heads": 16, "num_key_value_heads": 16, "head_dim": 64, "latent_dim": 1024,
    "decoder_dim": 1536, "codebook_dim": 512, "codebook_size": _N_CODES,
    "vector_quantization_hidden_dimension": 512,
}  # fmt: skip


def folder(size: str = "0b6") -> Path:
    """The folder with the checkpoint, which is written first where it is missing."""
    given = os.environ.get(VARIABLE)
    path = Path(given) if given else user_cache_path("menura") / "bench" / f"qwen3_tts-{size}"
    if not path.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as unfinished:
            _write(Path(unfinished) / path.name, size).rename(path)
    return path


def _write(path: Path, size: str) -> Path:
    """The folder, after the checkpoint's files were written into it."""
    (path / CODEC_FOLDER).mkdir(parents=True)
    special_ids = tiny.write_tokenizer(path, many_entries=False)
    files: Mapping[str, Mapping[str, object]] = {
        "config.json": _model_config(special_ids, size),
        "generation_config.json": tiny_configs.GENERATION,
        "preprocessor_config.json": tiny_configs.PREPROCESSOR,
        f"{CODEC_FOLDER}/config.json": _codec_config(),
        f"{CODEC_FOLDER}/configuration.json": tiny_configs.CODEC_FRAMEWORK,
        f"{CODEC_FOLDER}/preprocessor_config.json": tiny_configs.CODEC_PREPROCESSOR,
    }
    for name, values in files.items():
        (path / name).write_text(json.dumps(values, indent=1), "utf-8")
    tiny.write_weights(path, tiny.Tiny("base", size, endless=True))
    return path


def _model_config(special_ids: Mapping[str, int], size: str) -> Config:
    config = tiny_configs.model_config("base", size, special_ids)
    talker = _section(config, "talker_config")
    predictor = _section(talker, "code_predictor_config")
    control = iter(range(_N_CODES, _N_CODES + _N_CONTROL_IDS))
    names = [name for name in talker if name.startswith("codec_") and name.endswith("_id")]
    ids: Config = {name: next(control) for name in names if name != "codec_language_id"}
    ids["codec_language_id"] = {
        name: next(control) for name in _section(talker, "codec_language_id")
    }
    predictor |= {**_WIDE, "num_hidden_layers": 5, "layer_types": ["full_attention"] * 5,
                  "vocab_size": _N_CODES}  # fmt: skip
    talker |= {
        **_TALKER[size], **ids, "num_hidden_layers": 28, "vocab_size": _N_CODES + _N_CONTROL_IDS,
        "text_hidden_size": 2048, "text_vocab_size": 151_936,
        "rope_scaling": {"interleaved": True, "mrope_section": [24, 20, 20],
                         "rope_type": "default", "type": "default"},
        "code_predictor_config": predictor,
    }  # fmt: skip
    return {
        **config,
        "talker_config": talker,
        "speaker_encoder_config": {
            "enc_dim": _TALKER[size]["hidden_size"],
            "sample_rate": 24_000,
        },
    }


def _codec_config() -> Config:
    config = tiny_configs.codec_config()
    return {
        **config,
        "encoder_config": {**_section(config, "encoder_config"), **_CODEC_ENCODER},
        "decoder_config": {**_section(config, "decoder_config"), **_CODEC_DECODER},
    }


def _section(config: Config, name: str) -> Config:
    section = config[name]
    assert isinstance(section, dict)
    return section


if __name__ == "__main__":
    sys.stdout.write(f"{folder(*sys.argv[1:2])}\n")
