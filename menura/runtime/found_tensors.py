"""Which tensors a checkpoint's files hold, and whether their names are the wanted ones.

A checkpoint is one safetensors file or several shards with an index. Only headers are read here.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from menura.errors import ModelFilesError
from menura.runtime.checkpoint import TensorEntry, read_header, read_index

_SHOWN_NAMES = 4
_SAMPLES, _SAMPLE_BYTES = 3, 256


@dataclass(frozen=True)
class Found:
    """One tensor of a checkpoint: its file, where the file's tensors begin, and its entry."""

    path: Path
    data_start: int
    entry: TensorEntry


def has_tensors(folder: Path, stem: str) -> bool:
    """Whether `{stem}.safetensors` or its index is there, whatever is in it."""
    return any((folder / name).is_file() for name in (_file(stem), _index(stem)))


def find_tensors(folder: Path, stem: str = "model") -> Mapping[str, Found]:
    """Every tensor of `{stem}.safetensors`, or of the shards that its index names; at least one.

    Raises: ModelFilesError: a file is missing or damaged, or the index and the shards disagree.
    """
    index = folder / _index(stem)
    if not index.exists():
        path = folder / _file(stem)
        if found := dict(_tensors(path)):
            return found
        raise ModelFilesError(f"{path} holds no tensor.")
    shard_of = read_index(index)
    found = {}
    for shard in sorted(set(shard_of.values())):
        path = folder / shard
        for name, tensor in _tensors(path):
            if shard_of.get(name) != shard:
                raise ModelFilesError(f"{path}: tensor {name!r} is not this file's in {index}.")
            found[name] = tensor
    for name in shard_of.keys() - found.keys():
        raise ModelFilesError(f"{index}: tensor {name!r} is not in {shard_of[name]}.")
    return found


def _file(stem: str) -> str:
    return f"{stem}.safetensors"


def _index(stem: str) -> str:
    return f"{_file(stem)}.index.json"


def _tensors(path: Path) -> Iterator[tuple[str, Found]]:
    header = read_header(path)
    for name, entry in header.tensors.items():
        yield name, Found(path, header.data_start, entry)


def check_names(
    wanted: Collection[str], tensors: Mapping[str, Found], unused: Collection[str]
) -> None:
    """Nothing, where the files hold the wanted tensors, perhaps the unused ones, and no others.

    Raises: ModelFilesError: all that is missing and all that is too much, in one message.
    """
    missing = sorted(set(wanted) - tensors.keys())
    extra = sorted(tensors.keys() - set(wanted) - set(unused))
    faults = []
    if missing:
        faults.append(
            f"{_listed(missing)} {'is' if len(missing) == 1 else 'are'} missing and needed for "
            "what the model's configuration says"
        )
    if extra:
        faults.append(
            f"{_listed(extra)} belong{'s' * (len(extra) == 1)} to no part of this model; the file "
            "is not of the kind that its configuration says"
        )
    if faults:
        path = next((found.path for found in tensors.values()), None)
        raise ModelFilesError(f"{path}: {'; '.join(faults)}.")


def _listed(names: list[str]) -> str:
    """The first names, and how many there are: `tensor 'a'`, `5 tensors ('a', 'b', 'c', ...)`."""
    if len(names) == 1:
        return f"tensor {names[0]!r}"
    more = ", ..." if len(names) > _SHOWN_NAMES else ""
    return f"{len(names)} tensors ({', '.join(map(repr, names[:_SHOWN_NAMES]))}{more})"


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


class UnchangedFiles:
    """Files whose tensors are read later: their identity as it was when the headers were read."""

    def __init__(self, tensors: Mapping[str, Found]) -> None:
        self._seen = {path: _identity(path) for path in {f.path for f in tensors.values()}}

    def check(self) -> None:
        """Nothing. Raises: ModelFilesError: a file was changed, replaced or removed since."""
        for path, seen in self._seen.items():
            if _identity(path) != seen:
                raise ModelFilesError(
                    f"{path} has changed since the model was loaded from it; load the model again."
                )


def _identity(path: Path) -> tuple[int, int, int] | None:
    """What changes with a file's content: where it is on the disk, its size, its time. Or None."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
