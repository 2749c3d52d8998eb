import math

import pytest
import torch
from torch import Tensor

from menura.nn.rotary import Rotary, rotate


def turned(x: list[float], position: int, theta: float = 10000.0) -> Tensor:
    rotation = Rotary(len(x), theta)(torch.tensor([[position]]))
    return rotate(torch.tensor(x)[None, None, None], rotation)[0, 0, 0]


def test_the_first_position_stays_as_it_is() -> None:
    assert turned([1.0, 2.0, 3.0, 4.0], 0).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_channel_i_is_paired_with_i_plus_half() -> None:
    # Pairs (0, 2) at 1 radian and (1, 3) at 1/10 a position; theta 100 over two pairs.
    out = turned([1.0, 1.0, 0.0, 0.0], 3, theta=100.0)
    expected = [math.cos(3), math.cos(0.3), math.sin(3), math.sin(0.3)]
    assert out.tolist() == pytest.approx(expected, abs=1e-6)


def test_a_product_of_query_and_key_knows_only_their_distance() -> None:
    generator = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 16, generator=generator).tolist()
    products = [turned(query, at + 5) @ turned(key, at) for at in (0, 7, 400)]
    assert [float(p) for p in products] == pytest.approx([float(products[0])] * 3, abs=1e-3)


def test_rows_have_their_own_positions() -> None:
    rotary = Rotary(8, 10000.0)
    both = rotary(torch.tensor([[0, 1], [5, 6]]))
    alone = rotary(torch.tensor([[5, 6]]))
    assert both.cos.shape == (2, 2, 8)
    assert torch.equal(both.sin[1:], alone.sin)


def test_the_tables_stay_float32_and_are_no_weights() -> None:
    with torch.device("meta"):
        rotary = Rotary(8, 10000.0).to(torch.bfloat16)
    rotation = rotary(torch.tensor([[1000]]))
    assert rotation.cos.dtype == torch.float32
    assert torch.equal(rotation.cos, Rotary(8, 10000.0)(torch.tensor([[1000]])).cos)
    assert rotary.state_dict() == {}
    assert rotation.to(torch.float16).sin.dtype == torch.float16
