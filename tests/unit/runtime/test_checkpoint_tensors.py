import json
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from menura.errors import ModelFilesError
from menura.runtime import checkpoint_tensors, found_tensors
from menura.runtime.checkpoint_tensors import TensorReader, fill, without_memory
from menura.runtime.found_tensors import find_tensors
from menura.runtime.tensor_names import Share, Source, WeightNorm

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


def test_what_is_missing_is_counted_and_the_first_names_are_told(tmp_path: Path) -> None:
    save_file({"model.w": torch.ones(5, 3)}, tmp_path / "model.safetensors")
    with without_memory():
        part = nn.Sequential(*(nn.Linear(1, 1) for _ in range(3)))
    names = {f"a.{name}": f"b.{name}" for name, _ in part.named_parameters()}
    with pytest.raises(ModelFilesError) as caught:
        fill({"a": part}, names, find_tensors(tmp_path), (), CPU, torch.float32)
    assert caught.value.message == (
        f"{tmp_path / 'model.safetensors'}: 6 tensors ('b.0.bias', 'b.0.weight', 'b.1.bias', "
        "'b.1.weight', ...) are missing and needed for what the model's configuration says; "
        "tensor 'model.w' belongs to no part of this model; the file is not of the kind that its "
        "configuration says."
    )


def test_the_file_may_have_another_stem(tmp_path: Path) -> None:
    tensors = _tensors()
    save_file(tensors, tmp_path / "other.safetensors")
    assert find_tensors(tmp_path, "other").keys() == tensors.keys()
    with pytest.raises(ModelFilesError, match=r"model\.safetensors cannot be read"):
        find_tensors(tmp_path)


PAIR = WeightNorm("gain", "direction")
NORMED: dict[str, Source] = {"a.weight": PAIR, "a.bias": "bias"}


def _normed(convolution: nn.Module) -> dict[str, Tensor]:
    """The stored tensors of a weight-normed convolution that torch itself made."""
    nn.utils.parametrizations.weight_norm(convolution)
    state = convolution.state_dict()
    return {
        "gain": 2 * state["parametrizations.weight.original0"],
        "direction": state["parametrizations.weight.original1"],
        "bias": state["bias"],
    }


@pytest.mark.parametrize("convolution", [nn.Conv1d, nn.ConvTranspose1d])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_weight_norm_is_folded_to_the_bits_that_torch_computes(
    convolution: type[nn.Conv1d] | type[nn.ConvTranspose1d], dtype: torch.dtype, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    theirs = convolution(6, 10, 7)
    stored = _normed(theirs)
    save_file(stored, tmp_path / "model.safetensors")
    theirs.load_state_dict(
        {
            "parametrizations.weight.original0": stored["gain"],
            "parametrizations.weight.original1": stored["direction"],
            "bias": stored["bias"],
        }
    )
    with without_memory():
        ours = convolution(6, 10, 7)
    fill({"a": ours}, NORMED, find_tensors(tmp_path), (), CPU, dtype)
    assert ours.weight.dtype == dtype
    assert torch.equal(ours.weight, theirs.weight.to(dtype))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"direction": None}, "tensor 'direction' is missing"),
        ({"gain": torch.ones(10)}, r"'gain' has the shape \[10\].* asks for \[10, 1, 1\]"),
        ({"gain": torch.full((10, 1, 1), float("nan"))}, "'gain' holds NaN"),
        ({"direction": torch.zeros(10, 6, 7)}, "'direction' is 0 throughout in row 0, and"),
    ],
)
def test_a_weight_norm_that_cannot_be_folded_is_named(
    changes: dict[str, Tensor | None], message: str, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    stored = _normed(nn.Conv1d(6, 10, 7)) | changes
    save_file({n: t for n, t in stored.items() if t is not None}, tmp_path / "model.safetensors")
    with without_memory():
        part = nn.Conv1d(6, 10, 7)
    with pytest.raises(ModelFilesError, match=message):
        fill({"a": part}, NORMED, find_tensors(tmp_path), (), CPU, torch.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_parameters_can_share_the_rows_of_one_tensor(dtype: torch.dtype, tmp_path: Path) -> None:
    fused = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    save_file({"fused": fused}, tmp_path / "model.safetensors")
    with without_memory():
        part = nn.ModuleDict({name: nn.Linear(4, 2, bias=False) for name in "qkv"})
    names = {f"a.{name}.weight": Share("fused", i, 3) for i, name in enumerate("qkv")}
    fill({"a": part}, names, find_tensors(tmp_path), (), CPU, dtype)
    joined = torch.cat([weight for _, weight in part.named_parameters()])
    assert torch.equal(joined, fused.to(dtype))


def test_huge_numbers_are_numbers(tmp_path: Path) -> None:
    save_file(_changed(b=torch.full((5,), 3e38)), tmp_path / "model.safetensors")
    part = _part()
    _load(tmp_path, part)
    assert part.bias[0] == torch.tensor(3e38)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak of the process from /proc")
@pytest.mark.parametrize(
    ("measure", "most"),
    # Folding works on some copies of one of the 24 layers, however many there are.
    [(lambda: _converting_peak, 1.15), (lambda: _folding_peak, 1 + 10 / 24)],
    ids=["converting", "folding"],
)
def test_loading_needs_little_more_memory_than_the_weights(
    measure: Callable[[], Callable[[Path, int], float]], most: float, tmp_path: Path
) -> None:
    # In a process of its own: what other tests left in this one's heap would be used again. The
    # first of two measurements is of a small part, so that torch's libraries are there already.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        process.submit(measure(), tmp_path, 1).result()
        peak = process.submit(measure(), tmp_path, 24).result()
    assert peak < most


def _converting_peak(folder: Path, size: int) -> float:
    """The memory that converting weights needs at its peak, for each byte of them."""
    n_rows = size * 2**19
    halves = {
        "model.w": torch.zeros(n_rows, 3, dtype=torch.bfloat16),
        "model.b": torch.zeros(n_rows, dtype=torch.bfloat16),
    }
    save_file(halves, folder / "model.safetensors")
    del halves
    with without_memory():
        part = nn.Linear(3, n_rows)
    before = _started_peak()
    _load(folder, part)
    return (_kilobytes("VmHWM") - before) * 1024 / (4 * n_rows * 4)


def _folding_peak(folder: Path, n_layers: int) -> float:
    """The memory that folding weight norm needs at its peak, for each byte of the weights."""
    shape = (2**19, 1, 4)
    stored = {f"{i}.weight_v": torch.ones(shape) for i in range(n_layers)}
    stored |= {f"{i}.weight_g": torch.ones(2**19, 1, 1) for i in range(n_layers)}
    save_file(stored, folder / "model.safetensors")
    del stored
    with without_memory():
        part = nn.ModuleList(nn.Conv1d(1, shape[0], 4, bias=False) for _ in range(n_layers))
    names = {f"a.{i}.weight": WeightNorm(f"{i}.weight_g", f"{i}.weight_v") for i in range(n_layers)}
    before = _started_peak()
    fill({"a": part}, names, find_tensors(folder), (), CPU, torch.float32)
    return (_kilobytes("VmHWM") - before) * 1024 / (n_layers * 2**19 * 4 * 4)


def _started_peak() -> int:
    """The use of memory now, in kB; the highest use is counted from here on."""
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    return _kilobytes("VmRSS")


def _kilobytes(key: str) -> int:
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1])


