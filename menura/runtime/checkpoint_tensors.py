"""Fills modules from safetensors files: every parameter gets its tensor, and no other is there.

Modules are built on the meta device, so nothing is allocated before the headers are checked. A
tensor that already has the wanted dtype and place stays where the file is mapped. Any other is read
in blocks straight into its parameter, so that loading needs hardly more memory than the weights.
"""

import hashlib
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from menura.errors import ModelFilesError
from menura.runtime.checkpoint import Header, TensorEntry, read_header, read_index

_BLOCK_BYTES = 4 * 2**20
_SAMPLES, _SAMPLE_BYTES = 3, 256
_DTYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}


class _NoFirstValues(TorchFunctionMode):
    """Leaves out what modules draw when they are made: it would be overwritten, and drawing on the
    meta device imports torch's compiler, which takes seconds.
    """

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: tuple[object, ...] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        del types
        given = kwargs or {}
        if getattr(func, "__module__", "") == nn.init.__name__:
            return given.get("tensor", args[0] if args else None)
        return func(*args, **given)


@contextmanager
def without_memory() -> Iterator[None]:
    """Modules that are made inside have shapes and no numbers: `fill` gives them theirs."""
    with torch.device("meta"), _NoFirstValues():
        yield


@dataclass(frozen=True)
class Found:
    """One tensor of a checkpoint: its file, where the file's tensors begin, and its entry."""

    path: Path
    data_start: int
    entry: TensorEntry


def find_tensors(folder: Path) -> Mapping[str, Found]:
    """Every tensor of `model.safetensors`, or of the shards that its index names.

    Raises: ModelFilesError: a file is missing or damaged, or the index and the shards disagree.
    """
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        path = folder / "model.safetensors"
        return dict(_tensors(path, read_header(path)))
    shard_of = read_index(index)
    found: dict[str, Found] = {}
    for shard in sorted(set(shard_of.values())):
        path = folder / shard
        for name, tensor in _tensors(path, read_header(path)):
            if shard_of.get(name) != shard:
                raise ModelFilesError(f"{path}: tensor {name!r} is not this file's in {index}.")
            found[name] = tensor
    for name in shard_of.keys() - found.keys():
        raise ModelFilesError(f"{index}: tensor {name!r} is not in {shard_of[name]}.")
    return found


def check(
    parts: Mapping[str, nn.Module],
    names: Mapping[str, str],
    tensors: Mapping[str, Found],
    unused: Collection[str],
) -> None:
    """Nothing, where every parameter has its tensor and every tensor its use; see `fill`.

    Raises: ModelFilesError: a tensor is missing, unknown, of another shape, or not made of numbers.
    """
    parameters = _parameters(parts)
    assert parameters.keys() == names.keys(), parameters.keys() ^ names.keys()
    _check_names(set(names.values()), tensors, unused)
    for name, (module, leaf) in parameters.items():
        _check_shape(names[name], tensors[names[name]], module.get_parameter(leaf))


def fill(
    parts: Mapping[str, nn.Module],
    names: Mapping[str, str],
    tensors: Mapping[str, Found],
    unused: Collection[str],
    device: torch.device,
    dtype: torch.dtype,
) -> None:
    """Give every parameter of the parts its tensor, on a device and in a dtype.

    `names`: the tensor for each parameter, which is called `part.parameter`. `unused`: tensors
    that may be in the files though no parameter takes them. The parts are put in evaluation mode.

    Raises: ModelFilesError: a tensor is missing, unknown, of another shape, or not made of numbers.
    """
    check(parts, names, tensors, unused)
    load(parts, names, tensors, device, dtype)


def load(
    parts: Mapping[str, nn.Module],
    names: Mapping[str, str],
    tensors: Mapping[str, Found],
    device: torch.device,
    dtype: torch.dtype | None,
    *,
    check_numbers: bool = True,
) -> None:
    """Give every parameter its tensor, which was checked before; None leaves its own dtype.

    Without `check_numbers`, a tensor that stays mapped is not read before it is used: for files
    whose numbers were looked at when they were packed.

    Raises: ModelFilesError: a tensor holds NaN or infinity.
    """
    files = _MappedFiles()
    for name, (module, leaf) in _parameters(parts).items():
        found = tensors[names[name]]
        wanted = dtype or _DTYPES[found.entry.dtype]
        if not check_numbers and device.type == "cpu" and _DTYPES[found.entry.dtype] == wanted:
            loaded = files.tensor(names[name], found.path)
        else:
            loaded = _load(names[name], found, files, device, wanted)
        setattr(module, leaf, nn.Parameter(loaded, requires_grad=False))
    for part in parts.values():
        part.eval()


def read(name: str, tensors: Mapping[str, Found]) -> Tensor:
    """The numbers float32 [n], or with more dimensions, of one tensor.

    Raises: ModelFilesError: it holds NaN or infinity.
    """
    return _load(name, tensors[name], _MappedFiles(), torch.device("cpu"), torch.float32)


def check_numbers(name: str, found: Found) -> None:
    """Nothing, after all numbers of a tensor were looked at, block by block.

    Raises: ModelFilesError: one is NaN or infinite.
    """
    if not _read_into(None, found):
        raise _no_numbers(name, found)


