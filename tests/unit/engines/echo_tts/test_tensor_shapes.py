"""`models verify` knows every tensor of a checkpoint: what loads is good, the rest is named."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from menura import models
from menura.engines.echo_tts import tiny
from menura.engines.echo_tts.tensor_shapes import expected_tensors
from tests.unit.engines.echo_tts.published_files import (
    published_tensors,
    write_published,
    write_sparse,
)

Tensors = dict[str, torch.Tensor]
MODEL, PCA = "pytorch_model.safetensors", "pca_state.safetensors"
CODEC = f"fish-s1-dac-min/{MODEL}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The tiny model, its autoencoder inside."""
    return tiny.write(tmp_path)


def change(folder: Path, file: str, edit: Callable[[Tensors], None]) -> None:
    """The file with its tensors edited."""
    tensors = {name: tensor.clone() for name, tensor in load_file(folder / file).items()}
    edit(tensors)
    save_file(tensors, folder / file)


def problems(folder: Path) -> dict[str, tuple[str, ...]]:
    """What is wrong, by the file's place below the folder."""
    return {
        (file.folder / file.name).relative_to(folder).as_posix(): file.problems
        for file in models.verify(folder).files
        if file.problems
    }


def test_what_loads_is_good(folder: Path) -> None:
    found = models.verify(folder)
    assert found.ok
    files = [(file.folder / file.name).relative_to(folder).as_posix() for file in found.files]
    assert files == [PCA, MODEL, "fish-s1-dac-min/config.json", CODEC]


def test_the_published_files_are_settled_without_reading_them(tmp_path: Path) -> None:
    folder = write_published(tmp_path)
    expected = expected_tensors(folder)
    assert {file: len(shapes) for file, shapes in expected.items()} == {
        MODEL: 1336,
        PCA: 3,
        CODEC: 541,
    }
    assert sum(shape is None for shape in expected[CODEC].values()) == 6
    assert models.verify(folder).ok
    sizes = {(file.folder / file.name): file.n_bytes for file in models.verify(folder).files}
    assert sizes[folder / MODEL] > 5_601_485_472
    assert sizes[folder / CODEC] > 1_870_857_736


def test_the_published_files_without_blockwise_parts_are_good(tmp_path: Path) -> None:
    folder = write_published(tmp_path)
    parts = ("latent_encoder.", "latent_norm.", ".wk_latent.", ".wv_latent.")
    kept = {
        name: entry
        for name, entry in published_tensors("dit").items()
        if not any(part in name for part in parts)
    }
    write_sparse(folder / MODEL, kept)
    assert len(expected_tensors(folder)[MODEL]) == 1117
    assert problems(folder) == {}


def test_the_autoencoders_own_folder_tells_its_own_file(folder: Path) -> None:
    expected = expected_tensors(folder / "fish-s1-dac-min")
    assert {file: len(shapes) for file, shapes in expected.items()} == {MODEL: 406}


def test_missing_strange_and_misshapen_tensors_are_named_in_both_folders(folder: Path) -> None:
    def edit(tensors: Tensors) -> None:
        del tensors["out_norm.weight"]
        tensors["junk"] = torch.zeros(3)
        tensors["in_proj.bias"] = torch.zeros(95)

    def edit_codec(tensors: Tensors) -> None:
        del tensors["quantizer.quantizer.quantizers.8.out_proj.weight_g"]

    change(folder, MODEL, edit)
    change(folder, CODEC, edit_codec)
    assert problems(folder) == {
        MODEL: (
            "tensor out_norm.weight is missing",
            "tensor junk is not expected",
            "tensor in_proj.bias has shape [95], expected [96]",
        ),
        CODEC: ("tensor quantizer.quantizer.quantizers.8.out_proj.weight_g is missing",),
    }


def test_some_of_the_blockwise_parts_are_not_enough(folder: Path) -> None:
    def edit(tensors: Tensors) -> None:
        for name in [name for name in tensors if name.startswith("latent_encoder.")]:
            del tensors[name]

    change(folder, MODEL, edit)
    assert len(problems(folder)[MODEL]) == 26
    assert problems(folder)[MODEL][0].startswith("tensor latent_encoder.blocks.0.")


def test_a_projection_of_other_sizes_is_named(folder: Path) -> None:
    def edit(tensors: Tensors) -> None:
        tensors["pca_components"] = torch.zeros(79, 64)

    change(folder, PCA, edit)
    assert problems(folder) == {
        PCA: ("tensor pca_components has shape [79, 64], expected [80, 64]",)
    }


@pytest.mark.parametrize("file", [MODEL, PCA, CODEC])
def test_a_file_that_was_cut_short_is_told_once(file: str, folder: Path) -> None:
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[:-8])
    found = problems(folder)
    assert list(found) == [file]
    assert "the file may be cut short" in found[file][0]


def test_an_autoencoder_beside_the_model_is_compared_too(tmp_path: Path) -> None:
    tiny.write_pair(tmp_path / "echo-tts-base", tmp_path / "fish-s1-dac-min")
    assert problems(tmp_path) == {}

    def edit(tensors: Tensors) -> None:
        tensors["junk"] = torch.zeros(3)

    change(tmp_path, CODEC, edit)
    assert problems(tmp_path) == {CODEC: ("tensor junk is not expected",)}


def test_a_missing_autoencoder_is_said_by_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "echo"
    tiny.write_pair(folder, tmp_path / "elsewhere")
    found = models.verify(folder)
    assert [(file.name, file.problems) for file in found.files if file.problems] == [
        ("jordand/fish-s1-dac-min", ("all of it is missing",))
    ]
    assert models.show(folder).missing == ("jordand/fish-s1-dac-min",)


def test_a_configuration_that_asks_for_nonsense_is_a_problem(folder: Path) -> None:
    values = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(values | {"num_layers": -1}), "utf-8")
    [said] = problems(folder).values()
    assert "'num_layers' is -1" in said[0]


def test_a_folder_inside_another_counts_once(folder: Path) -> None:
    n_bytes = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    assert models.show(folder).n_bytes == n_bytes


@pytest.mark.parametrize("lost", [MODEL, PCA])
def test_a_missing_file_of_the_model_is_named(lost: str, folder: Path) -> None:
    (folder / lost).unlink()
    assert problems(folder) == {lost: ("the file is missing",)}


def test_an_autoencoder_given_as_the_model_says_what_it_is(folder: Path) -> None:
    [(name, [said])] = problems(folder / "fish-s1-dac-min").items()
    assert name == "tensors"
    assert "holds the autoencoder of Echo-TTS" in said


def test_swapped_files_are_told_once_each(folder: Path) -> None:
    (folder / MODEL).rename(folder / "kept")
    (folder / CODEC).rename(folder / MODEL)
    (folder / "kept").rename(folder / CODEC)
    found = problems(folder)
    assert list(found) == [MODEL, CODEC]
    assert ["here the" in said for file in found.values() for said in file] == [True, True]


def test_every_file_has_one_verdict(folder: Path) -> None:
    def edit(tensors: Tensors) -> None:
        del tensors["out_norm.weight"]

    change(folder, MODEL, edit)
    paths = [file.folder / file.name for file in models.verify(folder).files]
    assert len(paths) == len(set(paths))
