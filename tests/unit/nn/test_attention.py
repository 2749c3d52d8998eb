import math

import pytest
import torch
from torch import Tensor

from menura.nn.attention import Attention
from menura.nn.rotary import Rotary
from menura.runtime.kv_cache import GrowingCache
from tests.unit.nn.random_weights import fill

HIDDEN, HEADS, KV_HEADS, HEAD_DIM = 12, 4, 2, 8


def attention(qk_norm_eps: float | None = 1e-6) -> Attention:
    module = Attention(HIDDEN, HEADS, KV_HEADS, HEAD_DIM, layer=0, qk_norm_eps=qk_norm_eps)
    fill(module)
    return module


def inputs(n_positions: int, seed: int = 1) -> Tensor:
    return torch.randn(1, n_positions, HIDDEN, generator=torch.Generator().manual_seed(seed))


def attend(
    module: Attention,
    x: Tensor,
    start: int = 0,
    mask: Tensor | None = None,
    cache: GrowingCache | None = None,
) -> Tensor:
    positions = torch.arange(start, start + x.shape[1])[None]
    rotation = Rotary(HEAD_DIM, 10000.0)(positions)
    out: Tensor = module(x, rotation, mask, cache)
    return out


def causal(n_positions: int) -> Tensor:
    return torch.ones(n_positions, n_positions, dtype=torch.bool).tril()[None, None]


def by_hand(module: Attention, x: Tensor) -> Tensor:
    """One position and one head at a time."""
    rotation = Rotary(HEAD_DIM, 10000.0)(torch.arange(x.shape[1])[None])
    heads = [
        layer(x)[0].view(-1, n, HEAD_DIM)
        for layer, n in ((module.query, HEADS), (module.key, KV_HEADS), (module.value, KV_HEADS))
    ]
    queries = rotation.turn(module.query_norm(heads[0]).transpose(0, 1)[None])[0]
    keys = rotation.turn(module.key_norm(heads[1]).transpose(0, 1)[None])[0]
    rows = []
    for t in range(x.shape[1]):
        gathered = []
        for h in range(HEADS):
            g = h // (HEADS // KV_HEADS)
            weights = (keys[g, : t + 1] @ queries[h, t] / math.sqrt(HEAD_DIM)).softmax(0)
            gathered.append(weights @ heads[2][: t + 1, g])
        rows.append(torch.cat(gathered))
    out: Tensor = module.output(torch.stack(rows))
    return out[None]


@pytest.mark.parametrize("qk_norm_eps", [None, 1e-6])
def test_equals_the_formula(qk_norm_eps: float | None) -> None:
    module, x = attention(qk_norm_eps), inputs(6)
    assert torch.allclose(attend(module, x), by_hand(module, x), atol=1e-5)


def test_a_causal_mask_says_the_same_as_none() -> None:
    module, x = attention(), inputs(6)
    assert torch.allclose(attend(module, x), attend(module, x, mask=causal(6)), atol=1e-5)


def test_no_position_sees_a_later_one() -> None:
    module, x = attention(), inputs(6).requires_grad_()
    [gradient] = torch.autograd.grad(attend(module, x)[0, 3].sum(), x)
    assert gradient[0, 4:].abs().max() == 0
    assert (gradient[0, :4].abs().amax(dim=-1) > 0).all()


def test_one_position_after_cached_ones_equals_the_whole() -> None:
    module, x = attention(), inputs(6)
    cache = GrowingCache()
    pieces = [attend(module, x[:, :4], cache=cache)]
    pieces += [attend(module, x[:, t : t + 1], start=t, cache=cache) for t in (4, 5)]
    assert torch.allclose(torch.cat(pieces, dim=1), attend(module, x), atol=1e-5)


def test_several_positions_after_cached_ones_need_a_mask() -> None:
    module, x = attention(), inputs(6)
    cache = GrowingCache()
    attend(module, x[:, :4], cache=cache)
    with pytest.raises(AssertionError, match="need a mask"):
        attend(module, x[:, 4:], start=4, cache=cache)


def test_several_positions_after_cached_ones_with_a_mask_equal_the_whole() -> None:
    module, x = attention(), inputs(6)
    cache = GrowingCache()
    first = attend(module, x[:, :4], cache=cache)
    rest = attend(module, x[:, 4:], start=4, mask=causal(6)[:, :, 4:], cache=cache)
    assert torch.allclose(torch.cat((first, rest), dim=1), attend(module, x), atol=1e-5)


def test_masked_positions_have_no_part() -> None:
    module, x = attention(), inputs(5)
    window = torch.ones(5, 5, dtype=torch.bool).tril() & torch.ones(5, 5, dtype=torch.bool).triu(-1)
    x = x.requires_grad_()
    out = attend(module, x, mask=window[None, None])
    [gradient] = torch.autograd.grad(out[0, 4].sum(), x)
    assert gradient[0, :3].abs().max() == 0
    assert gradient[0, 3:].abs().min() > 0
