"""Layers to a program: the operations that the native library runs, and their packed weights.

An operation is a heavy layer with the light ones behind it: a convolution adds the residual, keeps
the sum for the next one, bends it by an activation and hands it on.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from menura.runtime.native.codec_layers import (
    Attention,
    Conv,
    Gated,
    Gelu,
    Layer,
    Lookup,
    Mix,
    Output,
    Residual,
    RmsNorm,
    Snake,
)
from menura.runtime.native.codec_places import (
    TILE,
    Place,
    evenly,
    head_place,
    rounded_up,
    spread,
    tiles,
)

PROGRAM_VERSION = 1  # part of a packed file's origin: raise it whenever bytes change their meaning

_HALF = 16
_ALIGNMENT = 64
# Where a frame has so few steps, reading weights takes the time: acts in float32 are free there.
_WIDE_STEPS = 2

# struct CodecOp of codec.h, in its order.
_FIELDS = (
    "kind", "in_channels", "out_channels", "rate", "steps", "taps", "dilation", "activation",
    "adds", "keeps", "feeds", "scratches", "reads_wide", "writes_wide",
    "weights", "bias", "frequency", "scale",
    "codebooks", "entries", "first_group", "heads", "kv_heads", "head_size", "window",
)  # fmt: skip
OP = np.dtype([*((name, np.int64) for name in _FIELDS), ("eps", np.float64)])


class CodecMode(StrEnum):
    """The format of the weights; sums, norms, attention and residuals are float32 in both."""

    EXACT = "exact"
    BF16 = "bf16"


@dataclass(frozen=True, eq=False)
class Program:
    """A decoder for the native library: operations (`OP`) and weights uint8 [n_bytes]."""

    mode: CodecMode
    ops: NDArray[np.void]
    weights: NDArray[np.uint8]

    @property
    def n_codebooks(self) -> int:
        """Codes of a frame."""
        return int(self.ops[0]["codebooks"])

    @property
    def codebook_size(self) -> int:
        """Entries of a codebook."""
        return int(self.ops[0]["entries"])

    @property
    def samples_per_frame(self) -> int:
        """Samples that a frame is decoded to."""
        return int(self.ops[-1]["steps"])


class _Kind(IntEnum):
    LOOKUP, CONVOLUTION, MIX, NORM, ATTENTION, OUTPUT = range(6)


class _Activation(IntEnum):
    NONE, SNAKE, GELU, GATED, TANH, CLAMP = range(6)


class _Mark(IntEnum):
    """The two ends of a residual branch, in the flat list of layers."""

    SAVE, ADD = range(2)


@dataclass
class _Ends:
    """What stands behind a heavy layer, up to the next one."""

    adds: bool = False
    keeps: bool = False
    activation: Snake | Gelu | Gated | None = None


Heavy = Lookup | Conv | RmsNorm | Mix | Attention | Output


def lower(layers: Iterable[Layer], mode: CodecMode) -> Program:
    """The program of these layers: a `Lookup` first, an `Output` last."""
    return _Lowering(mode).program(_grouped(layers))


def _flat(layers: Iterable[Layer]) -> Iterator[Layer | _Mark]:
    """The layers without nesting."""
    for layer in layers:
        if isinstance(layer, Residual):
            yield from chain([_Mark.SAVE], _flat(layer.inner), [_Mark.ADD])
        else:
            yield layer


def _grouped(layers: Iterable[Layer]) -> Iterator[tuple[Heavy, _Ends, Heavy | None]]:
    """Each heavy layer with what is fused into its end, and the heavy layer behind it.

    A layer is asked for when the one before it was taken: only few of them exist at a time.
    """
    held: Heavy | None = None
    ends = _Ends()
    for layer in _flat(layers):
        assert not isinstance(layer, Residual), "the list is flat"
        if isinstance(layer, Snake | Gelu | Gated):
            ends.activation = layer
        elif layer is _Mark.ADD:
            ends.adds = True
        elif layer is _Mark.SAVE:
            ends.keeps = True
        elif not isinstance(layer, _Mark):
            if held is not None:
                yield held, ends, layer
            held, ends = layer, _Ends()
    assert held is not None, "a program has layers"
    yield held, ends, None


@dataclass
class _Lowering:
    """One walk over the layers, which follows the channels' places and the steps of a frame."""

    mode: CodecMode
    ops: list[dict[str, float]] = field(default_factory=list)
    blob: bytearray = field(default_factory=bytearray)
    steps: int = 1
    place: Place = field(default_factory=lambda: evenly(0))
    offsets: dict[int, int] = field(default_factory=dict)

    def program(self, groups: Iterable[tuple[Heavy, _Ends, Heavy | None]]) -> Program:
        """The operations and weights of all layers."""
        for layer, ends, after in groups:
            self._lower(layer, ends, after)
        ops = np.zeros(len(self.ops), OP)
        for index, values in enumerate(self.ops):
            for name, value in values.items():
                ops[index][name] = value
        ops["reads_wide"][:-1] = ops["steps"][:-1] <= _WIDE_STEPS
        ops["writes_wide"][:-1] = ops["reads_wide"][1:]
        return Program(self.mode, ops, np.frombuffer(self.blob, np.uint8))

    def _lower(self, layer: Heavy, ends: _Ends, after: Heavy | None) -> None:
        match layer:
            case Lookup():
                self._lookup(layer)
            case Conv():
                self._conv(layer, ends, after)
            case RmsNorm():
                self._norm(_Kind.NORM, layer.eps)
            case Mix():
                self._mix(layer)
            case Attention():
                self._attention(layer)
            case Output():
                self._output(layer)

    def _add(self, kind: _Kind, out: Place, **values: float) -> None:
        """One more operation, from the place where the channels are to another."""
        sizes = {"in_channels": self.place.size or out.size, "out_channels": out.size}
        fixed = {"kind": kind, "steps": self.steps, "rate": 1, "taps": 1, "dilation": 1}
        self.ops.append(fixed | sizes | {"window": 1} | values)
        self.place = out
        self.steps *= int(values.get("rate", 1))

    def _write(self, array: NDArray[np.generic]) -> int:
        """Where the array stands among the weights after it was appended."""
        offset = len(self.blob)
        self.blob += np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        self.blob += bytes(-len(self.blob) % _ALIGNMENT)
        return offset

    def _lookup(self, layer: Lookup) -> None:
        n_entries, size = layer.groups[0].shape[1:]
        group_size = rounded_up(size, TILE)
        tables = np.concatenate(layer.groups)
        padded = np.zeros((len(tables), n_entries, group_size), np.float32)
        padded[..., :size] = tables
        at = [group * group_size + np.arange(size) for group in range(len(layer.groups))]
        self._add(
            _Kind.LOOKUP,
            Place(np.concatenate(at), len(layer.groups) * group_size),
            weights=self._write(padded),
            codebooks=len(tables),
            entries=n_entries,
            first_group=len(layer.groups[0]),
        )

    def _conv(self, layer: Conv, ends: _Ends, after: Heavy | None) -> None:
        rows, out = _rows(layer, ends, after)
        weight = np.zeros((rows.size, self.place.size, layer.weight.shape[2]), np.float32)
        weight[rows.at[:, None], self.place.at[None, :]] = layer.weight
        reads_stream = isinstance(after, RmsNorm | Mix)
        is_fed = isinstance(after, Conv | Output)
        self._add(
            _Kind.CONVOLUTION,
            out,
            rate=layer.rate,
            taps=layer.weight.shape[2],
            dilation=layer.dilation,
            adds=ends.adds,
            keeps=ends.keeps or reads_stream,
            feeds=is_fed,
            scratches=isinstance(after, Attention),
            weights=self._write(tiles(weight, is_bfloat16=self.mode is CodecMode.BF16)),
            bias=self._write(spread(layer.bias, rows)),
            **self._activation(ends.activation, rows, layer.rate),
        )

    def _activation(
        self, layer: Snake | Gelu | Gated | None, rows: Place, rate: int
    ) -> dict[str, float]:
        """The fields of what bends a convolution's output."""
        match layer:
            case Snake():
                frequency = self._write(spread(np.tile(layer.frequency, rate), rows))
                scale = self._write(spread(np.tile(layer.scale, rate), rows))
                return {"activation": _Activation.SNAKE, "frequency": frequency, "scale": scale}
            case Gelu():
                return {"activation": _Activation.GELU}
            case Gated():
                return {"activation": _Activation.GATED}
            case None:
                return {"activation": _Activation.NONE}

    def _norm(self, kind: _Kind, eps: float, **values: float) -> None:
        self._add(kind, self.place, entries=len(self.place.at), eps=eps, **values)

    def _mix(self, layer: Mix) -> None:
        taps = layer.weight.shape[1]
        weight = np.zeros((taps, self.place.size), np.float32)
        weight[:, self.place.at] = layer.weight.T
        weights, bias = self._write(weight), self._write(spread(layer.bias, self.place))
        self._norm(_Kind.MIX, layer.eps, taps=taps, weights=weights, bias=bias)

    def _attention(self, layer: Attention) -> None:
        head_size = rounded_up(layer.head_dim, TILE)
        frequencies = np.zeros(head_size // 2, np.float32)
        frequencies[: layer.head_dim // 2] = layer.frequencies
        key = hash(frequencies.tobytes())
        if key not in self.offsets:  # all layers share one table
            self.offsets[key] = self._write(frequencies)
        self._add(
            _Kind.ATTENTION,
            head_place(layer.n_heads, layer.head_dim),
            frequency=self.offsets[key],
            heads=layer.n_heads,
            kv_heads=layer.n_kv_heads,
            head_size=head_size,
            window=layer.window,
        )

    def _output(self, layer: Output) -> None:
        taps = layer.weight.shape[1]
        weight = np.zeros((taps, self.place.size), np.float32)
        weight[:, self.place.at] = layer.weight.T
        self._add(
            _Kind.OUTPUT,
            evenly(1),
            taps=taps,
            activation=_Activation.TANH if layer.is_tanh else _Activation.CLAMP,
            weights=self._write(weight),
            bias=self._write(np.array([layer.bias], np.float32)),
        )


def _rows(layer: Conv, ends: _Ends, after: Heavy | None) -> tuple[Place, Place]:
    """Where a convolution's rows stand in its weights, and its channels in what it gives."""
    n_rows = len(layer.weight)
    if isinstance(after, Attention):
        place = head_place(after.n_heads + 2 * after.n_kv_heads, after.head_dim)
        return place, place
    if isinstance(ends.activation, Gated):
        out = evenly(n_rows // 2)
        gates = out.at // _HALF * TILE + out.at % _HALF
        return Place(np.concatenate([gates, gates + _HALF]), 2 * out.size), out
    out = evenly(n_rows // layer.rate)
    at = np.arange(layer.rate)[:, None] * out.size + out.at
    return Place(at.reshape(-1), layer.rate * out.size), out
