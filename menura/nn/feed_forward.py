"""The position-wise networks of a transformer block, without biases.

Source: Shazeer, "GLU Variants Improve Transformer", 2020; Hendrycks and Gimpel, "Gaussian Error
Linear Units", 2016.
Legend: N positions of whatever arrangement, D hidden size.
"""

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812


class SwiGLU(nn.Module):
    """A network whose inner channels are switched by a second, SiLU-activated projection."""

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.gate = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.up = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.down = nn.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The new channels [N, D] of the input [N, D]."""
        switched: Tensor = self.down(F.silu(self.gate(x)) * self.up(x))
        return switched


class GeluNetwork(nn.Module):
    """Two projections with the exact (not the approximated) GELU between them."""

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.up = nn.Linear(hidden_size, intermediate_size, bias=False)
        self.down = nn.Linear(intermediate_size, hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The new channels [N, D] of the input [N, D]."""
        bent: Tensor = self.down(F.gelu(self.up(x)))
        return bent
