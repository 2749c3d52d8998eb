import math

import pytest
import torch
from torch import Tensor

from menura.engines.echo_tts.timestep import (
    AdaptiveNorm,
    Modulation,
    TimestepConditioning,
    timestep_embedding,
)
from tests.unit.nn.random_weights import fill

HIDDEN, RANK = 6, 2


def adaptive_norm() -> AdaptiveNorm:
    norm = AdaptiveNorm(HIDDEN, RANK, eps=1e-5)
    fill(norm)
    return norm.requires_grad_(requires_grad=False)


def cond(n_times: int = 3) -> Tensor:
    return torch.randn(n_times, 3 * HIDDEN, generator=torch.Generator().manual_seed(1))


def test_the_embedding_has_the_cosines_first_and_counts_in_thousandths() -> None:
    [values] = timestep_embedding(torch.tensor([0.003]), 4).tolist()
    slow = 0.003 * 1000 / 100  # the second of two frequencies is 10000 ** -1/2
    expected = [math.cos(3), math.cos(slow), math.sin(3), math.sin(slow)]
    assert values == pytest.approx(expected, abs=1e-5)


def test_the_embedding_is_made_in_float32_and_rounded_at_the_end() -> None:
    t = torch.tensor([0.974025]).to(torch.bfloat16)
    assert t.item() == 0.97265625
    exact = timestep_embedding(torch.tensor([0.97265625]), 32)
    assert torch.equal(timestep_embedding(t, 32), exact.to(torch.bfloat16))


def test_the_time_is_rounded_to_the_dtype_of_the_weights() -> None:
    module = TimestepConditioning(8, HIDDEN)
    fill(module)
    module = module.to(torch.bfloat16)
    assert torch.equal(module(torch.tensor([0.974025])), module(torch.tensor([0.97265625])))


def test_cond_is_three_projections_with_silu_between_them() -> None:
    module = TimestepConditioning(8, HIDDEN)
    fill(module)
    x = timestep_embedding(torch.tensor([0.7]), 8) @ module.input.weight.T
    x = (x * x.sigmoid()) @ module.inner.weight.T
    x = (x * x.sigmoid()) @ module.output.weight.T
    torch.testing.assert_close(module(torch.tensor([0.7])), x)


def test_cond_holds_shift_scale_and_gate_in_this_order() -> None:
    norm, parts = adaptive_norm(), cond().chunk(3, dim=-1)
    made = norm.modulation(cond())
    corrected = [
        part + (part * part.sigmoid()) @ low_rank.down.weight.T @ low_rank.up.weight.T
        + low_rank.up.bias
        for part, low_rank in zip(parts, (norm.shift, norm.scale, norm.gate), strict=True)
    ]  # fmt: skip
    torch.testing.assert_close(made.shift, corrected[0])
    torch.testing.assert_close(made.scale, corrected[1] + 1)
    torch.testing.assert_close(made.gate, corrected[2].tanh())


def test_a_time_has_the_same_modulation_alone_as_in_a_table() -> None:
    norm = adaptive_norm()
    table = norm.modulation(cond())
    for step in range(3):
        alone = norm.modulation(cond()[step : step + 1]).at(0)
        torch.testing.assert_close(table.at(step).shift, alone.shift)
        torch.testing.assert_close(table.at(step).scale, alone.scale)
        torch.testing.assert_close(table.at(step).gate, alone.gate)


def test_the_norm_has_no_weight_but_the_modulation() -> None:
    norm = AdaptiveNorm(2, 1, eps=0.0)
    modulation = Modulation(
        torch.tensor([10.0, 20.0]), torch.tensor([2.0, 3.0]), torch.tensor([0.0, 0.0])
    )
    # The mean square of 1 and 7 is 25.
    out = norm(torch.tensor([[1.0, 7.0]]), modulation)
    assert out.tolist() == [pytest.approx([0.2 * 2 + 10, 1.4 * 3 + 20])]


def test_the_norm_is_in_float32_and_rounded_once() -> None:
    norm = AdaptiveNorm(64, 1, eps=1e-5)
    generator = torch.Generator().manual_seed(2)
    x, shift, scale = torch.randn(3, 64, generator=generator).to(torch.bfloat16)
    out = norm(x[None], Modulation(shift, scale, shift))
    wide = norm(x[None].float(), Modulation(shift.float(), scale.float(), shift.float()))
    assert torch.equal(out, wide.to(torch.bfloat16))
