"""Which stored tensors make up each parameter of a module: their names, and the shapes they have.

Most parameters are one tensor under another name. Some checkpoints store a weight as a gain and a
direction (weight norm), or several weights as the rows of one tensor.

Source: Salimans and Kingma, "Weight Normalization", 2016.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from torch import nn

Shape = tuple[int, ...]

# The two ways in which torch has written weight norm: gain and direction, put for ".weight".
_PAIR_ENDINGS = (
    (".parametrizations.weight.original0", ".parametrizations.weight.original1"),
    (".weight_g", ".weight_v"),
)
_WEIGHT = ".weight"


@dataclass(frozen=True)
class WeightNorm:
    """A weight that is stored as a gain [n, 1, ...] and a direction [n, ...]."""

    gain: str
    direction: str


@dataclass(frozen=True)
class Share:
    """A parameter that is the `index`-th of `n` equal shares of a tensor's rows."""

    name: str
    index: int
    n: int


Source = str | WeightNorm | Share


def tensor_names(modules: Mapping[str, nn.Module], table: Mapping[str, str]) -> dict[str, str]:
    """The tensor of every parameter; names are `part.parameter`, the longest beginning decides."""
    names = [f"{part}.{name}" for part, m in modules.items() for name, _ in m.named_parameters()]
    return {name: _renamed(name, table) for name in names}


def _renamed(name: str, table: Mapping[str, str]) -> str:
    for length in range(len(name), 0, -1):
        if (found := table.get(name[:length])) is not None:
            return found + name[length:]
    raise AssertionError(name)


def weight_norm_pair(weight: str, stored: Collection[str]) -> WeightNorm:
    """The pair that is stored for a weight, by the weight's own name.

    The form is the one of which any half is stored, so that a missing half is missed; the first
    form where there is none.
    """
    assert weight.endswith(_WEIGHT), weight
    owner = weight.removesuffix(_WEIGHT)
    pairs = [WeightNorm(owner + gain, owner + direction) for gain, direction in _PAIR_ENDINGS]
    return next((p for p in pairs if p.gain in stored or p.direction in stored), pairs[0])


def tensor_shapes(parts: Mapping[str, nn.Module], names: Mapping[str, Source]) -> dict[str, Shape]:
    """The stored tensors that the parts need, and the shape of each."""
    return dict(_shapes(parts, names))


def _shapes(
    parts: Mapping[str, nn.Module], names: Mapping[str, Source]
) -> Iterator[tuple[str, Shape]]:
    for part, module in parts.items():
        for name, parameter in module.named_parameters():
            n_rows, *others = parameter.shape
            match source := names[f"{part}.{name}"]:
                case WeightNorm():
                    yield source.gain, (n_rows, *(1 for _ in others))
                    yield source.direction, (n_rows, *others)
                case Share():
                    yield source.name, (n_rows * source.n, *others)
                case _:
                    yield source, (n_rows, *others)
