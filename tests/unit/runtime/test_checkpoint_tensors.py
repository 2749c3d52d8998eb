import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from menura.errors import ModelFilesError
from menura.runtime import checkpoint_tensors
from menura.runtime.checkpoint_tensors import fill, find_tensors, without_memory

CPU = torch.device("cpu")
NAMES = {"a.weight": "model.w", "a.bias": "model.b"}


def _part() -> nn.Linear:
    with without_memory():
        return nn.Linear(3, 5)


def _tensors(dtype: torch.dtype = torch.float32) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return {
        "model.w": torch.randn(5, 3, generator=generator).to(dtype),
        "model.b": torch.randn(5, generator=generator).to(dtype),
    }


def _load(folder: Path, part: nn.Module, dtype: torch.dtype = torch.float32) -> None:
    fill({"a": part}, NAMES, find_tensors(folder), ("model.spare",), CPU, dtype)


def test_a_module_without_memory_draws_nothing() -> None:
    state = torch.get_rng_state()
    part = _part()
    assert part.weight.is_meta
    assert torch.equal(torch.get_rng_state(), state)


def test_parameters_get_their_tensors_bit_for_bit(tmp_path: Path) -> None:
    tensors = _tensors()
    save_file(tensors, tmp_path / "model.safetensors")
    part = _part()
    _load(tmp_path, part)
    assert torch.equal(part.weight, tensors["model.w"])
    assert torch.equal(part.bias, tensors["model.b"])
    assert not part.training
    assert not part.weight.requires_grad


def test_a_tensor_of_the_wanted_dtype_stays_in_its_mapped_file(tmp_path: Path) -> None:
    save_file(_tensors(), tmp_path / "model.safetensors")
    entry = find_tensors(tmp_path)["model.w"]
    part = _part()
    _load(tmp_path, part)
    in_page = (entry.data_start + entry.entry.start) % 4096
    assert part.weight.data_ptr() % 4096 == in_page


@pytest.mark.parametrize("block_bytes", [4, 10, 16 * 2**20])
def test_another_dtype_is_converted_whatever_the_blocks(
    block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint_tensors, "_BLOCK_BYTES", block_bytes)
    tensors = _tensors(torch.bfloat16)
    save_file(tensors, tmp_path / "model.safetensors")
    part = _part()
    _load(tmp_path, part)
    assert part.weight.dtype == torch.float32
    assert torch.equal(part.weight, tensors["model.w"].float())
    assert torch.equal(part.bias, tensors["model.b"].float())


def test_weights_can_be_loaded_in_half_precision(tmp_path: Path) -> None:
    tensors = _tensors()
    save_file(tensors, tmp_path / "model.safetensors")
    part = _part()
    _load(tmp_path, part, torch.float16)
    assert torch.equal(part.weight, tensors["model.w"].half())


def _save_shards(folder: Path, shard_of: Mapping[str, str]) -> None:
    tensors = _tensors()
    save_file({"model.w": tensors["model.w"]}, folder / "one.safetensors")
    save_file({"model.b": tensors["model.b"]}, folder / "two.safetensors")
    index = folder / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": dict(shard_of)}), "utf-8")


def test_shards_are_joined(tmp_path: Path) -> None:
    _save_shards(tmp_path, {"model.w": "one.safetensors", "model.b": "two.safetensors"})
    part = _part()
    _load(tmp_path, part)
    assert torch.equal(part.bias, _tensors()["model.b"])


@pytest.mark.parametrize(
    ("shard_of", "message"),
    [
        ({"model.w": "one.safetensors", "model.b": "one.safetensors"}, "'model.b' is not in one"),
        ({"model.b": "two.safetensors", "model.w": "two.safetensors"}, "'model.w' is not in two"),
    ],
)
def test_an_index_that_lies_is_refused(
    shard_of: Mapping[str, str], message: str, tmp_path: Path
) -> None:
    _save_shards(tmp_path, shard_of)
    with pytest.raises(ModelFilesError, match=message):
        find_tensors(tmp_path)


def test_a_shard_with_a_tensor_that_the_index_does_not_know_is_refused(tmp_path: Path) -> None:
    _save_shards(tmp_path, {"model.w": "one.safetensors", "x": "two.safetensors"})
    with pytest.raises(ModelFilesError, match=r"tensor 'model\.b' is not this file's"):
        find_tensors(tmp_path)


