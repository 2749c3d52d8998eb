import pytest
import torch
from torch import Tensor, nn

from menura.nn.causal_conv import ConvMemory
from menura.nn.codec_blocks import LatentUpsampling, ResidualUnit, UpsamplingBlock
from menura.nn.snake import Snake, SnakeBeta
from tests.unit.nn.random_weights import fill

BLOCKS = {
    "unit": (ResidualUnit(4, 3, Snake), 1),
    "block": (UpsamplingBlock(4, 2, 3, SnakeBeta), 3),
    "latents": (LatentUpsampling(4, 2), 2),
}
for block, _ in BLOCKS.values():
    fill(block)


def inputs(n_steps: int) -> Tensor:
    return torch.randn(1, 4, n_steps, generator=torch.Generator().manual_seed(1))


@torch.no_grad()
@pytest.mark.parametrize("name", BLOCKS)
def test_pieces_join_to_the_whole(name: str) -> None:
    block, rate = BLOCKS[name]
    x, memory = inputs(9), ConvMemory()
    whole = block(x)
    assert whole.shape[-1] == 9 * rate
    pieces = [block(x[..., first:last], memory) for first, last in ((0, 1), (1, 5), (5, 9))]
    torch.testing.assert_close(torch.cat(pieces, dim=-1), whole, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", BLOCKS)
def test_no_step_sees_a_later_one(name: str) -> None:
    block, rate = BLOCKS[name]
    x = inputs(9).requires_grad_()
    block(x)[..., : 4 * rate].square().sum().backward()
    assert x.grad is not None
    assert x.grad[..., :4].abs().amax(dim=1).min() > 0
    assert x.grad[..., 4:].abs().max() == 0


@torch.no_grad()
def test_a_unit_adds_to_its_input_and_leaves_that_as_it_was() -> None:
    unit = ResidualUnit(4, 3, lambda channels: nn.Identity())
    fill(unit)
    x = inputs(9)
    before = x.clone()
    out = unit(x)
    assert torch.equal(x, before)
    torch.testing.assert_close(out - x, unit.pointwise(unit.dilated(x)), rtol=0, atol=1e-6)
