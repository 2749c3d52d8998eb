from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from menura.engines.qwen3_tts import weights
from menura.engines.qwen3_tts.config_files import read_config
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.errors import ModelFilesError
from menura.runtime.tensor_names import tensor_names
from tests.unit.engines.qwen3_tts.published_configs import write_configs

CPU = torch.device("cpu")
MODEL, CODEC = "model.safetensors", "speech_tokenizer/model.safetensors"


def _n_numbers(*parts: nn.Module | None) -> int:
    return sum(p.numel() for part in parts if part is not None for p in part.parameters())


@pytest.mark.parametrize(
    ("variant", "size", "n_tensors", "n_numbers"),
    [
        ("base", "0b6", 478, 914_643_008),
        ("base", "1b7", 480, 1_928_677_440),
        ("custom_voice", "0b6", 402, 905_788_672),
        ("custom_voice", "1b7", 404, 1_916_676_352),
        ("voice_design", "1b7", 404, 1_916_676_352),
    ],
)
def test_the_published_models_have_the_tensors_that_the_tables_name(
    variant: str, size: str, n_tensors: int, n_numbers: int, tmp_path: Path
) -> None:
    config = read_config(write_configs(tmp_path / "m", variant, size))
    parts = weights.build(config)
    model, _ = weights.modules(parts)
    names = tensor_names(model, weights.model_table(config))
    assert len(names) == len(set(names.values())) == n_tensors
    assert _n_numbers(*model.values()) == n_numbers


def test_the_published_codec_has_the_tensors_that_the_tables_name(tmp_path: Path) -> None:
    config = read_config(write_configs(tmp_path / "m", "base", "0b6"))
    _, codec = weights.modules(weights.build(config))
    names = tensor_names(codec, weights.codec_table(config))
    encoder = config.codec.encoder
    unused = weights.unused_codec_tensors(encoder, config.codec.n_codebooks)
    published = set(names.values()) | unused
    assert len(published) == len(names) + len(unused) == 496
    assert sum(name.startswith("encoder.") for name in published) == 225
    sizes = {
        "initialized": 1,
        "cluster_usage": encoder.codebook_size,
        "embed_sum": encoder.codebook_size * encoder.quantizer_size,
    }
    n_unused = sum(sizes[name.rpartition(".")[2]] for name in unused)
    assert _n_numbers(*codec.values()) + n_unused == 170_557_441


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("talker.transformer.blocks.27.attention.query_norm.weight",
         "talker.model.layers.27.self_attn.q_norm.weight"),
        ("talker.text_projection.outer.bias", "talker.text_projection.linear_fc2.bias"),
        ("talker.transformer.final_norm.weight", "talker.model.norm.weight"),
        ("code_predictor.heads.14.weight", "talker.code_predictor.lm_head.14.weight"),
        ("code_predictor.projection.bias",
         "talker.code_predictor.small_to_mtp_projection.bias"),
        ("speaker_encoder.blocks.2.res2net.groups.6.conv.weight",
         "speaker_encoder.blocks.3.res2net_block.blocks.6.conv.weight"),
        ("speaker_encoder.pool.score.bias", "speaker_encoder.asp.conv.bias"),
    ],
)  # fmt: skip
def test_model_tensors_have_their_published_names(ours: str, theirs: str, tmp_path: Path) -> None:
    config = read_config(write_configs(tmp_path / "m", "base", "1b7"))
    model, _ = weights.modules(weights.build(config))
    assert tensor_names(model, weights.model_table(config))[ours] == theirs


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("encoder.output_conv.conv.bias", "encoder.encoder.layers.14.conv.bias"),
        ("encoder.blocks.3.down.conv.weight", "encoder.encoder.layers.12.conv.weight"),
        ("encoder.blocks.0.unit.widen.conv.bias", "encoder.encoder.layers.1.block.3.conv.bias"),
        ("encoder.transformer.blocks.7.feed_forward.up.weight",
         "encoder.encoder_transformer.layers.7.mlp.fc1.weight"),
        ("encoder.quantizer.acoustic.codebooks.14.embedding_sum",
         "encoder.quantizer.acoustic_residual_vector_quantizer.layers.14.codebook.embed_sum"),
        ("decoder.quantizer.acoustic.codebooks.14.embedding_sum",
         "decoder.quantizer.rvq_rest.vq.layers.14._codebook.embedding_sum"),
        ("decoder.transformer.blocks.blocks.7.attention_scale.weight",
         "decoder.pre_transformer.layers.7.self_attn_layer_scale.scale"),
        ("decoder.latent_upsampling.1.mix.gamma", "decoder.upsample.1.1.gamma"),
        ("decoder.blocks.3.units.2.pointwise_act.beta", "decoder.decoder.4.block.4.act2.beta"),
        ("decoder.output_act.alpha", "decoder.decoder.5.alpha"),
        ("decoder.output_conv.conv.weight", "decoder.decoder.6.conv.weight"),
    ],
)  # fmt: skip
def test_codec_tensors_have_their_published_names(ours: str, theirs: str, tmp_path: Path) -> None:
    config = read_config(write_configs(tmp_path / "m", "base", "1b7"))
    _, codec = weights.modules(weights.build(config))
    assert tensor_names(codec, weights.codec_table(config))[ours] == theirs


