import pytest
import torch

from menura.nn.norm import RMSNorm
from tests.unit.nn.random_weights import fill


def norm_of(weight: list[float], eps: float = 0.0) -> RMSNorm:
    norm = RMSNorm(len(weight), eps)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor(weight))
    return norm


def test_divides_by_the_root_of_the_mean_square() -> None:
    # The mean square of 1 and 7 is 25.
    assert (
        norm_of([1.0, 2.0])(torch.tensor([1.0, 7.0])).tolist() == torch.tensor([0.2, 2.8]).tolist()
    )


def test_eps_is_added_to_the_mean_square() -> None:
    out = norm_of([1.0, 1.0], eps=9.0)(torch.tensor([4.0, 4.0]))
    assert out.tolist() == pytest.approx([0.8, 0.8])


def test_half_precision_is_rounded_once_before_the_weight() -> None:
    norm = RMSNorm(64, 1e-6)
    fill(norm)
    norm = norm.to(torch.bfloat16)
    x = torch.randn(5, 64, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    wide = x.float() / (x.float().pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()
    out = norm(x)
    assert out.dtype == torch.bfloat16
    # The square root and its reciprocal may fall on two sides of a rounding step.
    expected = norm.weight * wide.to(torch.bfloat16)
    assert (out != expected).sum() <= 3
    assert torch.allclose(out.float(), expected.float(), rtol=2**-7)


def test_large_values_do_not_overflow_in_half_precision() -> None:
    out = norm_of([1.0, 1.0]).to(torch.float16)(torch.tensor([6e4, -6e4], dtype=torch.float16))
    assert out.tolist() == [1.0, -1.0]


def test_the_weight_comes_before_the_rounding_where_asked_for() -> None:
    norm = RMSNorm(64, 1e-6, weight_first=True)
    fill(norm)
    norm = norm.to(torch.bfloat16)
    x = torch.randn(5, 64, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)
    wide = RMSNorm(64, 1e-6)
    wide.load_state_dict(norm.state_dict())
    assert torch.equal(norm(x), wide.float()(x.float()).to(torch.bfloat16))
    rounded_before = norm.weight * wide.float()(x.float()).div(norm.weight).to(torch.bfloat16)
    assert not torch.equal(norm(x), rounded_before)


def test_heads_are_normed_one_by_one_with_weights_of_their_own() -> None:
    norm = RMSNorm((2, 2), 0.0)
    with torch.no_grad():
        norm.weight.copy_(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    # The mean squares are 25 and 100.
    out = norm(torch.tensor([[[1.0, 7.0], [10.0, 10.0]]]))
    assert out.flatten().tolist() == pytest.approx([0.2, 2.8, 3.0, 4.0])
