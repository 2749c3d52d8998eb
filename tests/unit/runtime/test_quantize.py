import pytest
import torch
from torch import Tensor, nn

from menura.runtime import devices, quantize
from menura.runtime.quantize import GROUP, MANY_ROWS, MANY_WIDENED, Int8Linear, rounded, use_int8

needs_int8 = pytest.mark.skipif(bool(devices.why_no_int8()), reason=devices.why_no_int8())
SIZES = (96, 80)  # inputs and outputs: of neither many blocks


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def layer(weight: Tensor, bias: Tensor | None = None) -> Int8Linear:
    return Int8Linear(weight, bias, weight.float())


def whole(steps: Tensor, middles: Tensor, scales: Tensor) -> Tensor:
    """The numbers [O, I] that steps, middles and scales stand for."""
    grouped = steps.view(len(steps), -1, GROUP) * scales[..., None].float()
    return (grouped + middles[..., None].float()).view(steps.shape)


def test_a_group_reaches_from_its_middle_to_both_sides() -> None:
    weight = numbers(4, 3 * GROUP) + 0.7
    steps, middles, scales = rounded(weight)
    assert steps.shape == weight.shape
    assert middles.shape == scales.shape == (4, 3)
    assert 126 <= -int(steps.min()) <= 127
    assert 126 <= int(steps.max()) <= 127
    apart = (whole(steps, middles, scales) - weight).view(4, 3, GROUP).abs()
    inside = (steps.view(4, 3, GROUP).abs() < 127).float()
    # half a step; at both ends more, because middle and scale are rounded too
    assert bool((apart * inside <= 0.501 * scales[..., None].float()).all())
    assert bool((apart <= 1.2 * scales[..., None].float()).all())


def test_equal_numbers_are_their_middle() -> None:
    steps, middles, scales = rounded(torch.full((2, GROUP), 0.5))
    assert not steps.any()
    assert bool((middles == 0.5).all())
    assert torch.isfinite(scales).all()


@needs_int8
@pytest.mark.parametrize("n_rows", [1, 2, 5, MANY_ROWS - 1])
def test_few_rows_are_multiplied_by_the_rounded_weights(n_rows: int) -> None:
    n_inputs, n_outputs = SIZES
    weight, bias, x = numbers(n_outputs, n_inputs), numbers(n_outputs, seed=1), numbers(
        n_rows, n_inputs, seed=2)  # fmt: skip
    rough = whole(*rounded(weight))
    wanted = (x.bfloat16().float() @ rough.T).bfloat16().float() + bias
    found = layer(weight, bias)(x)
    assert found.dtype == torch.float32
    # sums in another order may round to the neighbour in bfloat16
    torch.testing.assert_close(found, wanted, rtol=2**-7, atol=1e-5)
    assert (found == wanted).float().mean() > 0.98


@needs_int8
@pytest.mark.parametrize("n_outputs", [16, 48, 128, 144, 272, 448])
def test_packing_piece_by_piece_is_packing_at_once(n_outputs: int) -> None:
    weight = numbers(n_outputs, 64)
    codes, scales = quantize._packed(weight)
    steps, middles, steps_scales = rounded(weight)
    at_once = torch._convert_weight_to_int4pack_for_cpu(quantize._halves(steps), 1)
    assert torch.equal(codes, at_once)
    assert torch.equal(scales, quantize._of_halves(middles, steps_scales))
    assert scales.is_contiguous()


@needs_int8
def test_every_step_of_8_bits_is_exact() -> None:
    weight = torch.zeros(16, GROUP)
    weight[:, 0] = 127
    weight[:, 2] = -127
    weight[:, 1] = torch.arange(-8, 8) * 8 + 3
    ones = torch.zeros(1, GROUP)
    ones[0, 1] = 1
    assert torch.equal(layer(weight)(ones)[0], weight[:, 1])


@needs_int8
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("is_half", [True, False])
def test_many_rows_are_multiplied_by_the_stored_weights(
    is_half: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "multiplies_bfloat16", lambda: is_half)
    can_be_half = is_half and dtype == torch.bfloat16
    n_rows = MANY_ROWS if can_be_half else MANY_WIDENED
    weight, x = numbers(32, 64).to(dtype), numbers(1, n_rows, 64, seed=1)
    found = layer(weight)(x)
    assert found.shape == (1, n_rows, 32)
    wanted = x @ weight.float().T
    near = 1e-2 if can_be_half else 1e-6
    assert float((found - wanted).norm() / wanted.norm()) < near


@needs_int8
def test_shapes_are_those_of_a_linear_layer() -> None:
    module = layer(numbers(32, 64))
    for shape in ((64,), (3, 64), (1, 1, 64), (2, 5, 64)):
        assert module(numbers(*shape)).shape == (*shape[:-1], 32)


class Network(nn.Module):
    """A part to change and one to leave alone."""

    def __init__(self) -> None:
        super().__init__()
        self.changed = nn.Sequential(
            nn.Linear(64, 32), nn.LayerNorm(32), nn.Linear(32, 48, bias=False), nn.Linear(48, 7)
        )
        self.head = nn.Linear(64, 16)
        self.other = nn.Linear(64, 16)


@needs_int8
def test_the_layers_of_the_named_parts_are_changed_one_after_another() -> None:
    network = Network().bfloat16()
    weights = {name: parameter.data_ptr() for name, parameter in network.named_parameters()}
    asked: list[str] = []

    def read(name: str) -> Tensor:
        asked.append(name)
        return network.get_parameter(name).detach().float()

    assert use_int8(network, ("changed", "head"), read) == 3
    assert asked == ["changed.0.weight", "changed.2.weight", "head.weight"]
    kinds = [type(part) for part in network.changed]
    # the last one has sizes that torch cannot pack
    assert kinds == [Int8Linear, nn.LayerNorm, Int8Linear, nn.Linear]
    assert isinstance(network.get_submodule("head"), Int8Linear)
    assert type(network.get_submodule("other")) is nn.Linear
    assert network.other.weight.dtype == torch.bfloat16
    kept = {name: parameter.data_ptr() for name, parameter in network.named_parameters()}
    assert kept.keys() == weights.keys()
    assert all(kept[name] == weights[name] for name in asked)
    dtypes = {name: parameter.dtype for name, parameter in network.changed.named_parameters()}
    assert dtypes["1.weight"] == dtypes["3.weight"] == dtypes["0.bias"] == torch.float32
    assert network.changed(numbers(2, 64)).dtype == torch.float32


@needs_int8
def test_a_module_is_not_changed_twice() -> None:
    network = Network()

    def read(name: str) -> Tensor:
        return network.get_parameter(name).detach()

    assert use_int8(network, ("head",), read) == 1
    assert use_int8(network, ("head",), read) == 0


def test_one_name_is_no_beginning_of_another() -> None:
    network = Network()
    assert [name for name, _ in quantize._parts(network, ("head",))] == ["head"]
    assert quantize._parts(network, ("he",)) == []
