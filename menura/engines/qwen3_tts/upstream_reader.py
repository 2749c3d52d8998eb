"""The process that opens a file of upstream's saved voices; started by `upstream_voices`, alone.

`python -m menura.engines.qwen3_tts.upstream_reader FILE MADE` writes the voices of FILE to MADE, a
safetensors file. On a fault it writes one line to stderr and ends with 1.
"""

import json
import pickle
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from menura.engines.qwen3_tts.prompt import CODES, EMBEDDING
from menura.engines.qwen3_tts.upstream_voices import ITEMS
from menura.runtime.array_files import write_arrays

_MAX_MEMORY_BYTES = 4 * 2**30
_MAX_VOICES = 64
_MAX_NUMBERS = 2**20
_MAX_CHARACTERS = 20_000


class _UnsoundError(ValueError):
    """The file holds something else than upstream's voices."""


def main(path: Path, made: Path) -> int:
    """The exit code, after the voices stand in `made` or the reason on stderr."""
    _limit_memory()
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        arrays, transcripts = _voices(saved)
    except pickle.UnpicklingError:
        return _fail("it holds more than plain tensors and texts, and could run code")
    except _UnsoundError as error:
        return _fail(str(error))
    write_arrays(made, arrays, {ITEMS: json.dumps(transcripts)})
    return 0


def _voices(saved: object) -> tuple[dict[str, NDArray[np.generic]], list[str | None]]:
    """The arrays of all voices, each named by its voice's number, and their transcripts."""
    items = saved.get("items") if isinstance(saved, dict) else None
    if not isinstance(items, list) or not 1 <= len(items) <= _MAX_VOICES:
        raise _UnsoundError(f"it must hold a list 'items' of 1 to {_MAX_VOICES} voices")
    arrays: dict[str, NDArray[np.generic]] = {}
    transcripts: list[str | None] = []
    for index, item in enumerate(items):
        if not isinstance(item, dict):
            raise _UnsoundError(f"item {index} is no object")
        arrays[f"{index}.{EMBEDDING}"] = _array(item, "ref_spk_embedding", np.float32)
        is_in_context = item.get("icl_mode") is True and item.get("x_vector_only_mode") is not True
        if is_in_context:
            arrays[f"{index}.{CODES}"] = _array(item, "ref_code", np.int64)
        transcripts.append(_transcript(item) if is_in_context else None)
    return arrays, transcripts


def _array(item: Mapping[object, object], name: str, dtype: type[np.generic]
) -> NDArray[np.generic]:  # fmt: skip
    """A tensor [...] of an item, as plain numbers of the dtype."""
    found = item.get(name)
    if not isinstance(found, Tensor) or found.is_sparse or found.is_quantized:
        raise _UnsoundError(f"{name} is no tensor")
    if found.numel() > _MAX_NUMBERS or found.is_floating_point() != (dtype is np.float32):
        raise _UnsoundError(f"{name} is a {found.dtype} {list(found.shape)}")
    wanted = torch.float32 if dtype is np.float32 else torch.int64
    return np.asarray(found.detach().to(wanted).contiguous().numpy(), dtype)


def _transcript(item: Mapping[object, object]) -> str:
    found = item.get("ref_text")
    if not isinstance(found, str) or not 1 <= len(found) <= _MAX_CHARACTERS:
        raise _UnsoundError(f"ref_text is no text of 1 to {_MAX_CHARACTERS:,} characters")
    return found


def _limit_memory() -> None:
    """Nothing; where the system can, what the file makes of itself stays small."""
    if sys.platform == "linux":
        import resource  # noqa: PLC0415 - there is none elsewhere

        resource.setrlimit(resource.RLIMIT_DATA, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))


def _fail(why: str) -> int:
    sys.stderr.write(f"{why}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
