"""The frame step's weights as one list of arrays: what is packed once, stored and mapped.

`layout` says which arrays there are, `pack` makes one of them from a checkpoint's numbers, and
`build_model` points the native structs at them. All three walk the same list.

Legend: D talker width, P predictor width, V talker vocabulary, C codebook entries.
"""

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from menura.runtime.native import frame_abi as abi
from menura.speech import FloatArray

KERNEL_VERSION = 2  # of the layouts below and in tiles.h: raise it whenever one changes
MODES = ("bf16", "int8", "int4", "int8-int4")
TILE_ROWS = 16
_Read = Callable[[str], FloatArray]
Bytes = NDArray[np.uint8]


class StackSizes(Protocol):
    """The sizes of one stack of transformer blocks (as `nn.transformer.TransformerSizes`)."""

    @property
    def hidden_size(self) -> int: ...  # noqa: D102
    @property
    def intermediate_size(self) -> int: ...  # noqa: D102
    @property
    def n_layers(self) -> int: ...  # noqa: D102
    @property
    def n_heads(self) -> int: ...  # noqa: D102
    @property
    def n_kv_heads(self) -> int: ...  # noqa: D102
    @property
    def head_dim(self) -> int: ...  # noqa: D102
    @property
    def norm_eps(self) -> float: ...  # noqa: D102
    @property
    def rope_theta(self) -> float: ...  # noqa: D102


@dataclass(frozen=True)
class FrameSizes:
    """The language model's sizes. `n_slots` utterances are held, `max_rows` of them move at once.

    A slot costs memory only while it holds positions.
    """

    talker: StackSizes
    predictor: StackSizes
    n_codebooks: int
    talker_vocab_size: int
    codebook_size: int
    max_rows: int = 8
    n_slots: int = 64

    @property
    def projects(self) -> bool:
        """Whether the predictor is narrower than the talker, so that its inputs are projected."""
        return self.talker.hidden_size != self.predictor.hidden_size


@dataclass(frozen=True)
class Kinds:
    """The number format of each group of matrices."""

    talker: int
    predictor: int
    heads: int


# Heads stay at 8 bits where the rest has 4: they are few, and their error goes into every choice.
_KINDS: Mapping[str, Kinds] = {
    "bf16": Kinds(abi.BF16, abi.BF16, abi.BF16),
    "int8": Kinds(abi.INT8, abi.INT8, abi.INT8),
    "int4": Kinds(abi.INT4, abi.INT4, abi.INT8),
    "int8-int4": Kinds(abi.INT8, abi.INT4, abi.INT8),
}


@dataclass(frozen=True)
class Entry:
    """One array of the packed weights: its name and its size."""

    name: str
    n_bytes: int


@dataclass(frozen=True)
class _Part:
    """One array, where its numbers come from, and how: `kind` is None for plain float32.

    `interleaved`: 16 rows of the first source, 16 of the second, and so on. `is_table`: bf16 rows.
    """

    name: str
    sources: tuple[str, ...]
    rows: int
    columns: int
    kind: int | None = None
    interleaved: bool = False
    is_table: bool = False

    @property
    def n_bytes(self) -> int:
        """The size of the array."""
        if self.kind is not None:
            n: int = abi.functions().menura_matrix_bytes(self.kind, self.rows, self.columns)
            return n
        return self.rows * self.columns * (2 if self.is_table else 4)


def layout(sizes: FrameSizes, mode: str) -> tuple[Entry, ...]:
    """The packed arrays in the order in which they are stored. Raises: UnsupportedError."""
    return tuple(Entry(part.name, part.n_bytes) for part in _parts(sizes, mode))


def pack(entry: Entry, read: _Read, sizes: FrameSizes, mode: str) -> Bytes:
    """One packed array [n_bytes]; `read` gives a parameter's float32 numbers by its name in torch.

    Raises: UnsupportedError: there is no native library here.
    """
    part = next(part for part in _parts(sizes, mode) if part.name == entry.name)
    numbers = _numbers(part, read)
    if part.is_table:
        return _bf16(numbers).view(np.uint8).reshape(-1)
    if part.kind is None:
        return numbers.view(np.uint8).reshape(-1)
    packed = np.empty(part.n_bytes, np.uint8)
    status = abi.functions().menura_pack_matrix(
        part.kind, part.rows, part.columns, abi.address(numbers), abi.address(packed)
    )
    assert status == 0, "the part's own sizes are wrong"
    return packed


def _numbers(part: _Part, read: _Read) -> FloatArray:
    """The part's numbers [rows, columns], put together from its sources."""
    found = [np.ascontiguousarray(read(name), np.float32) for name in part.sources]
    if part.interleaved:
        blocks = [numbers.reshape(-1, TILE_ROWS, part.columns) for numbers in found]
        found = [np.stack(blocks, axis=1)]
    joined = np.concatenate([numbers.reshape(-1, part.columns) for numbers in found])
    assert joined.shape == (part.rows, part.columns), part.name
    return joined


def _bf16(numbers: FloatArray) -> NDArray[np.uint16]:
    """The numbers rounded to bf16, ties to even; the published embeddings are bf16 already."""
    bits = numbers.view(np.uint32)
    rounding = (bits >> np.uint32(16) & np.uint32(1)) + np.uint32(0x7FFF)
    return ((bits + rounding) >> np.uint32(16)).astype(np.uint16)