def _changed(**changes: Tensor | None) -> dict[str, Tensor]:
    tensors = _tensors() | {
        f"model.{name}": value for name, value in changes.items() if value is not None
    }
    return {
        n: t for n, t in tensors.items() if changes.get(n.removeprefix("model."), t) is not None
    }


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        (_changed(w=None), "tensor 'model.w' is missing"),
        (_changed(extra=torch.ones(1)), "tensor 'model.extra' belongs to no part"),
        (_changed(w=torch.ones(3, 5)), r"'model.w' has the shape \[3, 5\].* asks for \[5, 3\]"),
        (_changed(b=torch.ones(5, dtype=torch.int32)), "'model.b' has the dtype I32"),
        (_changed(b=torch.tensor([0, 0, float("nan"), 0, 0])), "'model.b' holds NaN or infinity"),
        (_changed(b=torch.full((5,), float("inf")).half()), "'model.b' holds NaN or infinity"),
    ],
)
def test_a_tensor_that_does_not_fit_is_named(
    tensors: dict[str, Tensor], message: str, tmp_path: Path
) -> None:
    save_file(tensors, tmp_path / "model.safetensors")
    with pytest.raises(ModelFilesError, match=message):
        _load(tmp_path, _part())


def test_a_tensor_that_is_known_to_be_unused_may_be_there(tmp_path: Path) -> None:
    save_file(_changed(spare=torch.ones(2)), tmp_path / "model.safetensors")
    _load(tmp_path, _part())


def test_huge_numbers_are_numbers(tmp_path: Path) -> None:
    save_file(_changed(b=torch.full((5,), 3e38)), tmp_path / "model.safetensors")
    part = _part()
    _load(tmp_path, part)
    assert part.bias[0] == torch.tensor(3e38)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of the process from /proc")
def test_converting_needs_little_more_memory_than_the_weights(tmp_path: Path) -> None:
    n_rows = 12 * 2**20
    halves = {
        "model.w": torch.zeros(n_rows, 3, dtype=torch.bfloat16),
        "model.b": torch.zeros(n_rows, dtype=torch.bfloat16),
    }
    save_file(halves, tmp_path / "model.safetensors")
    del halves
    with without_memory():
        part = nn.Linear(3, n_rows)
    status = Path("/proc/self/status")
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak starts from here

    def kilobytes(key: str) -> int:
        line = next(line for line in status.read_text().splitlines() if line.startswith(key))
        return int(line.split()[1])

    before = kilobytes("VmRSS")
    _load(tmp_path, part)
    weights_kilobytes = 4 * n_rows * 4 // 1024
    assert kilobytes("VmHWM") - before < 1.15 * weights_kilobytes


def test_without_a_dtype_every_tensor_keeps_its_own(tmp_path: Path) -> None:
    tensors = _tensors()
    tensors["model.b"] = tensors["model.b"].bfloat16()
    save_file(tensors, tmp_path / "model.safetensors")
    part = _part()
    checkpoint_tensors.load({"a": part}, NAMES, find_tensors(tmp_path), CPU, None)
    assert torch.equal(part.weight, tensors["model.w"])
    assert (part.weight.dtype, part.bias.dtype) == (torch.float32, torch.bfloat16)


def test_numbers_are_looked_at_unless_told_otherwise(tmp_path: Path) -> None:
    tensors = _tensors()
    tensors["model.w"][4, 2] = torch.nan
    save_file(tensors, tmp_path / "model.safetensors")
    found = find_tensors(tmp_path)
    checkpoint_tensors.load({"a": _part()}, NAMES, found, CPU, None, check_numbers=False)
    with pytest.raises(ModelFilesError, match=r"'model\.w' holds NaN"):
        checkpoint_tensors.load({"a": _part()}, NAMES, found, CPU, None)
    with pytest.raises(ModelFilesError, match=r"'model\.w' holds NaN"):
        checkpoint_tensors.check_numbers("model.w", found["model.w"])
    checkpoint_tensors.check_numbers("model.b", found["model.b"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_tensor_is_read_in_float32(dtype: torch.dtype, tmp_path: Path) -> None:
    tensors = _tensors(dtype)
    save_file(tensors, tmp_path / "model.safetensors")
    found = checkpoint_tensors.read("model.w", find_tensors(tmp_path))
    assert torch.equal(found, tensors["model.w"].float())


@pytest.mark.parametrize("place", [0, 49, 99])
def test_the_digest_tells_changed_numbers(place: int, tmp_path: Path) -> None:
    def digest_of(tensors: Mapping[str, Tensor], name: str) -> str:
        folder = tmp_path / name
        folder.mkdir()
        save_file(dict(tensors), folder / "model.safetensors")
        return checkpoint_tensors.digest(find_tensors(folder))

    numbers = torch.arange(100.0)
    changed = numbers.clone()
    changed[place] += 1
    first = digest_of({"w": numbers}, "first")
    assert digest_of({"w": numbers}, "copy") == first
    others = [{"w": changed}, {"v": numbers}, {"w": numbers.view(10, 10)}]
    assert first not in [digest_of(other, f"other {i}") for i, other in enumerate(others)]
