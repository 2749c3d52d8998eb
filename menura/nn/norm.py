"""Root mean square normalisation.

Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.
Legend: N positions of whatever arrangement, D channels.
"""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """Divides by the root mean square of the last dimension and multiplies by a learnt weight.

    The division is done in float32 and rounded to the input's dtype before the weight comes in,
    so that a model in bfloat16 rounds where its training did.
    """

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """The normalised input [N, D], in the input's dtype."""
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * wide.to(x.dtype)
