"""Convolutions in bfloat16 inside a model that computes in float32.

Where a CPU multiplies bfloat16 with instructions of its own, the products take half of the time.
Inputs and weights are rounded, sums are float32, and so is all between the convolutions.

Legend: B rows, C channels, T time steps.
"""

from collections.abc import Iterable

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812


class Bfloat16Conv1d(nn.Module):
    """A convolution whose inputs and weights are bfloat16 and whose outputs are float32."""

    def __init__(self, conv: nn.Conv1d) -> None:
        super().__init__()
        self.weight = nn.Parameter(conv.weight.bfloat16(), requires_grad=False)
        bias = conv.bias
        self.bias = None if bias is None else nn.Parameter(bias.bfloat16(), requires_grad=False)
        self.stride = conv.stride
        self.dilation = conv.dilation
        self.groups = conv.groups
        assert conv.padding == (0,), "the padding is made outside"

    def forward(self, x: Tensor) -> Tensor:
        """The outputs float32 [B, C', T'] of inputs float32 [B, C, T]."""
        out = F.conv1d(
            x.bfloat16(), self.weight, self.bias, self.stride, 0, self.dilation, self.groups
        )
        return out.float()


def use_bfloat16(modules: Iterable[nn.Module]) -> int:
    """How many convolutions below the modules are in bfloat16 from now on."""
    found = [
        (parent, name, child)
        for module in modules
        for parent in module.modules()
        for name, child in parent.named_children()
        if type(child) is nn.Conv1d
    ]
    for parent, name, child in found:
        setattr(parent, name, Bfloat16Conv1d(child))
    return len(found)
