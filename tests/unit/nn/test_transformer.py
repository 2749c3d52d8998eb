from dataclasses import dataclass

import torch
from torch import Tensor, nn

from menura.nn.attention import Attention
from menura.nn.feed_forward import GeluNetwork
from menura.nn.rotary import PairRotary, Rotary
from menura.nn.transformer import Block, LayerScale, Transformer, gated_transformer
from menura.runtime.kv_cache import GrowingCache
from tests.unit.nn.random_weights import fill


@dataclass(frozen=True)
class Sizes:
    hidden_size: int = 12
    intermediate_size: int = 20
    n_layers: int = 3
    n_heads: int = 4
    n_kv_heads: int = 2
    head_dim: int = 8
    norm_eps: float = 1e-6
    rope_theta: float = 10000.0


def transformer(*, qk_norm: bool = True, layer_scale: bool = False) -> Transformer:
    module = gated_transformer(Sizes(), qk_norm=qk_norm, layer_scale=layer_scale)
    fill(module)
    return module


def inputs(n_positions: int) -> Tensor:
    return torch.randn(1, n_positions, 12, generator=torch.Generator().manual_seed(1))


def run(
    module: Transformer, x: Tensor, start: int = 0, cache: GrowingCache | None = None
) -> Tensor:
    positions = torch.arange(start, start + x.shape[1])[None]
    out: Tensor = module(x, positions, None, cache)
    return out


def test_no_position_sees_a_later_one() -> None:
    x = inputs(7).requires_grad_()
    [gradient] = torch.autograd.grad(run(transformer(), x)[0, 3].square().sum(), x)
    assert gradient[0, 4:].abs().max() == 0
    assert (gradient[0, :4].abs().amax(dim=-1) > 0).all()


def test_step_by_step_equals_the_whole() -> None:
    module, x = transformer(), inputs(7)
    cache = GrowingCache()
    pieces = [run(module, x[:, :3], cache=cache)]
    pieces += [run(module, x[:, t : t + 1], start=t, cache=cache) for t in range(3, 7)]
    assert cache.n_positions == 7
    assert torch.allclose(torch.cat(pieces, dim=1), run(module, x), atol=1e-4)


def test_only_distances_between_positions_count() -> None:
    module, x = transformer(qk_norm=False), inputs(5)
    assert torch.allclose(run(module, x), run(module, x, start=100), atol=1e-3)


def test_a_row_does_not_know_its_neighbours() -> None:
    module = transformer()
    rows = torch.cat((inputs(5), inputs(5).flip(1)))
    positions = torch.stack((torch.arange(5), torch.arange(40, 45)))
    both = module(rows, positions)
    assert torch.allclose(both[1:], module(rows[1:], positions[1:]), atol=1e-4)


def test_layers_scaled_by_zero_leave_only_the_final_norm() -> None:
    module, x = transformer(layer_scale=True), inputs(4)
    scales = [part for part in module.modules() if isinstance(part, LayerScale)]
    assert len(scales) == 2 * Sizes.n_layers
    for scale in scales:
        nn.init.zeros_(scale.weight)
    assert torch.equal(run(module, x), module.final_norm(x))


def test_blocks_can_be_made_of_other_parts() -> None:
    block = Block(
        Attention(12, 4, 4, 8, layer=0),
        GeluNetwork(12, 20),
        norms=(nn.LayerNorm(12), nn.LayerNorm(12)),
        scales=(LayerScale(12), LayerScale(12)),
    )
    module = Transformer([block], nn.Identity(), Rotary(8, 10000.0))
    fill(module)
    x = inputs(4).requires_grad_()
    out = run(module, x)
    [gradient] = torch.autograd.grad(out[0, 1].sum(), x)
    assert gradient[0, 2:].abs().max() == 0
    by_hand = x + block.attention_scale(
        block.attention(block.attention_norm(x), module.rotary(torch.arange(4)[None]), None, None)
    )
    by_hand = by_hand + block.feed_forward_scale(
        block.feed_forward(block.feed_forward_norm(by_hand))
    )
    assert torch.equal(out, by_hand)


def test_it_is_built_without_memory() -> None:
    with torch.device("meta"):
        module = gated_transformer(Sizes(), qk_norm=True, layer_scale=True)
    assert {parameter.device.type for parameter in module.parameters()} == {"meta"}
    filled = transformer(layer_scale=True)
    module.load_state_dict(filled.state_dict(), assign=True)
    assert torch.equal(run(module, inputs(4)), run(filled, inputs(4)))


def test_the_pairing_of_channels_can_be_chosen() -> None:
    module, x = transformer(), inputs(5)
    other = gated_transformer(Sizes(), qk_norm=True, rotary=PairRotary(8, 10000.0))
    other.load_state_dict(module.state_dict())
    assert not torch.allclose(run(other, x), run(module, x), atol=1e-2)
    # The same turns, once the channels of queries and keys are rearranged.
    order = torch.arange(8).view(2, 4).T.flatten()
    for part in other.modules():
        if isinstance(part, Attention):
            for layer in (part.query, part.key):
                heads = layer.weight.data.view(-1, 8, 12)
                layer.weight.data = heads[:, order].reshape(layer.weight.shape)
            for norm in (part.query_norm, part.key_norm):
                norm.get_parameter("weight").data = norm.get_parameter("weight").data[order]
    torch.testing.assert_close(run(other, x), run(module, x), rtol=0, atol=1e-4)
