"""Root mean square normalisation.

Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.
Legend: N positions of whatever arrangement, H heads, D channels.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """Divides by the root mean square of the last dimension and multiplies by a learnt weight.

    The division is done in float32 and rounded to the input's dtype before the weight comes in,
    so that a model in bfloat16 rounds where its training did. `weight_first` is for models that
    multiply by the weight in float32 too and round once, after it. With a size (H, D) every head
    has a weight of its own.
    """

    def __init__(
        self, size: int | tuple[int, ...], eps: float, *, weight_first: bool = False
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size))
        self.eps = eps
        self.weight_first = weight_first

    def forward(self, x: Tensor) -> Tensor:
        """The normalised input [N, D] or [N, H, D], in the input's dtype."""
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        if self.weight_first:
            return (self.weight * wide).to(x.dtype)
        return self.weight * wide.to(x.dtype)
