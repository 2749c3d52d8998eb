import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from menura.engines.qwen3_tts.config_files import VARIANTS, read_config
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.errors import ModelFilesError

TOP, CODEC = "config.json", "speech_tokenizer/config.json"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("tiny"), Tiny("custom_voice"))


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    (tmp_path / "speech_tokenizer").mkdir()
    for name in (TOP, CODEC, "generation_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    return tmp_path


def _change(folder: Path, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    values = json.loads((folder / name).read_text("utf-8"))
    change(values)
    (folder / name).write_text(json.dumps(values), "utf-8")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("size", ["0b6", "1b7"])
def test_every_variant_is_read(variant: str, size: str, tmp_path: Path) -> None:
    config = read_config(write(tmp_path, Tiny(variant, size)))
    assert (config.variant, config.size) == (variant, size)
    assert (config.speaker_encoder is not None) == (variant == "base")
    assert bool(config.talker.speaker_ids) == (variant == "custom_voice")
    assert config.talker.transformer.hidden_size == {"0b6": 32, "1b7": 64}[size]


def test_rates_and_sizes_come_from_the_files(copy: Path) -> None:
    def double(codec: dict[str, Any]) -> None:
        codec["decoder_config"]["upsample_rates"] = [16, 5, 4, 3]
        codec["decode_upsample_rate"] = 3840
        codec["output_sample_rate"] = 48_000

    _change(copy, CODEC, double)
    config = read_config(copy).codec
    assert config.samples_per_frame == 3840
    assert config.sample_rate_hz == 48_000
    assert config.frame_rate_hz == 12.5
    assert (config.input_rate_hz, config.input_samples_per_frame) == (24_000, 1920)
    assert config.encoder.strides == (4, 5, 6, 8)
    assert config.encoder.downsample == 2


def test_dialects_belong_to_the_speakers_that_have_one(copy: Path) -> None:
    assert dict(read_config(copy).talker.speaker_dialects) == {"eric": "sichuan_dialect"}
    _change(copy, TOP, lambda v: v["talker_config"]["spk_is_dialect"].clear())
    assert dict(read_config(copy).talker.speaker_dialects) == {}


@pytest.mark.parametrize("key", ["spk_id", "spk_is_dialect", "codec_language_id"])
def test_null_stands_for_no_names(key: str, copy: Path) -> None:
    def blank(values: dict[str, Any]) -> None:
        values["talker_config"]["spk_is_dialect"] = {}
        values["talker_config"][key] = None

    _change(copy, TOP, blank)
    talker = read_config(copy).talker
    names = {
        "spk_id": talker.speaker_ids,
        "spk_is_dialect": talker.speaker_dialects,
        "codec_language_id": talker.language_ids,
    }
    assert not names[key]


def test_sampling_values_are_the_files_else_the_usual_ones(copy: Path) -> None:
    _change(copy, "generation_config.json", lambda v: v.update(top_k=7, temperature=None))
    generation = read_config(copy).generation
    assert (generation.top_k, generation.temperature, generation.max_new_tokens) == (7, 0.9, 8192)
    (copy / "generation_config.json").unlink()
    generation = read_config(copy).generation
    assert (generation.top_k, generation.max_new_tokens) == (50, 2048)


@pytest.mark.parametrize(
    ("version", "claims"),
    [("4.57.3", True), ("4.57.2", False), ("4.57.1", False), ("5.0.0rc1", True), (None, True),
     ("4.58.0.dev0", True), ("4.9", False)],
)  # fmt: skip
def test_the_newer_split_is_claimed_by_newer_files(
    version: str | None, claims: bool, copy: Path
) -> None:
    _change(copy, TOP, lambda v: v.update(transformers_version=version))
    assert read_config(copy).claims_case_split is claims


@pytest.mark.parametrize(
    ("name", "path", "value", "message"),
    [
        (TOP, "model_type", "qwen2", "'model_type' is \"qwen2\""),
        (TOP, "tts_model_type", "base_model", "'base' or 'custom_voice' or 'voice_design'"),
        (TOP, "tts_model_size", "", "'0b6' or '1b7'"),
        (TOP, "tokenizer_type", "qwen3_tts_tokenizer_25hz", "Menura runs the 12.5 Hz models"),
        (CODEC, "model_type", "qwen3_tts_tokenizer_25hz", "Menura runs the 12.5 Hz models"),
        (TOP, "im_end_token_id", 10**6, "'im_end_token_id' is 1000000"),
        (TOP, "talker_config.hidden_size", 10**9, "'talker_config.hidden_size' is 1000000000"),
        (TOP, "talker_config.num_hidden_layers", -1, "a whole number from 1 to 128"),
        (TOP, "talker_config.num_key_value_heads", 3, "a divisor of num_attention_heads, 4"),
        (TOP, "talker_config.head_dim", 15, "an even number"),
        (TOP, "talker_config.hidden_act", "gelu", "the only value that Menura can run"),
        (TOP, "talker_config.sliding_window", 4096, "the only value that Menura can run"),
        (TOP, "talker_config.codec_eos_token_id", 1280, "a whole number from 0 to 1279"),
        (TOP, "talker_config.spk_id", {"a": -1}, "names with ids from 0 to 1279"),
        (TOP, "talker_config.spk_is_dialect", {"ryan": "klingon"}, "a name of codec_language_id"),
        (TOP, "talker_config.spk_is_dialect", {"ryan": True}, "a name of codec_language_id"),
        (TOP, "talker_config.code_predictor_config.num_code_groups", 8, "from 16 to 16"),
        (TOP, "talker_config.rope_theta", "1e6", "a number from"),
        (CODEC, "encoder_valid_num_quantizers", 8, "num_code_groups in config.json, 16"),
        (CODEC, "decode_upsample_rate", 960, "what the decoder's rates give, 1920"),
        (CODEC, "output_sample_rate", 48_000, "24000, so that frames last as long as in"),
        (CODEC, "encode_downsample_rate", 1000, "a multiple of the encoder's ratios, 960"),
        (CODEC, "decoder_config.codebook_size", 128, "at least 256"),
        (CODEC, "decoder_config.codebook_dim", 7, "an even number"),
        (CODEC, "encoder_config.num_quantizers", 8, "from 1 to 8"),
        (CODEC, "encoder_config.codebook_dim", 4, "from 8 to 8"),
        (CODEC, "encoder_config.pad_mode", "reflect", "the only value that Menura can run"),
        (CODEC, "decoder_config.upsample_rates", [8] * 65, "a list of 1 to 64"),
        ("generation_config.json", "temperature", -1, "a number from 0.0 to 100.0"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named(
    name: str, path: str, value: object, message: str, copy: Path
) -> None:
    def set_value(values: dict[str, Any]) -> None:
        *sections, key = path.split(".")
        for section in sections:
            values = values[section]
        values[key] = value

    _change(copy, name, set_value)
    with pytest.raises(ModelFilesError, match=message) as raised:
        read_config(copy)
    assert str(copy / name) in raised.value.message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"enc_dim": 32}, "the talker's hidden_size, 64"),
        ({"enc_kernel_sizes": [5, 3]}, r"as long as enc_channels \(5\)"),
        ({"enc_res2net_scale": 5}, "multiples of enc_res2net_scale 5"),
    ],
)
def test_a_speaker_encoder_that_does_not_fit_is_named(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    write(tmp_path, Tiny("base"))
    _change(tmp_path, TOP, lambda v: v["speaker_encoder_config"].update(change))
    with pytest.raises(ModelFilesError, match=message):
        read_config(tmp_path)


def test_a_speaker_encoder_has_the_usual_sizes_where_none_are_given(tmp_path: Path) -> None:
    write(tmp_path, Tiny("base"))
    given = {"enc_dim": 64, "sample_rate": 24_000}
    _change(tmp_path, TOP, lambda v: v.update(speaker_encoder_config=given))
    encoder = read_config(tmp_path).speaker_encoder
    assert encoder is not None
    assert encoder.channels == (512, 512, 512, 512, 1536)
    assert (encoder.n_mels, encoder.res2net_scale, encoder.attention_channels) == (128, 8, 128)


@pytest.mark.parametrize("name", [TOP, CODEC])
def test_a_missing_file_is_named(name: str, copy: Path) -> None:
    (copy / name).unlink()
    with pytest.raises(ModelFilesError, match="cannot be read"):
        read_config(copy)