def test_without_a_dtype_every_tensor_keeps_its_own(tmp_path: Path) -> None:
    tensors = _tensors()
    tensors["model.b"] = tensors["model.b"].bfloat16()
    save_file(tensors, tmp_path / "model.safetensors")
    part = _part()
    checkpoint_tensors.load({"a": part}, NAMES, TensorReader(find_tensors(tmp_path), CPU, None))
    assert torch.equal(part.weight, tensors["model.w"])
    assert (part.weight.dtype, part.bias.dtype) == (torch.float32, torch.bfloat16)


def test_numbers_are_looked_at_unless_told_otherwise(tmp_path: Path) -> None:
    tensors = _tensors()
    tensors["model.w"][4, 2] = torch.nan
    save_file(tensors, tmp_path / "model.safetensors")
    found = find_tensors(tmp_path)
    trusting = TensorReader(found, CPU, None, looks_at_numbers=False)
    checkpoint_tensors.load({"a": _part()}, NAMES, trusting)
    with pytest.raises(ModelFilesError, match=r"'model\.w' holds NaN"):
        checkpoint_tensors.load({"a": _part()}, NAMES, TensorReader(found, CPU, None))
    with pytest.raises(ModelFilesError, match=r"'model\.w' holds NaN"):
        checkpoint_tensors.check_numbers("model.w", found["model.w"])
    checkpoint_tensors.check_numbers("model.b", found["model.b"])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_tensor_is_read_in_float32(dtype: torch.dtype, tmp_path: Path) -> None:
    tensors = _tensors(dtype)
    save_file(tensors, tmp_path / "model.safetensors")
    found = TensorReader(find_tensors(tmp_path), CPU, torch.float32).read("model.w")
    assert torch.equal(found, tensors["model.w"].float())


@pytest.mark.parametrize("place", [0, 49, 99])
def test_the_digest_tells_changed_numbers(place: int, tmp_path: Path) -> None:
    def digest_of(tensors: Mapping[str, Tensor], name: str) -> str:
        folder = tmp_path / name
        folder.mkdir()
        save_file(dict(tensors), folder / "model.safetensors")
        return found_tensors.digest(find_tensors(folder))

    numbers = torch.arange(100.0)
    changed = numbers.clone()
    changed[place] += 1
    first = digest_of({"w": numbers}, "first")
    assert digest_of({"w": numbers}, "copy") == first
    others = [{"w": changed}, {"v": numbers}, {"w": numbers.view(10, 10)}]
    assert first not in [digest_of(other, f"other {i}") for i, other in enumerate(others)]
