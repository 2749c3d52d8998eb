"""Weights are compared with what an engine expects, whole or in shards, without reading them."""

import json
import re
from pathlib import Path

import pytest

from menura.errors import ModelFilesError
from menura.store.tensors import compare_tensors, header_problem, index_problem
from tests.unit.store.fake_hub import safetensors

INDEX = "model.safetensors.index.json"


def write_shards(folder: Path, shard_of: dict[str, str]) -> Path:
    (folder / "one.safetensors").write_bytes(safetensors(2, ("a", "b")))
    (folder / "two.safetensors").write_bytes(safetensors(3, ("c",)))
    (folder / INDEX).write_text(json.dumps({"weight_map": shard_of}))
    return folder / INDEX


RIGHT = {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"}


def test_every_kind_of_difference_is_listed(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(safetensors(4, ("a", "b", "c")))
    found = compare_tensors(tmp_path, "model.safetensors", {"a": (4,), "b": (2, 2), "d": (1,)})
    assert (found.missing, found.unexpected) == (("d",), ("c",))
    assert found.wrong_shape == ("tensor b has shape [4], expected [2, 2]",)
    assert len(found.problems) == 3


def test_a_tensor_without_an_expected_shape_may_be_there_or_not(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(safetensors(4, ("a", "b")))
    expected = {"a": (4,), "b": None, "c": None}
    assert compare_tensors(tmp_path, "model.safetensors", expected).problems == ()


def test_an_index_decides_over_a_file_beside_it(tmp_path: Path) -> None:
    write_shards(tmp_path, RIGHT)
    (tmp_path / "model.safetensors").write_bytes(safetensors(4, ("z",)))
    expected = {"a": (2,), "b": (2,), "c": (3,)}
    assert compare_tensors(tmp_path, "model.safetensors", expected).problems == ()


def test_shards_count_as_one_file(tmp_path: Path) -> None:
    assert index_problem(write_shards(tmp_path, RIGHT)) == ""
    expected = {"a": (2,), "b": (2,), "c": (3,)}
    assert compare_tensors(tmp_path, "model.safetensors", expected).problems == ()


def test_weights_that_are_not_there_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelFilesError, match="cannot be read"):
        compare_tensors(tmp_path, "model.safetensors", {})


@pytest.mark.parametrize(
    ("shard_of", "problem"),
    [
        ({**RIGHT, "c": "one.safetensors"}, "tensor 'c' is in no shard"),
        ({**RIGHT, "b": "two.safetensors"}, "tensor 'b' is in one.*, and should be in two"),
        ({**RIGHT, "d": "two.safetensors"}, "tensor 'd' is in no shard"),
        ({"a": "one.safetensors", "c": "two.safetensors"}, "'b' is in one.*should be in nowhere"),
        ({**RIGHT, "d": "three.safetensors"}, "three.safetensors cannot be read"),
        ({**RIGHT, "d": "../three.safetensors"}, "no shard beside it"),
    ],
)
def test_an_index_must_agree_with_its_shards(
    tmp_path: Path, shard_of: dict[str, str], problem: str
) -> None:
    assert re.search(problem, index_problem(write_shards(tmp_path, shard_of)))


def test_a_tensor_in_two_shards_is_a_problem(tmp_path: Path) -> None:
    index = write_shards(tmp_path, RIGHT)
    (tmp_path / "two.safetensors").write_bytes(safetensors(3, ("c", "a")))
    assert "'a' is in two.safetensors, and should be in one" in index_problem(index)


def test_a_sound_header_has_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(safetensors())
    assert header_problem(path) == ""
    path.write_bytes(safetensors()[:-1])
    assert "may be cut short" in header_problem(path)
