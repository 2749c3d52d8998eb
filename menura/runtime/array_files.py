"""Named arrays in a safetensors file, written and read with numpy alone.

For small files that people keep and hand on, such as voices. A file is written beside its place and
renamed, so it is there whole or not at all. What is read is checked by `checkpoint` first, and its
numbers after that: no code of the file's runs, and no NaN comes through.
"""

import io
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from menura.errors import InvalidValueError, ModelFilesError, OutputError
from menura.runtime.checkpoint import TensorEntry, header_of
from menura.runtime.whole_file import whole_file

_DTYPES = {"F32": "<f4", "F64": "<f8", "I32": "<i4", "I64": "<i8", "U8": "|u1"}
_ALIGNMENT = 8
MAX_HEADER_BYTES = 2**20
"""A header is read whole before it is checked, and a small file needs no large one."""
_METADATA = "__metadata__"


@dataclass(frozen=True, eq=False)
class ArrayFile:
    """What a file holds: its arrays by name, and its own notes."""

    arrays: Mapping[str, NDArray[np.generic]]
    metadata: Mapping[str, str]


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[np.generic]], metadata: Mapping[str, str]
) -> None:
    """Nothing; the arrays, each [n] or of more dimensions, and the notes stand in the file.

    Raises: InvalidValueError: an array of another dtype; OutputError: the file system refused.
    """
    _place(path, array_bytes(arrays, metadata))


def array_bytes(arrays: Mapping[str, NDArray[np.generic]], metadata: Mapping[str, str]) -> bytes:
    """What `write_arrays` writes, of arrays [n] or of more dimensions.

    Raises: InvalidValueError: an array of another dtype.
    """
    header: dict[str, object] = {_METADATA: dict(metadata)}
    pieces: list[bytes] = []
    end = 0
    for name, array in arrays.items():
        dtype = _dtype_of(name, array)
        piece = np.ascontiguousarray(array, _DTYPES[dtype]).tobytes()
        offsets = [end, end + len(piece)]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": offsets}
        pieces.append(piece)
        end += len(piece)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return b"".join([len(text).to_bytes(8, "little"), text, *pieces])


def read_arrays(
    path: Path, *, max_bytes: int, max_header_bytes: int = MAX_HEADER_BYTES
) -> ArrayFile:
    """The arrays and the notes of a file.

    Raises: ModelFilesError: the file is missing, damaged, larger than `max_bytes`, of another kind,
        or holds numbers that are none.
    """
    try:
        with path.open("rb") as file:
            n_bytes = os.fstat(file.fileno()).st_size
            if n_bytes > max_bytes:
                raise ModelFilesError(f"{path} has {n_bytes:,} bytes, over {max_bytes:,}.")
            return _arrays(file, n_bytes, path, max_header_bytes)
    except OSError as error:
        raise ModelFilesError(f"{path} cannot be read: {error.strerror or error}.") from error


def arrays_of(data: bytes, name: Path) -> ArrayFile:
    """The arrays and the notes in a file's bytes; `name` is for messages.

    Raises: ModelFilesError: as `read_arrays`.
    """
    return _arrays(io.BytesIO(data), len(data), name, MAX_HEADER_BYTES)


def _arrays(file: BinaryIO, n_bytes: int, path: Path, max_header_bytes: int) -> ArrayFile:
    header = header_of(file, n_bytes, path, max_header_bytes=max_header_bytes)
    file.seek(header.data_start)
    data = file.read(n_bytes)
    arrays = {name: _array(path, name, entry, data) for name, entry in header.tensors.items()}
    return ArrayFile(MappingProxyType(arrays), header.metadata)


def _dtype_of(name: str, array: NDArray[np.generic]) -> str:
    for dtype, numpy_name in _DTYPES.items():
        if array.dtype == np.dtype(numpy_name):
            return dtype
    known = ", ".join(str(np.dtype(numpy_name)) for numpy_name in _DTYPES.values())
    raise InvalidValueError(
        f"array {name!r} has the dtype {array.dtype}; what can be saved is {known}."
    )


def _array(path: Path, name: str, entry: TensorEntry, data: bytes) -> NDArray[np.generic]:
    """The array [...] of an entry; its numbers are finite."""
    if entry.dtype not in _DTYPES:
        known = ", ".join(_DTYPES)
        raise ModelFilesError(
            f"{path}: array {name!r} has the dtype {entry.dtype}; allowed are {known}."
        )
    piece = data[entry.start : entry.end]
    if len(piece) != entry.n_bytes:
        raise ModelFilesError(f"{path} became shorter while it was read.")
    little = np.dtype(_DTYPES[entry.dtype])
    array = np.frombuffer(piece, little).astype(little.newbyteorder("=")).reshape(entry.shape)
    if not np.isfinite(array).all():
        raise ModelFilesError(f"{path}: array {name!r} holds NaN or infinity.")
    return array


def _place(path: Path, data: bytes) -> None:
    """Nothing; the bytes reached the disk, then took the name."""
    try:
        with whole_file(path) as file:
            file.write(data)
    except OSError as error:
        raise OutputError(
            f"{str(path)!r} could not be written: {error.strerror or error}. What stood under "
            "that name is as it was; free some space or choose another folder, and try again.",
            param="path",
        ) from error