def digest(tensors: Mapping[str, Found]) -> str:
    """What names these tensors: their names, dtypes and shapes, and a sample of each one's numbers.

    Training changes every tensor that it touches all over, so a few places of each tell.
    """
    found = hashlib.sha256()
    by_file: dict[Path, list[tuple[str, Found]]] = {}
    for name, tensor in sorted(tensors.items()):
        by_file.setdefault(tensor.path, []).append((name, tensor))
    for path, own in sorted(by_file.items()):
        with path.open("rb", buffering=0) as file:
            for name, tensor in own:
                found.update(f"{name} {tensor.entry.dtype} {tensor.entry.shape};".encode())
                for place in range(_SAMPLES):
                    room = max(tensor.entry.n_bytes - _SAMPLE_BYTES, 0)
                    start = tensor.entry.start + room * place // (_SAMPLES - 1)
                    file.seek(tensor.data_start + start)
                    found.update(file.read(min(_SAMPLE_BYTES, tensor.entry.n_bytes)))
    return found.hexdigest()


def _parameters(parts: Mapping[str, nn.Module]) -> dict[str, tuple[nn.Module, str]]:
    """The parameters of the parts by `part.parameter`: the module that owns each, and its name."""
    return {
        f"{part}.{inner}.{leaf}" if inner else f"{part}.{leaf}": (module, leaf)
        for part, whole in parts.items()
        for inner, module in whole.named_modules()
        for leaf, _ in module.named_parameters(recurse=False)
    }


def _tensors(path: Path, header: Header) -> Iterator[tuple[str, Found]]:
    for name, entry in header.tensors.items():
        yield name, Found(path, header.data_start, entry)


def _check_names(
    wanted: Collection[str], tensors: Mapping[str, Found], unused: Collection[str]
) -> None:
    if missing := sorted(set(wanted) - tensors.keys()):
        raise ModelFilesError(
            f"tensor {missing[0]!r} is missing from the model's files{_others(missing)}; "
            "config.json asks for it."
        )
    if extra := sorted(tensors.keys() - set(wanted) - set(unused)):
        path = tensors[extra[0]].path
        raise ModelFilesError(
            f"{path}: tensor {extra[0]!r} belongs to no part of this model{_others(extra)}; "
            "the file is not of the kind that config.json says."
        )


def _others(names: list[str]) -> str:
    return f" (with {len(names) - 1} others)" if len(names) > 1 else ""


def _check_shape(name: str, found: Found, parameter: Tensor) -> None:
    if found.entry.shape != tuple(parameter.shape):
        raise ModelFilesError(
            f"{found.path}: tensor {name!r} has the shape {list(found.entry.shape)}, and "
            f"config.json asks for {list(parameter.shape)}."
        )
    if found.entry.dtype not in _DTYPES:
        known = ", ".join(_DTYPES)
        raise ModelFilesError(
            f"{found.path}: tensor {name!r} has the dtype {found.entry.dtype}; weights are {known}."
        )


class _Mapped(Protocol):
    def get_tensor(self, name: str) -> Tensor: ...


class _MappedFiles:
    """The files as they are mapped into memory, each once."""

    def __init__(self) -> None:
        self._open: dict[Path, _Mapped] = {}

    def tensor(self, name: str, path: Path) -> Tensor:
        """The tensor [...] where its file is mapped.

        Its address decides how small products round, and upstream's tensors lie at the same place
        in a page.
        """
        if path not in self._open:
            self._open[path] = safe_open(path, framework="pt", device="cpu")
        return self._open[path].get_tensor(name)


def _load(
    name: str, found: Found, files: _MappedFiles, device: torch.device, dtype: torch.dtype
) -> Tensor:
    if device.type == "cpu" and _DTYPES[found.entry.dtype] == dtype:
        loaded = files.tensor(name, found.path)
        is_sound = _is_finite(loaded)
    else:
        loaded = torch.empty(found.entry.shape, dtype=dtype, device=device)
        is_sound = _read_into(loaded, found)
    if not is_sound:
        raise _no_numbers(name, found)
    return loaded


def _no_numbers(name: str, found: Found) -> ModelFilesError:
    return ModelFilesError(
        f"{found.path}: tensor {name!r} holds NaN or infinity; the file is damaged."
    )


def _read_into(target: Tensor | None, found: Found) -> bool:
    """Whether all numbers were finite, after they were read in blocks into the target [...]."""
    flat = None if target is None else target.view(-1)
    n_numbers = math.prod(found.entry.shape)
    source = _DTYPES[found.entry.dtype]
    block = bytearray(min(_BLOCK_BYTES, max(found.entry.n_bytes, 1)))
    done, is_sound = 0, True
    with found.path.open("rb", buffering=0) as file:
        file.seek(found.data_start + found.entry.start)
        while done < n_numbers:
            n_bytes = min(len(block), (n_numbers - done) * source.itemsize)
            if file.readinto(memoryview(block)[:n_bytes]) != n_bytes:
                raise ModelFilesError(f"{found.path} became shorter while it was read.")
            numbers = torch.frombuffer(block, dtype=source, count=n_bytes // source.itemsize)
            is_sound = is_sound and _is_finite(numbers)
            if flat is not None:
                flat[done : done + len(numbers)].copy_(numbers)
            done += len(numbers)
    return is_sound


def _is_finite(numbers: Tensor) -> bool:
    """Whether none is NaN or infinite. A sum is quick, and only an infinite one needs a look."""
    return math.isfinite(float(numbers.sum())) or bool(torch.isfinite(numbers).all())
