import math

import pytest
import torch
from torch import Tensor

from menura.nn.rotary import PairRotary, Rotary


def turned(x: list[float], position: int, theta: float = 10000.0) -> Tensor:
    rotation = Rotary(len(x), theta)(torch.tensor([[position]]))
    out: Tensor = rotation.turn(torch.tensor(x)[None, None, None])[0, 0, 0]
    return out


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


def test_neighbours_are_paired_where_asked_for() -> None:
    # Pairs (0, 1) at 1 radian and (2, 3) at 1/10 a position; theta 100 over two pairs.
    rotation = PairRotary(4, 100.0)(torch.tensor([[3]]))
    [out] = rotation.turn(torch.tensor([[[[1.0, 0.0, 1.0, 0.0]]]])).flatten(0, 2).tolist()
    expected = [math.cos(3), math.sin(3), math.cos(0.3), math.sin(0.3)]
    assert out == pytest.approx(expected, abs=1e-6)


def test_both_pairings_are_the_same_turns_of_rearranged_channels() -> None:
    x = torch.randn(2, 3, 5, 16, generator=torch.Generator().manual_seed(1))
    positions = torch.arange(5)[None]
    neighbours = PairRotary(16, 10000.0)(positions).turn(x)
    rearranged = torch.cat((x[..., 0::2], x[..., 1::2]), dim=-1)
    halves = Rotary(16, 10000.0)(positions).turn(rearranged)
    expected = torch.stack(halves.chunk(2, dim=-1), dim=-1).flatten(-2)
    torch.testing.assert_close(neighbours, expected)


def test_neighbours_are_turned_in_float32_and_rounded_once() -> None:
    x = torch.randn(1, 2, 5, 8, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    rotation = PairRotary(8, 10000.0)(torch.arange(5)[None]).to(torch.bfloat16)
    assert torch.equal(rotation.turn(x), rotation.turn(x.float()).to(torch.bfloat16))


def test_a_rounded_table_still_gives_products_in_float32() -> None:
    positions = torch.arange(40)[None]
    rounded = PairRotary(8, 10000.0, torch.bfloat16)(positions).angles
    exact = PairRotary(8, 10000.0)(positions).angles
    assert torch.equal(rounded.real, exact.real.to(torch.bfloat16).float())
    assert torch.equal(rounded.imag, exact.imag.to(torch.bfloat16).float())
    x = torch.randn(1, 1, 40, 8, generator=torch.Generator().manual_seed(1))
    out = PairRotary(8, 10000.0, torch.bfloat16)(positions).turn(x)
    a, b, cos, sin = x[..., 0::2], x[..., 1::2], rounded.real, rounded.imag
    torch.testing.assert_close(out[..., 0::2], a * cos - b * sin)
    torch.testing.assert_close(out[..., 1::2], b * cos + a * sin)
