"""Fills modules from safetensors files: every parameter gets its tensor, and no other is there.

Modules are built on the meta device, so nothing is allocated before the headers are checked. A
tensor that already has the wanted dtype and place stays where the file is mapped. Any other is read
in blocks straight into its parameter, so that loading needs hardly more memory than the weights.
What is stored as weight norm is folded into plain weights while it is read.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from menura.errors import ModelFilesError
from menura.runtime.checkpoint import TensorEntry
from menura.runtime.found_tensors import Found, check_names
from menura.runtime.tensor_names import Shape, Share, Source, WeightNorm, tensor_shapes

_BLOCK_BYTES = 4 * 2**20
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


def check(
    wanted: Mapping[str, Shape], tensors: Mapping[str, Found], unused: Collection[str]
) -> None:
    """Nothing, where the tensors are the wanted ones, each of its shape and made of numbers.

    `unused`: tensors that may be in the files though no parameter takes them.

    Raises: ModelFilesError: a tensor is missing, unknown, of another shape or of another dtype.
    """
    check_names(wanted.keys(), tensors, unused)
    for name, shape in wanted.items():
        _check_entry(name, tensors[name], shape)


def fill(
    parts: Mapping[str, nn.Module],
    names: Mapping[str, Source],
    tensors: Mapping[str, Found],
    unused: Collection[str],
    device: torch.device,
    dtype: torch.dtype,
) -> None:
    """Give every parameter of the parts its numbers, on a device and in a dtype.

    `names`: what is stored for each parameter, which is called `part.parameter`. `unused`: as in
    `check`. The parts are put in evaluation mode.

    Raises: ModelFilesError: as `check`; a number is NaN or infinite.
    """
    parameters = [f"{part}.{name}" for part, m in parts.items() for name, _ in m.named_parameters()]
    assert names.keys() == set(parameters), names.keys() ^ set(parameters)
    check(tensor_shapes(parts, names), tensors, unused)
    load(parts, names, TensorReader(tensors, device, dtype))


def load(
    parts: Mapping[str, nn.Module], names: Mapping[str, Source], reader: "TensorReader"
) -> None:
    """Give every parameter of the parts what the reader reads for it; the files were checked.

    Raises: ModelFilesError: a number is NaN or infinite.
    """
    for name in [f"{part}.{n}" for part, m in parts.items() for n, _ in m.named_parameters()]:
        part, _, path = name.partition(".")
        loaded = reader.read(names[name])
        owner, _, leaf = path.rpartition(".")
        setattr(parts[part].get_submodule(owner), leaf, nn.Parameter(loaded, requires_grad=False))
    for module in parts.values():
        module.eval()


def check_numbers(name: str, found: Found) -> None:
    """Nothing, after all numbers of a tensor were looked at, block by block.

    Raises: ModelFilesError: one is NaN or infinite.
    """
    _check_sound(name, found, is_sound=_read_into(None, found))


def _check_entry(name: str, found: Found, shape: Shape) -> None:
    if found.entry.shape != shape:
        raise ModelFilesError(
            f"{found.path}: tensor {name!r} has the shape {list(found.entry.shape)}, and the "
            f"model's configuration asks for {list(shape)}."
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


class TensorReader:
    """Reads tensors that were checked, for one device and dtype; None leaves each its own.

    Without `looks_at_numbers`, a tensor that stays mapped is not read before it is used: for files
    whose numbers were looked at before.
    """

    def __init__(
        self,
        tensors: Mapping[str, Found],
        device: torch.device,
        dtype: torch.dtype | None,
        *,
        looks_at_numbers: bool = True,
    ) -> None:
        self._tensors = tensors
        self._device = device
        self._dtype = dtype
        self._looks_at_numbers = looks_at_numbers
        self._files = _MappedFiles()
        self._directions = torch.empty(0)

    def read(self, source: Source) -> Tensor:
        """The parameter, [n] or [n, m] or more. Raises: ModelFilesError: a number is not finite."""
        match source:
            case WeightNorm():
                return self._folded(source)
            case Share():
                return self._tensor(source.name, source)
        return self._tensor(source, Share(source, 0, 1))

    def _tensor(self, name: str, share: Share) -> Tensor:
        whole = self._tensors[name]
        found = _share_of(whole, share)
        stored = _DTYPES[found.entry.dtype]
        if self._device.type == "cpu" and self._dtype in (None, stored):
            n_rows = found.entry.shape[0] if found.entry.shape else 1
            loaded = self._files.tensor(name, found.path)
            if share.n > 1:
                loaded = loaded[share.index * n_rows : (share.index + 1) * n_rows]
            is_sound = not self._looks_at_numbers or _is_finite(loaded)
            _check_sound(name, found, is_sound=is_sound)
            return loaded
        loaded = torch.empty(found.entry.shape, dtype=self._dtype or stored, device=self._device)
        _check_sound(name, found, is_sound=_read_into(loaded, found))
        return loaded

    def _folded(self, source: WeightNorm) -> Tensor:
        """The weight of a gain and a direction, computed in float32 as torch does it.

        Both are read and not mapped: the pages of a mapped direction would stay in memory.
        """
        direction = self._room_for(self._tensors[source.direction].entry.shape)
        gain = torch.empty(self._tensors[source.gain].entry.shape)
        for name, half in ((source.direction, direction), (source.gain, gain)):
            found = self._tensors[name]
            _check_sound(name, found, is_sound=_read_into(half, found))
        # The function behind torch.nn.utils.parametrizations.weight_norm, so that the bits agree.
        weight: Tensor = torch._weight_norm(direction, gain, 0)
        if not _is_finite(weight):
            raise _unfolded(source.direction, self._tensors[source.direction], direction)
        return weight.to(self._device, self._dtype)

    def _room_for(self, shape: Shape) -> Tensor:
        """Room [shape] for one direction, the same again and again.

        Large tensors that come and go between others that stay would leave holes in the heap.
        """
        n_numbers = math.prod(shape)
        if self._directions.numel() < n_numbers:
            self._directions = torch.empty(n_numbers, dtype=torch.float32)
        return self._directions[:n_numbers].view(shape)


def _share_of(found: Found, share: Share) -> Found:
    """The share's rows as a tensor of their own in the same file."""
    if share.n == 1:
        return found
    n_rows, *others = found.entry.shape
    n_bytes = found.entry.n_bytes // share.n
    start = found.entry.start + share.index * n_bytes
    shape = (n_rows // share.n, *others)
    return replace(found, entry=TensorEntry(found.entry.dtype, shape, start, start + n_bytes))


def _check_sound(name: str, found: Found, *, is_sound: bool) -> None:
    if not is_sound:
        raise ModelFilesError(
            f"{found.path}: tensor {name!r} holds NaN or infinity; the file is damaged."
        )


def _unfolded(name: str, found: Found, direction: Tensor) -> ModelFilesError:
    """The error for a direction [n, ...] that gives no finite weight."""
    empty = torch.nonzero(direction.flatten(1).abs().amax(1) == 0).flatten()
    why = "is too long or too short to divide by its length"
    if len(empty):
        why = f"is 0 throughout in row {int(empty[0])}, and is divided by the length of each row"
    return ModelFilesError(f"{found.path}: tensor {name!r} {why}; the file is damaged.")


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
