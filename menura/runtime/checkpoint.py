"""What a safetensors file holds, read from its header alone, checked before it is believed.

A file is: 8 bytes with the header's length, the header (a JSON object: tensor name -> dtype, shape,
offsets), the tensors' bytes. The checks need no library and read no tensor: every byte after the
header belongs to exactly one tensor, and every tensor is as long as its shape and dtype say. So a
truncated download, a renamed pickle and a header made to crash a loader are all refused here.
Numbers inside tensors (NaN, infinity) are the loader's business.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

from menura.errors import ModelFilesError

# Bytes of one element. The format's 4 and 6 bit dtypes are left out: no model here uses them.
BYTES_OF_DTYPE: Mapping[str, int] = MappingProxyType({
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1, "F8_E8M0": 1,
    "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4,
    "U64": 8, "I64": 8, "F64": 8, "C64": 8,
})  # fmt: skip
MAX_HEADER_BYTES = 100_000_000  # the reference implementation's own limit
MAX_DIMENSIONS = 64
_LENGTH_BYTES = 8
_TENSOR_KEYS = {"dtype", "shape", "data_offsets"}
_METADATA = "__metadata__"
_ARCHIVE_STARTS = (b"PK\x03\x04", *(bytes((0x80, protocol)) for protocol in range(2, 6)))


@dataclass(frozen=True)
class TensorEntry:
    """One tensor: dtype, shape, and its bytes [start, end) counted from the header's end."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    @property
    def n_bytes(self) -> int:
        """How long the tensor is, in bytes."""
        return self.end - self.start


@dataclass(frozen=True)
class Header:
    """A checked header: the tensors by name, the file's own notes, and where the tensors begin."""

    tensors: Mapping[str, TensorEntry]
    metadata: Mapping[str, str]
    data_start: int


def read_header(path: Path) -> Header:
    """The checked header of one safetensors file; no tensor is read.

    Raises: ModelFilesError: the file is missing or anything in it contradicts anything else; the
        message names the file and, where one is at fault, the tensor.
    """
    try:
        file_bytes = path.stat().st_size
        with path.open("rb") as file:
            return header_of(file, file_bytes, path)
    except OSError as error:
        raise ModelFilesError(f"{path} cannot be read: {error.strerror or error}.") from error


def header_of(
    file: BinaryIO, file_bytes: int, path: Path, *, max_header_bytes: int = MAX_HEADER_BYTES
) -> Header:
    """The checked header of an open file of this size, as `read_header`; `path` is for messages.

    Raises: ModelFilesError; OSError.
    """
    length_field = file.read(_LENGTH_BYTES)
    header_bytes = _header_bytes(path, length_field, file_bytes, max_header_bytes)
    text = file.read(header_bytes)
    if len(text) != header_bytes:
        raise _damaged(path, "it ends inside its header")
    if not text.startswith(b"{"):
        raise _damaged(path, "its header does not start with '{'")
    fields = _json_object(path, text)
    metadata = _metadata(path, fields.pop(_METADATA, {}))
    tensors = {name: _tensor(path, name, entry) for name, entry in fields.items()}
    data_start = _LENGTH_BYTES + header_bytes
    _check_layout(path, tensors, file_bytes - data_start)
    return Header(MappingProxyType(tensors), MappingProxyType(metadata), data_start)


def read_index(path: Path) -> Mapping[str, str]:
    """Tensor name -> shard file name, from a `model.safetensors.index.json`.

    Raises: ModelFilesError: it is not such an index, or a shard is not a plain name beside it.
    """
    try:
        if path.stat().st_size > MAX_HEADER_BYTES:
            raise _damaged(path, f"an index may have at most {MAX_HEADER_BYTES:,} bytes")
        text = path.read_bytes()
    except OSError as error:
        raise ModelFilesError(f"{path} cannot be read: {error.strerror or error}.") from error
    shard_of = _json_object(path, text).get("weight_map")
    if not isinstance(shard_of, dict) or not shard_of:
        raise _damaged(path, "it has no 'weight_map'")
    for name, shard in shard_of.items():
        if not isinstance(shard, str) or not _is_plain_safetensors_name(shard):
            raise _damaged(
                path, f"tensor {name!r} points at {shard!r}, which is no shard beside it"
            )
    return MappingProxyType(shard_of)


def _is_plain_safetensors_name(name: str) -> bool:
    return name.endswith(".safetensors") and not set(name) & set("/\\:\0")


def _damaged(path: Path, why: str) -> ModelFilesError:
    return ModelFilesError(
        f"{path} is not a sound safetensors file: {why}. Get the file again; if it was pulled, "
        "`menura models remove` and `menura models pull` bring a fresh one."
    )


