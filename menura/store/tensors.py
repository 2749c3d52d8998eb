"""The tensors of a model's folder, judged by the headers of its safetensors files alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from menura.errors import ModelFilesError
from menura.runtime.checkpoint import Header, read_header, read_index

# Tensor -> shape; None where a tensor may be in the file, of any shape, or not.
Shapes = Mapping[str, tuple[int, ...] | None]
INDEX_ENDING = ".safetensors.index.json"


@dataclass(frozen=True)
class TensorReport:
    """One weights file against what an engine expects in it; empty where all is right."""

    file: str
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    wrong_shape: tuple[str, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """One line for each tensor that is not as expected."""
        return (
            *(f"tensor {name} is missing" for name in self.missing),
            *(f"tensor {name} is not expected" for name in self.unexpected),
            *self.wrong_shape,
        )


def header_problem(path: Path) -> str:
    """What is wrong with a safetensors file, as one line; empty if nothing is."""
    try:
        read_header(path)
    except ModelFilesError as error:
        return error.message
    return ""


def index_problem(path: Path) -> str:
    """How a sharded model's index and its shards contradict each other; empty if they agree."""
    try:
        shard_of = read_index(path)
        shards = {name: read_header(path.parent / name) for name in sorted(set(shard_of.values()))}
    except ModelFilesError as error:
        return error.message
    missing = set(shard_of)
    for shard, header in shards.items():
        for tensor in header.tensors:
            if shard_of.get(tensor) != shard:
                said = shard_of.get(tensor, "nowhere")
                return f"tensor {tensor!r} is in {shard}, and should be in {said}"
            missing.discard(tensor)
    return f"tensor {min(missing)!r} is in no shard" if missing else ""


def shard_names(index: Path) -> frozenset[str]:
    """The names of the files that an index names, none where it is not sound."""
    try:
        return frozenset(read_index(index).values())
    except ModelFilesError:
        return frozenset()


def tensor_names(folder: Path, file: str) -> frozenset[str]:
    """The names of a file's tensors, or of its shards'; none where it is missing or not sound."""
    try:
        return frozenset(name for header in _headers(folder, file) for name in header.tensors)
    except ModelFilesError:
        return frozenset()


def compare_tensors(folder: Path, file: str, expected: Shapes) -> TensorReport:
    """The file's tensors (or those of its shards) against the expected names and shapes.

    An index decides where there is one, as it does for a loader.

    Raises: ModelFilesError: the file or its index is missing or not sound.
    """
    found = {
        name: entry.shape
        for header in _headers(folder, file)
        for name, entry in header.tensors.items()
    }
    needed = {name: shape for name, shape in expected.items() if shape is not None}
    return TensorReport(
        file=file,
        missing=tuple(sorted(needed.keys() - found.keys())),
        unexpected=tuple(sorted(found.keys() - expected.keys())),
        wrong_shape=tuple(
            f"tensor {name} has shape {list(found[name])}, expected {list(needed[name])}"
            for name in sorted(needed.keys() & found.keys())
            if found[name] != tuple(needed[name])
        ),
    )


def _headers(folder: Path, file: str) -> list[Header]:
    index = folder / f"{file}.index.json"
    if not index.is_file():
        return [read_header(folder / file)]
    shards = sorted(set(read_index(index).values()))
    return [read_header(index.parent / shard) for shard in shards]
