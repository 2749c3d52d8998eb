"""Linear layers with weights of 8 bits, in torch alone: for machines that have no native kernels.

torch multiplies quickly by 4-bit weights in groups, each with a scale and a zero point, and has
nothing like it for 8-bit ones. So a weight is two halves of 4 bits, which lie one behind the other
along the inputs, and the product reads every input twice:

    w = m + s (16 h + l - 128)  =  ((h - 8) 16 s + m)  +  ((l - 8) s + 8 s)        h, l = 0 .. 15

Both halves are added up in float32; inputs and outputs are rounded to bfloat16. Many rows at once,
which is how a prompt is read, are multiplied by the weights as they are stored.

Legend: N rows of whatever arrangement, I inputs, O outputs, G groups of inputs.
"""

from collections.abc import Callable, Collection

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from menura.runtime import devices

GROUP = 32
"""How many weights share a scale: the fewest that torch allows, which is the closest."""
MANY_ROWS, MANY_WIDENED = 8, 48
"""From so many rows on, the plain product is quicker: in bfloat16, and where it needs float32."""
_OUTPUTS = 16  # torch packs a multiple of so many outputs
_AT_ONCE = 128  # outputs; torch's packed blocks have 64 or fewer, one after another
_MOST = 127  # steps on each side of zero


class Int8Linear(nn.Module):
    """A linear layer that multiplies few rows by 8-bit weights, and many by the stored ones.

    `weight` [O, I] stays where and as it is, under its name; `numbers` [O, I] are the same numbers
    in float32.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None, numbers: Tensor) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.weight = nn.Parameter(weight, requires_grad=False)
        self.bias = None if bias is None else nn.Parameter(bias.float(), requires_grad=False)
        self._codes, self._scales = _packed(numbers)
        self._is_half = weight.dtype == torch.bfloat16 and devices.multiplies_bfloat16()
        self._many_rows = MANY_ROWS if self._is_half else MANY_WIDENED

    def forward(self, x: Tensor) -> Tensor:
        """The outputs [N, O], in the dtype of the inputs [N, I]."""
        rows = x.reshape(-1, self.in_features)
        out = self._many(rows) if len(rows) >= self._many_rows else self._few(rows)
        out = out.to(x.dtype)
        if self.bias is not None:
            out = out + self.bias
        return out.view(*x.shape[:-1], self.out_features)

    def _few(self, rows: Tensor) -> Tensor:
        twice = torch.empty(len(rows), 2, self.in_features, dtype=torch.bfloat16)
        twice.copy_(rows[:, None])
        return torch._weight_int4pack_mm_for_cpu(
            twice.view(len(rows), -1), self._codes, GROUP, self._scales
        )

    def _many(self, rows: Tensor) -> Tensor:
        weight = self.weight if self._is_half else self.weight.float()
        return F.linear(rows.to(weight.dtype), weight)


def use_int8(module: nn.Module, within: Collection[str], read: Callable[[str], Tensor]) -> int:
    """How many linear layers of some parts are in 8 bits from now on; all else there is float32.

    `within` are the parts' names in the module. `read` gives the float32 numbers [O, I] of a
    parameter by its name; it is asked for one layer at a time, and nothing is kept.
    """
    layers = [
        (name, layer)
        for name, layer in _parts(module, within)
        if type(layer) is nn.Linear and fits(layer)
    ]
    for name, layer in layers:
        numbers = read(f"{name}.weight")
        module.set_submodule(name, Int8Linear(layer.weight, layer.bias, numbers), strict=True)
    for _, part in _parts(module, within):
        if not isinstance(part, Int8Linear):
            for name, parameter in part.named_parameters(recurse=False):
                setattr(part, name, nn.Parameter(parameter.float(), requires_grad=False))
    return len(layers)


def fits(layer: nn.Linear) -> bool:
    """Whether torch can pack the layer's weights."""
    return layer.in_features % GROUP == 0 and layer.out_features % _OUTPUTS == 0


def rounded(numbers: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Steps int32 [O, I] from -127 to 127, and every group's middle and scale bfloat16 [O, G].

    A group of the float32 numbers [O, I] reaches from its middle 127 steps to both sides.
    """
    grouped = numbers.reshape(len(numbers), -1, GROUP)
    least, most = grouped.aminmax(dim=-1)
    middles = ((most + least) / 2).bfloat16()
    scales = ((most - least) / (2 * _MOST)).bfloat16()
    scales[scales == 0] = 1
    steps = (grouped - middles[..., None].float()) / scales[..., None].float()
    return steps.round_().clamp_(-_MOST, _MOST).int().reshape(numbers.shape), middles, scales


def _packed(numbers: Tensor) -> tuple[Tensor, Tensor]:
    """The halves of numbers [O, I] as torch wants them, uint8 [O, I], and their scales [2 G, O, 2].

    It is done for some outputs after others: large tensors that come and go between others that
    stay would leave holes in the heap.
    """
    n_outputs, n_inputs = numbers.shape
    codes = torch.empty(n_outputs, n_inputs, dtype=torch.uint8)
    scales = torch.empty(2 * n_inputs // GROUP, n_outputs, 2, dtype=torch.bfloat16)
    for first in range(0, n_outputs, _AT_ONCE):
        piece = slice(first, first + _AT_ONCE)
        steps, middles, steps_scales = rounded(numbers[piece])
        codes[piece] = torch._convert_weight_to_int4pack_for_cpu(_halves(steps), 1)
        scales[:, piece] = _of_halves(middles, steps_scales)
    return codes, scales


def _halves(steps: Tensor) -> Tensor:
    """The high halves of steps [O, I] and behind them the low ones [O, 2 I]."""
    shifted = steps + 128
    return torch.cat((shifted >> 4, shifted & 15), dim=1)


def _of_halves(middles: Tensor, scales: Tensor) -> Tensor:
    """Scale and zero point of all groups of both halves [2 G, O, 2]; a group's own are [O, G]."""
    high = torch.stack((16 * scales, middles), dim=-1)
    low = torch.stack((scales, 8 * scales), dim=-1)
    return torch.cat((high, low), dim=1).transpose(0, 1)


def _parts(module: nn.Module, within: Collection[str]) -> list[tuple[str, nn.Module]]:
    """The modules of the parts with their names in the module, from the outside in."""
    return [
        (name, part)
        for name, part in module.named_modules()
        if any(name == outer or name.startswith(f"{outer}.") for outer in within)
    ]
