"""A safetensors header comes back as it was written; what is damaged can do no worse than fail."""

import json
import math
import struct
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from menura.errors import ModelFilesError
from menura.runtime.checkpoint import BYTES_OF_DTYPE, Header, TensorEntry, read_header

shapes = st.lists(st.integers(0, 5), max_size=4).map(tuple)
layouts = st.dictionaries(
    st.text(min_size=1, max_size=12).filter(lambda name: name != "__metadata__"),
    st.tuples(st.sampled_from(sorted(BYTES_OF_DTYPE)), shapes),
    max_size=6,
)


def write(layout: dict[str, tuple[str, tuple[int, ...]]]) -> tuple[bytes, dict[str, TensorEntry]]:
    """A file with these tensors one after another, and the entries that should be read."""
    entries: dict[str, TensorEntry] = {}
    end = 0
    for name, (dtype, shape) in layout.items():
        start, end = end, end + BYTES_OF_DTYPE[dtype] * math.prod(shape)
        entries[name] = TensorEntry(dtype, shape, start, end)
    header = json.dumps({
        name: {"dtype": e.dtype, "shape": e.shape, "data_offsets": [e.start, e.end]}
        for name, e in entries.items()
    }).encode()  # fmt: skip
    return struct.pack("<Q", len(header)) + header + bytes(end), entries


def read(content: bytes) -> Header:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(content)
        return read_header(path)


@given(layouts)
def test_a_header_comes_back_as_it_was_written(
    layout: dict[str, tuple[str, tuple[int, ...]]],
) -> None:
    content, entries = write(layout)
    assert dict(read(content).tensors) == entries


@given(layouts, st.data())
def test_a_changed_file_fails_or_still_owns_every_byte_once(
    layout: dict[str, tuple[str, tuple[int, ...]]], data: st.DataObject
) -> None:
    content, _ = write(layout)
    place = data.draw(st.integers(0, len(content) - 1))
    changed = data.draw(st.binary(max_size=3))
    content = content[:place] + changed + content[place + data.draw(st.integers(0, 3)) :]
    try:
        header = read(content)
    except ModelFilesError:
        return
    owned = sum(tensor.n_bytes for tensor in header.tensors.values())
    assert header.data_start + owned == len(content)
