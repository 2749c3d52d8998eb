"""Files of the published model's shapes whose numbers are holes: gigabytes that take no room.

The names and shapes are those of the published files, written down independently of our tables:
`{n}` stands for the numbers of a range, and what has no dtype has the file's.
"""

import json
import struct
from collections.abc import Mapping
from itertools import product
from pathlib import Path

from menura.runtime.checkpoint import BYTES_OF_DTYPE

Entry = tuple[str, tuple[int, ...]]
_RECORDED = json.loads((Path(__file__).parent / "published_tensors.json").read_text("utf-8"))


def published_tensors(file: str) -> dict[str, Entry]:
    """Tensor -> dtype and shape, of the file `dit`, `codec` or `pca`."""
    found: dict[str, Entry] = {}
    for pattern, dtype, shape, ranges in _RECORDED[file]:
        for numbers in product(*ranges):
            found[pattern.format(*numbers)] = (dtype, tuple(shape))
    return found


def write_published(folder: Path) -> Path:
    """The folder, with sparse files of the published shapes, the autoencoder's inside."""
    codec = folder / "fish-s1-dac-min"
    codec.mkdir(parents=True)
    write_sparse(folder / "pytorch_model.safetensors", published_tensors("dit"))
    write_sparse(folder / "pca_state.safetensors", published_tensors("pca"))
    write_sparse(codec / "pytorch_model.safetensors", published_tensors("codec"))
    (codec / "config.json").write_text('{"sample_rate": 44100}', "utf-8")
    return folder


def write_sparse(path: Path, tensors: Mapping[str, Entry]) -> None:
    """A safetensors file with these tensors, all of zeros that are not written."""
    header: dict[str, object] = {}
    end = 0
    for name, (dtype, shape) in tensors.items():
        start = end
        n_bytes = BYTES_OF_DTYPE[dtype]
        for size in shape:
            n_bytes *= size
        end += n_bytes
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
