import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from menura.engines.echo_tts import tiny
from menura.engines.echo_tts.config import PUBLISHED
from menura.engines.echo_tts.config_files import read_autoencoder, read_config
from menura.errors import ModelFilesError
from tests.unit.engines.echo_tts.published_files import (
    published_tensors,
    write_published,
    write_sparse,
)

DIT, CODEC = "config.json", "fish-s1-dac-min/config.json"
MODEL = "pytorch_model.safetensors"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """The tiny model with configuration files of its own; the weights are links."""
    (tmp_path / "fish-s1-dac-min").mkdir()
    for name in (MODEL, "pca_state.safetensors", f"fish-s1-dac-min/{MODEL}"):
        (tmp_path / name).symlink_to(written / name)
    for name in (DIT, CODEC):
        (tmp_path / name).write_bytes((written / name).read_bytes())
    return tmp_path


def _change(folder: Path, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    values = json.loads((folder / name).read_text("utf-8"))
    change(values)
    (folder / name).write_text(json.dumps(values), "utf-8")


def test_the_sizes_of_the_tiny_model_come_from_its_files(folder: Path) -> None:
    config = read_config(folder, folder / "fish-s1-dac-min")

    dit, codec = config.dit, config.autoencoder
    assert (dit.hidden_size, dit.n_layers, dit.n_heads, dit.head_dim) == (96, 3, 4, 24)
    assert (dit.text.hidden_size, dit.text.intermediate_size, dit.text.head_dim) == (40, 72, 20)
    assert (dit.speaker.hidden_size, dit.speaker.n_layers, dit.speaker.n_heads) == (56, 2, 2)
    assert (dit.latent_size, dit.patch_size, dit.timestep_size, dit.adaln_rank) == (80, 4, 32, 8)
    assert (codec.samples_per_frame, codec.sample_rate_hz, codec.latent_dim) == (2048, 44_100, 64)
    inner = codec.quantizer_transformer
    assert (inner.n_layers, inner.n_heads, inner.head_dim, inner.window) == (2, 2, 32, 16)
    last = codec.encoder_transformer
    assert last is not None
    assert (last.hidden_size, last.intermediate_size, last.n_heads) == (64, 192, 1)
    assert (last.n_layers, last.head_dim, last.window) == (1, 64, 512)


def test_the_published_files_need_no_configuration(tmp_path: Path) -> None:
    folder = write_published(tmp_path)

    assert read_config(folder, folder / "fish-s1-dac-min") == PUBLISHED
    assert PUBLISHED.autoencoder.samples_per_frame == 2048
    assert PUBLISHED.autoencoder.frame_rate_hz == 44_100 / 2048


def test_the_published_autoencoders_own_configuration_is_not_read(tmp_path: Path) -> None:
    folder = write_published(tmp_path)
    (folder / DIT).write_text('{"what": "somebody added this"}', "utf-8")
    (folder / CODEC).write_text('{"sample_rate": 44100, "decoder_dim": 1536}', "utf-8")

    assert read_config(folder, folder / "fish-s1-dac-min") == PUBLISHED


def test_the_rate_of_a_latent_follows_the_strides(folder: Path) -> None:
    def change(values: dict[str, Any]) -> None:
        values["encoder_rates"], values["decoder_rates"] = [2, 4, 8, 4], [8, 4, 4, 2]

    _change(folder, CODEC, change)
    config = read_config(folder, folder / "fish-s1-dac-min").autoencoder
    assert config.samples_per_frame == 1024
    assert config.frame_rate_hz == 44_100 / 1024


def test_an_encoder_without_a_transformer_has_none(folder: Path) -> None:
    _change(folder, CODEC, lambda v: v.update(encoder_transformer_layers=[0, 0, 0, 0]))
    config = read_config(folder, folder / "fish-s1-dac-min").autoencoder
    assert config == replace(config, encoder_transformer=None)


@pytest.mark.parametrize(
    ("file", "key", "value", "allowed"),
    [
        (DIT, "model_size", 98, "an even multiple of num_heads, 4"),
        (DIT, "model_size", None, "a whole number"),
        (DIT, "num_heads", 3, "even number"),
        (DIT, "num_layers", 10**9, "from 1 to 128"),
        (DIT, "norm_eps", "small", "a number"),
        (DIT, "timestep_embed_size", 31, "an even number"),
        (DIT, "text_vocab_size", 255, "from 256"),
        (DIT, "speaker_model_size", 57, "speaker_num_heads"),
        (CODEC, "causal", False, "true, the only value"),
        (CODEC, "sample_rate", 0, "from 1"),
        (CODEC, "decoder_rates", [8, 8, 4, 4], r"those of encoder_rates, \[2, 4, 8, 8\]"),
        (CODEC, "decoder_dim", 40, "every rate can halve"),
        (CODEC, "encoder_dim", 6, "multiple of 64"),
        (CODEC, "encoder_dim", 16_000, "at most 16384"),
        (CODEC, "quantizer_head_dim", 16, "latent_dim / quantizer_heads, 32"),
        (CODEC, "encoder_transformer_layers", [1, 0, 0, 1], "0 for all but the last"),
        (CODEC, "encoder_transformer_layers", [1], "one number for each of encoder_rates"),
        (CODEC, "quantizer_window", 0, "from 1"),
    ],
)
def test_a_value_that_cannot_be_is_named(
    file: str, key: str, value: object, allowed: str, folder: Path
) -> None:
    _change(folder, file, lambda values: values.update({key: value}))
    with pytest.raises(ModelFilesError, match=allowed) as caught:
        read_config(folder, folder / "fish-s1-dac-min")
    assert key in caught.value.message
    assert str(folder / file) in caught.value.message


def test_rates_beyond_reason_are_refused(folder: Path) -> None:
    def change(values: dict[str, Any]) -> None:
        values["encoder_rates"] = values["decoder_rates"] = [64, 64, 64, 64]

    _change(folder, CODEC, change)
    with pytest.raises(ModelFilesError, match="product is at most"):
        read_config(folder, folder / "fish-s1-dac-min")


@pytest.mark.parametrize(
    "lost",
    [
        "encoder.block.0.conv.bias",
        "quantizer.quantizer.quantizers.8.codebook.weight",
        "quantizer.pre_module.layers.7.feed_forward.w1.weight",
    ],
)
def test_the_published_autoencoder_is_known_with_a_tensor_missing(
    lost: str, tmp_path: Path
) -> None:
    folder = write_published(tmp_path) / "fish-s1-dac-min"
    tensors = published_tensors("codec")
    del tensors[lost]
    write_sparse(folder / MODEL, tensors)
    assert read_autoencoder(folder) == PUBLISHED.autoencoder


def test_an_autoencoder_with_fewer_layers_is_not_the_published_one(tmp_path: Path) -> None:
    folder = write_published(tmp_path) / "fish-s1-dac-min"
    tensors = published_tensors("codec")
    fewer = {name: entry for name, entry in tensors.items() if ".pre_module.layers.7." not in name}
    write_sparse(folder / MODEL, fewer)
    with pytest.raises(ModelFilesError, match="is missing"):
        read_autoencoder(folder)