def _header_bytes(path: Path, length_field: bytes, file_bytes: int, most: int) -> int:
    header_bytes = int.from_bytes(length_field, "little")
    is_plausible = header_bytes <= min(most, file_bytes - _LENGTH_BYTES)
    # A header of 640 bytes begins as a pickle does; a pickle is never a plausible length.
    if not is_plausible and length_field.startswith(_ARCHIVE_STARTS):
        raise ModelFilesError(
            f"{path} is a pickle or an archive that holds one. Such a file can run code, so Menura "
            "never opens it; use the model's safetensors files."
        )
    if not is_plausible and (what := _other_file(length_field)):
        raise ModelFilesError(
            f"{path} is no safetensors file: it begins like {what}. Get the file itself."
        )
    if len(length_field) < _LENGTH_BYTES:
        raise _damaged(path, f"it has only {len(length_field)} bytes")
    if header_bytes > most:
        raise _damaged(path, f"its header claims {header_bytes:,} bytes")
    if not is_plausible:
        raise _damaged(path, f"its header claims {header_bytes:,} of {file_bytes:,} bytes")
    return header_bytes


def _other_file(beginning: bytes) -> str:
    """What the first 8 bytes of a text that was saved in place of weights are; empty if unknown."""
    if beginning == b"version ":
        return "a git-lfs pointer ('version https://git-lfs...'), which stands for a file elsewhere"
    if beginning.lstrip().startswith(b"<"):
        return "a web page ('<'), perhaps an error page or a login of the hub"
    return ""


def _json_object(path: Path, text: bytes) -> dict[str, object]:
    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        unique: dict[str, object] = {}
        for name, value in pairs:
            if name in unique:
                raise _damaged(path, f"its JSON names {name!r} twice")
            unique[name] = value
        return unique

    try:
        found: object = json.loads(text.decode("utf-8"), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, or nested without end
        raise _damaged(path, f"its JSON cannot be read ({type(error).__name__})") from error
    if not isinstance(found, dict):
        raise _damaged(path, "its JSON is not an object")
    return found


def _metadata(path: Path, found: object) -> dict[str, str]:
    if not isinstance(found, dict):
        raise _damaged(path, f"{_METADATA} is not an object")
    metadata: dict[str, str] = {}
    for key, value in found.items():
        if not isinstance(value, str):
            raise _damaged(path, f"{_METADATA} entry {key!r} is not a string")
        metadata[key] = value
    return metadata


def _tensor(path: Path, name: str, entry: object) -> TensorEntry:
    if not isinstance(entry, dict) or set(entry) != _TENSOR_KEYS:
        raise _damaged(path, f"tensor {name!r} must have exactly dtype, shape and data_offsets")
    dtype = entry["dtype"]
    if not isinstance(dtype, str) or dtype not in BYTES_OF_DTYPE:
        known = ", ".join(BYTES_OF_DTYPE)
        raise _damaged(path, f"tensor {name!r} has dtype {dtype!r}, which is not one of {known}")
    shape = _counts(path, name, "shape", entry["shape"])
    if len(shape) > MAX_DIMENSIONS:
        raise _damaged(path, f"tensor {name!r} has {len(shape)} dimensions")
    offsets = _counts(path, name, "data_offsets", entry["data_offsets"])
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        raise _damaged(path, f"tensor {name!r} has data_offsets {list(offsets)[:4]}")
    found = TensorEntry(dtype, shape, *offsets)
    if not _holds(found):
        raise _damaged(
            path,
            f"tensor {name!r} of shape {list(shape)} and dtype {dtype} does not fit its "
            f"{found.n_bytes:,} bytes",
        )
    return found


def _counts(path: Path, name: str, what: str, found: object) -> tuple[int, ...]:
    if not isinstance(found, list):
        raise _damaged(path, f"tensor {name!r} has a {what} that is not a list")
    for count in found:
        if type(count) is not int or not 0 <= count < 2**63:  # True is an int too, but no count
            raise _damaged(path, f"tensor {name!r} has {count!r} in its {what}")
    return tuple(found)


def _holds(tensor: TensorEntry) -> bool:
    """Whether shape x dtype is exactly the tensor's bytes; stops before a product grows huge."""
    if 0 in tensor.shape:
        return tensor.n_bytes == 0
    wanted = BYTES_OF_DTYPE[tensor.dtype]
    for size in tensor.shape:
        wanted *= size
        if wanted > tensor.n_bytes:
            return False
    return wanted == tensor.n_bytes


def _check_layout(path: Path, tensors: Mapping[str, TensorEntry], data_bytes: int) -> None:
    """Every byte after the header belongs to exactly one tensor."""
    reached = 0
    for name, tensor in _in_file_order(tensors.items()):
        if tensor.end > data_bytes:
            raise _damaged(
                path,
                f"tensor {name!r} ends at byte {tensor.end:,} of its data, which has only "
                f"{data_bytes:,}; the file may be cut short",
            )
        if tensor.start < reached:
            raise _damaged(path, f"tensor {name!r} overlaps the tensor before it")
        if tensor.start > reached:
            raise _damaged(
                path, f"no tensor owns the {tensor.start - reached} bytes before {name!r}"
            )
        reached = tensor.end
    if reached != data_bytes:
        raise _damaged(path, f"{data_bytes - reached:,} bytes follow its last tensor")


def _in_file_order(
    tensors: Iterable[tuple[str, TensorEntry]],
) -> list[tuple[str, TensorEntry]]:
    return sorted(tensors, key=lambda item: (item[1].start, item[1].end))
