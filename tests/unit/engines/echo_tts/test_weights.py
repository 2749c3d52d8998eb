from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from menura.engines.echo_tts import codec_tables, tiny, weights
from menura.engines.echo_tts.config import PUBLISHED, EchoConfig
from menura.engines.echo_tts.config_files import read_config
from menura.errors import ModelFilesError
from menura.runtime.checkpoint_tensors import without_memory
from menura.runtime.tensor_names import WeightNorm
from tests.unit.engines.echo_tts.published_files import published_tensors

CPU = torch.device("cpu")
MODEL, PCA = "pytorch_model.safetensors", "pca_state.safetensors"
CODEC = f"fish-s1-dac-min/{MODEL}"
BLOCKWISE = ("latent_encoder.", "latent_norm.", ".wk_latent.", ".wv_latent.")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def config(written: Path) -> EchoConfig:
    return read_config(written, written / "fish-s1-dac-min")


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """The tiny model as links, so that a test can put another file in a place."""
    (tmp_path / "fish-s1-dac-min").mkdir()
    for name in (MODEL, PCA, CODEC):
        (tmp_path / name).symlink_to(written / name)
    return tmp_path


def _load(folder: Path, config: EchoConfig, dtype: torch.dtype = torch.float32) -> weights.Parts:
    return weights.load(folder, folder / "fish-s1-dac-min", config, CPU, dtype)


def _change(
    folder: Path, file: str, change: Callable[[dict[str, Tensor]], dict[str, Tensor]]
) -> None:
    tensors = load_file(folder / file)
    (folder / file).unlink()
    save_file(change(tensors), folder / file)


def _shapes(file: str) -> dict[str, tuple[int, ...]]:
    return {name: shape for name, (_, shape) in published_tensors(file).items()}


def test_the_transformer_has_the_published_tensors() -> None:
    shapes = weights.dit_stored(PUBLISHED.dit).shapes
    blockwise = weights.blockwise_stored(PUBLISHED.dit).shapes

    assert (len(shapes), len(blockwise), len(shapes | blockwise)) == (1117, 219, 1336)
    assert shapes | blockwise == _shapes("dit")
    assert blockwise.keys() == {
        name for name in _shapes("dit") if any(b in name for b in BLOCKWISE)
    }


def test_the_autoencoder_has_the_published_tensors() -> None:
    published = _shapes("codec")
    buffers = codec_tables.buffers(PUBLISHED.autoencoder)
    stored = weights.codec_stored(PUBLISHED.autoencoder, published)

    assert stored.shapes == {n: s for n, s in published.items() if n not in buffers}
    assert (len(buffers), len(published)) == (6, 541)
    pairs = [source for source in stored.names.values() if isinstance(source, WeightNorm)]
    older = [pair for pair in pairs if pair.gain.endswith(".weight_g")]
    assert (len(pairs), len(older)) == (80, 20)


def test_the_projection_has_the_published_tensors() -> None:
    sizes = PUBLISHED.dit.latent_size, PUBLISHED.autoencoder.latent_dim
    assert weights.pca_shapes(*sizes) == _shapes("pca")


def _n_numbers(*parts: nn.Module) -> int:
    return sum(p.numel() for part in parts for p in part.parameters())


def test_the_published_model_has_its_number_of_parameters() -> None:
    dit = weights.dit_stored(PUBLISHED.dit).parts["dit"]
    blockwise = weights.blockwise_stored(PUBLISHED.dit).parts["blockwise"]
    assert _n_numbers(dit) == 2_380_828_496
    assert _n_numbers(dit, blockwise) == 2_800_742_736


def test_every_parameter_gets_the_numbers_of_its_published_name(
    written: Path, config: EchoConfig
) -> None:
    parts = _load(written, config)
    dit, codec = load_file(written / MODEL), load_file(written / CODEC)
    pca = load_file(written / PCA)
    loaded = dict(parts.dit.named_parameters())
    for ours, theirs in weights.dit_stored(config.dit).names.items():
        assert isinstance(theirs, str)
        assert torch.equal(loaded[ours.removeprefix("dit.")], dit[theirs].float()), ours
    fused = "quantizer.pre_module.layers.1.attention.wqkv.weight"
    attention = parts.quantizer.get_submodule("pre.stack.blocks.1.attention")
    rows = (attention.get_parameter(f"{name}.weight") for name in ("query", "key", "value"))
    assert torch.equal(torch.cat(tuple(rows)), codec[fused])
    first = torch._weight_norm(
        codec["encoder.block.0.conv.parametrizations.weight.original1"],
        codec["encoder.block.0.conv.parametrizations.weight.original0"],
        0,
    )
    assert torch.equal(parts.encoder.get_parameter("input_conv.conv.weight"), first)
    assert torch.equal(parts.projection.components, pca["pca_components"])
    assert torch.equal(parts.projection.mean, pca["pca_mean"])


