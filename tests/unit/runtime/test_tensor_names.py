import pytest
import torch
from torch import nn

from menura.runtime.tensor_names import (
    Share,
    Source,
    WeightNorm,
    tensor_names,
    tensor_shapes,
    weight_norm_pair,
)

NEWER = WeightNorm("a.parametrizations.weight.original0", "a.parametrizations.weight.original1")
OLDER = WeightNorm("a.weight_g", "a.weight_v")


def test_the_longest_beginning_of_a_name_decides() -> None:
    modules = {"part": nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))}
    table = {"part.": "model.", "part.1.": "head.", "part.1.bias": "offset"}

    assert tensor_names(modules, table) == {
        "part.0.weight": "model.0.weight",
        "part.0.bias": "model.0.bias",
        "part.1.weight": "head.weight",
        "part.1.bias": "offset",
    }


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ((NEWER.gain, NEWER.direction), NEWER),
        ((OLDER.gain, OLDER.direction), OLDER),
        ((OLDER.direction,), OLDER),
        ((OLDER.gain,), OLDER),
        (("a.weight",), NEWER),
        ((), NEWER),
    ],
)
def test_a_weight_norm_has_the_form_of_which_any_half_is_stored(
    stored: tuple[str, ...], expected: WeightNorm
) -> None:
    assert weight_norm_pair("a.weight", stored) == expected


def test_the_shapes_of_what_is_stored_follow_the_parameters() -> None:
    with torch.device("meta"):
        parts: dict[str, nn.Module] = {"conv": nn.Conv1d(4, 6, 5), "linear": nn.Linear(4, 2)}
    names: dict[str, Source] = {
        "conv.weight": OLDER,
        "conv.bias": "b",
        "linear.weight": Share("fused", 2, 3),
        "linear.bias": "c",
    }

    assert tensor_shapes(parts, names) == {
        "a.weight_g": (6, 1, 1),
        "a.weight_v": (6, 4, 5),
        "b": (6,),
        "fused": (6, 4),
        "c": (2,),
    }