def _parts(sizes: FrameSizes, mode: str) -> Iterator[_Part]:
    kinds = _KINDS[mode]
    width, others = sizes.talker.hidden_size, range(sizes.n_codebooks - 1)
    yield from _stack_parts("talker", "talker.transformer", sizes.talker, kinds.talker)
    yield from _stack_parts(
        "predictor", "code_predictor.transformer", sizes.predictor, kinds.predictor
    )
    vocabulary, entries = sizes.talker_vocab_size, sizes.codebook_size
    yield _Part("talker.head", ("talker.codec_head.weight",), vocabulary, width, kinds.heads)
    for i in others:
        source = f"code_predictor.heads.{i}.weight"
        size = sizes.predictor.hidden_size
        yield _Part(f"predictor.head.{i}", (source,), entries, size, kinds.heads)
    source = "talker.codec_embedding.weight"
    yield _Part("talker.embedding", (source,), vocabulary, width, is_table=True)
    for i in others:
        source = f"code_predictor.embeddings.{i}.weight"
        yield _Part(f"predictor.embedding.{i}", (source,), entries, width, is_table=True)
    if sizes.projects:
        name, size = "code_predictor.projection", sizes.predictor.hidden_size
        yield _Part("projection", (f"{name}.weight",), size, width, kinds.heads)
        yield _Part("projection.bias", (f"{name}.bias",), 1, size)


def _stack_parts(name: str, source: str, sizes: StackSizes, kind: int) -> Iterator[_Part]:
    size, inner, head_dim = sizes.hidden_size, sizes.intermediate_size, sizes.head_dim
    gathered = sizes.n_heads * head_dim
    for i in range(sizes.n_layers):
        block, at = f"{source}.blocks.{i}", f"{name}.{i}"
        attention = f"{block}.attention"
        qkv = tuple(f"{attention}.{part}.weight" for part in ("query", "key", "value"))
        rows = gathered + 2 * sizes.n_kv_heads * head_dim
        yield _Part(f"{at}.qkv", qkv, rows, size, kind)
        yield _Part(f"{at}.output", (f"{attention}.output.weight",), size, gathered, kind)
        network = f"{block}.feed_forward"
        gate_up = (f"{network}.gate.weight", f"{network}.up.weight")
        yield _Part(f"{at}.gate_up", gate_up, 2 * inner, size, kind, interleaved=True)
        yield _Part(f"{at}.down", (f"{network}.down.weight",), size, inner, kind)
        yield _Part(f"{at}.attention_norm", (f"{block}.attention_norm.weight",), 1, size)
        yield _Part(f"{at}.feed_forward_norm", (f"{block}.feed_forward_norm.weight",), 1, size)
        yield _Part(f"{at}.query_norm", (f"{attention}.query_norm.weight",), 1, head_dim)
        yield _Part(f"{at}.key_norm", (f"{attention}.key_norm.weight",), 1, head_dim)
    yield _Part(f"{name}.final_norm", (f"{source}.final_norm.weight",), 1, size)


@dataclass(frozen=True)
class BuiltModel:
    """The native struct, and what it points at."""

    struct: abi.Model
    kept: Sequence[object]


def build_model(sizes: FrameSizes, mode: str, arrays: Mapping[str, Bytes]) -> BuiltModel:
    """The native struct over packed arrays [n_bytes], one for each entry of `layout`."""
    parts = {part.name: part for part in _parts(sizes, mode)}
    for name, part in parts.items():
        assert arrays[name].nbytes == part.n_bytes, name
    heads = [f"predictor.head.{i}" for i in range(sizes.n_codebooks - 1)]
    tables = [f"predictor.embedding.{i}" for i in range(sizes.n_codebooks - 1)]
    head_structs = (abi.Matrix * len(heads))(*(_matrix(parts[n], arrays[n]) for n in heads))
    table_addresses = (ctypes.c_void_p * len(tables))(*(abi.address(arrays[n]) for n in tables))
    model = abi.Model(
        talker=_stack("talker", sizes.talker, parts, arrays),
        predictor=_stack("predictor", sizes.predictor, parts, arrays),
        talker_head=_matrix(parts["talker.head"], arrays["talker.head"]),
        predictor_heads=head_structs,
        talker_embedding=abi.address(arrays["talker.embedding"]),
        predictor_embeddings=table_addresses,
        n_codebooks=sizes.n_codebooks,
        talker_vocab=sizes.talker_vocab_size,
        codebook_size=sizes.codebook_size,
        n_slots=sizes.n_slots,
    )
    if sizes.projects:
        model.projection = _matrix(parts["projection"], arrays["projection"])
        model.projection_bias = abi.address(arrays["projection.bias"])
    return BuiltModel(model, (head_structs, table_addresses, dict(arrays)))


def _matrix(part: _Part, array: Bytes) -> abi.Matrix:
    return abi.Matrix(part.kind, part.rows, part.columns, 0, abi.address(array))


def _stack(
    name: str, sizes: StackSizes, parts: Mapping[str, _Part], arrays: Mapping[str, Bytes]
) -> abi.Stack:
    matrices = ("qkv", "output", "gate_up", "down")
    norms = ("attention_norm", "feed_forward_norm", "query_norm", "key_norm")
    layers = []
    for i in range(sizes.n_layers):
        of = {field: f"{name}.{i}.{field}" for field in (*matrices, *norms)}
        layers.append(
            abi.Layer(
                **{field: _matrix(parts[of[field]], arrays[of[field]]) for field in matrices},
                **{field: abi.address(arrays[of[field]]) for field in norms},
            )
        )
    return abi.Stack(
        sizes.hidden_size,
        sizes.intermediate_size,
        sizes.n_layers,
        sizes.n_heads,
        sizes.n_kv_heads,
        sizes.head_dim,
        sizes.norm_eps,
        sizes.rope_theta,
        (abi.Layer * len(layers))(*layers),
        abi.address(arrays[f"{name}.final_norm"]),
    )