def test_published_half_precision_is_widened_exactly(tmp_path: Path) -> None:
    folder = write(tmp_path, Tiny("base", "0b6"))
    parts = weights.load(folder, read_config(folder), CPU, torch.float32)
    stored = load_file(folder / MODEL)["talker.codec_head.weight"]
    assert stored.dtype == torch.bfloat16
    assert parts.talker.codec_head.weight.dtype == torch.float32
    assert torch.equal(parts.talker.codec_head.weight, stored.float())
    assert isinstance(parts.code_predictor.projection, nn.Identity)  # both widths are 32


def test_the_codec_may_have_its_own_precision(tmp_path: Path) -> None:
    folder = write(tmp_path, Tiny("voice_design"))
    parts = weights.load(folder, read_config(folder), CPU, torch.bfloat16, torch.float32)
    assert parts.speaker_encoder is None
    assert {p.dtype for p in parts.talker.parameters()} == {torch.bfloat16}
    assert {p.dtype for p in parts.codec_decoder.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (MODEL, "talker.code_predictor.lm_head.3.weight"),
        (MODEL, "speaker_encoder.fc.bias"),
        (CODEC, "decoder.upsample.0.1.gamma"),
        (CODEC, "encoder.quantizer.semantic_residual_vector_quantizer.input_proj.weight"),
    ],
)
def test_a_missing_tensor_is_named(file: str, name: str, tmp_path: Path) -> None:
    folder = write(tmp_path, Tiny("base"))
    tensors = load_file(folder / file)
    del tensors[name]
    save_file(tensors, folder / file)
    with pytest.raises(ModelFilesError, match=f"tensor '{name}' is missing"):
        weights.load(folder, read_config(folder), CPU, torch.float32)


def test_weights_of_another_variant_are_refused(tmp_path: Path) -> None:
    folder = write(tmp_path / "custom", Tiny("custom_voice"))
    other = write(tmp_path / "base", Tiny("base"))
    (folder / MODEL).write_bytes((other / MODEL).read_bytes())
    with pytest.raises(
        ModelFilesError, match=r"76 tensors \('speaker_encoder\..* belong to no part"
    ):
        weights.load(folder, read_config(folder), CPU, torch.float32)


def test_codebooks_that_are_not_kept_may_be_left_out(tmp_path: Path) -> None:
    folder = write(tmp_path, Tiny("base"))
    config = read_config(folder)
    unused = weights.unused_codec_tensors(config.codec.encoder, config.codec.n_codebooks)
    kept = {n: t for n, t in load_file(folder / CODEC).items() if n not in unused}
    save_file(kept, folder / CODEC)
    parts = weights.load(folder, config, CPU, torch.float32)
    assert not any(p.is_meta for p in parts.codec_encoder.parameters())