def test_the_transformer_may_be_in_half_precision_and_stays_mapped(
    written: Path, config: EchoConfig
) -> None:
    parts = _load(written, config, torch.bfloat16)
    assert {p.dtype for p in parts.dit.parameters()} == {torch.bfloat16}
    assert {p.dtype for p in parts.quantizer.parameters()} == {torch.float32}
    assert parts.projection.components.dtype == torch.float32


def _to_newer(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {
        name.replace("weight_g", "parametrizations.weight.original0").replace(
            "weight_v", "parametrizations.weight.original1"
        ): tensor
        for name, tensor in tensors.items()
    }


def test_both_forms_of_weight_norm_give_the_same_weights(
    folder: Path, written: Path, config: EchoConfig
) -> None:
    _change(folder, CODEC, _to_newer)
    newer, mixed = _load(folder, config), _load(written, config)
    assert sum("original0" in name for name in load_file(folder / CODEC)) == 80
    for ours, theirs in ((newer.quantizer, mixed.quantizer), (newer.decoder, mixed.decoder)):
        for (name, a), (_, b) in zip(
            ours.named_parameters(), theirs.named_parameters(), strict=True
        ):
            assert torch.equal(a, b), name


def test_the_stored_tables_are_not_needed(folder: Path, config: EchoConfig) -> None:
    _change(
        folder,
        CODEC,
        lambda t: {n: v for n, v in t.items() if not n.endswith(codec_tables.BUFFERS)},
    )
    _load(folder, config)


def test_the_blockwise_parts_come_when_they_are_asked_for(
    written: Path, config: EchoConfig
) -> None:
    parts = _load(written, config)
    assert parts.has_blockwise
    before = parts.dit.blockwise
    parts.load_blockwise()
    blockwise = parts.dit.blockwise
    assert before is None
    assert blockwise is not None
    stored = load_file(written / MODEL)
    latent_norm = blockwise.get_parameter("encoder.stack.final_norm.weight")
    assert torch.equal(latent_norm, stored["latent_norm.weight"].float())
    last = blockwise.get_parameter("projections.2.value.weight")
    assert torch.equal(last, stored["blocks.2.attention.wv_latent.weight"].float())
    parts.load_blockwise()
    assert parts.dit.blockwise is blockwise


def test_a_file_without_blockwise_parts_loads_and_says_so(folder: Path, config: EchoConfig) -> None:
    _change(
        folder, MODEL, lambda t: {n: v for n, v in t.items() if not any(b in n for b in BLOCKWISE)}
    )
    assert not _load(folder, config).has_blockwise


def test_a_file_with_some_blockwise_parts_is_refused(folder: Path, config: EchoConfig) -> None:
    _change(folder, MODEL, lambda t: {n: v for n, v in t.items() if "latent_encoder" not in n})
    with pytest.raises(ModelFilesError, match=r"26 tensors \('latent_encoder\.blocks\.0\."):
        _load(folder, config)


def _without(name: str) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    return lambda tensors: {n: t for n, t in tensors.items() if n != name}


def _with(changes: Mapping[str, Tensor]) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    return lambda tensors: tensors | dict(changes)


NAN = float("nan")


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (MODEL, _without("out_norm.weight"), "tensor 'out_norm.weight' is missing"),
        (MODEL, _with({"new": torch.ones(1)}), "tensor 'new' belongs to no part"),
        (
            MODEL,
            _with({"in_proj.bias": torch.ones(95)}),
            r"'in_proj.bias' has the shape \[95\].* asks for \[96\]",
        ),
        (MODEL, _with({"in_proj.bias": torch.ones(96).int()}), "'in_proj.bias' has the dtype I32"),
        (MODEL, _with({"in_proj.bias": torch.full((96,), NAN)}), "'in_proj.bias' holds NaN"),
        (MODEL, _with({"latent_norm.weight": torch.ones(3)}), "'latent_norm.weight' has the"),
        (PCA, _without("latent_scale"), "tensor 'latent_scale' is missing"),
        (PCA, _with({"pca_mean": torch.ones(65)}), r"'pca_mean' has the shape \[65\]"),
        (PCA, _with({"pca_components": torch.full((80, 64), NAN)}), "'pca_components' holds NaN"),
        (PCA, _with({"latent_scale": torch.zeros(1)}), "'latent_scale' is 0"),
        (
            CODEC,
            _without("quantizer.quantizer.quantizers.3.in_proj.weight_v"),
            "tensor 'quantizer.quantizer.quantizers.3.in_proj.weight_v' is missing",
        ),
        (
            CODEC,
            _without("decoder.model.0.conv.parametrizations.weight.original0"),
            "tensor 'decoder.model.0.conv.parametrizations.weight.original0' is missing",
        ),
        (
            CODEC,
            _with({"decoder.model.0.conv.weight": torch.ones(1)}),
            "tensor 'decoder.model.0.conv.weight' belongs to no part",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(
    file: str,
    change: Callable[[dict[str, Tensor]], dict[str, Tensor]],
    message: str,
    folder: Path,
    config: EchoConfig,
) -> None:
    _change(folder, file, change)
    with pytest.raises(ModelFilesError, match=message) as caught:
        _load(folder, config)
    assert str(folder / file) in caught.value.message


@pytest.mark.parametrize("file", [MODEL, PCA, CODEC])
def test_a_file_that_was_cut_short_is_refused(
    file: str, folder: Path, written: Path, config: EchoConfig
) -> None:
    (folder / file).unlink()
    (folder / file).write_bytes((written / file).read_bytes()[:-4])
    with pytest.raises(ModelFilesError, match="the file may be cut short"):
        _load(folder, config)


def test_the_tables_name_every_parameter_and_nothing_else(config: EchoConfig) -> None:
    with without_memory():
        stored = weights.codec_stored(config.autoencoder, ())
    assert stored.names.keys() == {
        f"{part}.{name}" for part, m in stored.parts.items() for name, _ in m.named_parameters()
    }


def test_the_fingerprint_names_the_codebooks_and_not_the_file(folder: Path, written: Path) -> None:
    recorded = weights.autoencoder_fingerprint(written / "fish-s1-dac-min")
    assert recorded == "896acb7a2972702c"
    _change(folder, CODEC, _to_newer)
    codec = folder / "fish-s1-dac-min"
    assert weights.autoencoder_fingerprint(codec) == recorded
    name = "quantizer.semantic_quantizer.quantizers.0.codebook.weight"
    _change(folder, CODEC, _with({name: torch.ones(64, 8)}))
    assert weights.autoencoder_fingerprint(codec) != recorded


def test_a_file_that_changed_is_not_read_for_blocks(folder: Path, config: EchoConfig) -> None:
    _change(folder, MODEL, dict)
    parts = _load(folder, config)
    other = {name: torch.zeros_like(tensor) for name, tensor in load_file(folder / MODEL).items()}
    save_file(other, folder / "new.safetensors")
    (folder / "new.safetensors").replace(folder / MODEL)
    with pytest.raises(ModelFilesError, match="has changed since the model was loaded"):
        parts.load_blockwise()
    (folder / MODEL).unlink()
    with pytest.raises(ModelFilesError, match="has changed since the model was loaded"):
        parts.load_blockwise()


def test_sizes_that_no_file_says_are_told_as_assumed(folder: Path) -> None:
    with pytest.raises(ModelFilesError, match="so the published sizes were assumed") as caught:
        _load(folder, PUBLISHED)
    assert str(folder) in caught.value.message


def test_a_model_without_its_projection_says_so(folder: Path, config: EchoConfig) -> None:
    (folder / PCA).unlink()
    with pytest.raises(ModelFilesError, match=f"^{PCA} is missing in {folder}"):
        _load(folder, config)


@pytest.mark.parametrize("file", [MODEL, PCA, CODEC])
def test_a_file_without_tensors_is_named(file: str, folder: Path, config: EchoConfig) -> None:
    _change(folder, file, lambda _: {})
    with pytest.raises(ModelFilesError, match="holds no tensor") as caught:
        _load(folder, config)
    assert str(folder / file) in caught.value.message
