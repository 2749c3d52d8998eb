"""Linear layers in float32 on the CPU through oneDNN instead of torch's default, MKL.

Both multiply in float32; they add up in another order, so results agree to about 1e-6. On an AMD
processor (Zen 4, matrices of 2048 columns and hundreds of rows) oneDNN was 1.2 to 1.3 times as
fast, without a packed copy of the weights. For a single row at a time there is nothing to win.

Legend: N rows of whatever arrangement, I inputs, O outputs.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from menura.runtime.devices import has_onednn


class OneDnnLinear(nn.Linear):
    """A linear layer that goes through oneDNN where no gradient is wanted."""

    def forward(self, x: Tensor) -> Tensor:
        """The outputs [N, O] of inputs [N, I]."""
        is_learning = torch.is_grad_enabled() and (x.requires_grad or self.weight.requires_grad)
        if is_learning or not (x.dtype == torch.float32 and x.device.type == "cpu"):
            return F.linear(x, self.weight, self.bias)
        out: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return out


def is_available() -> bool:
    """Whether this torch has oneDNN and the operation that is used of it."""
    return has_onednn() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def use_onednn(module: nn.Module) -> int:
    """How many linear layers of the module now go through oneDNN; 0 where it is not available.

    The weights stay where they are, under their names.
    """
    if not is_available():
        return 0
    layers = [
        (parent, name, child)
        for parent in module.modules()
        for name, child in parent.named_children()
        if type(child) is nn.Linear
    ]
    for parent, name, child in layers:
        setattr(parent, name, _same_layer(child))
    return len(layers)


def _same_layer(layer: nn.Linear) -> OneDnnLinear:
    has_bias = layer.bias is not None
    twin = OneDnnLinear(layer.in_features, layer.out_features, bias=has_bias, device="meta")
    twin.weight = layer.weight
    if has_bias:
        twin.bias = layer.bias
    return twin
