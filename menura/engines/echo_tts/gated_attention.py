"""The projections that every attention of Echo-TTS has: the encoders' and the joint one's.

Queries and keys are normed head by head, each head with weights of its own, and what a position
gathers is switched channel by channel by a sigmoid gate before the output projection.

Source: Henry et al., "Query-Key Normalization", 2020; Qiu et al., "Gated Attention", 2025.
Legend: N positions, D hidden size, H heads, d channels of a head.
"""

from torch import Tensor, nn

from menura.nn.norm import RMSNorm


class GatedAttention(nn.Module):
    """Queries, keys, values and gate of a position, without biases; subclasses gather."""

    def __init__(self, hidden_size: int, n_heads: int, eps: float) -> None:
        super().__init__()
        head_dim = hidden_size // n_heads
        self.n_heads = n_heads
        self.query = nn.Linear(hidden_size, hidden_size, bias=False)
        self.key = nn.Linear(hidden_size, hidden_size, bias=False)
        self.value = nn.Linear(hidden_size, hidden_size, bias=False)
        self.gate = nn.Linear(hidden_size, hidden_size, bias=False)
        self.output = nn.Linear(hidden_size, hidden_size, bias=False)
        self.query_norm = RMSNorm((n_heads, head_dim), eps, weight_first=True)
        self.key_norm = RMSNorm((n_heads, head_dim), eps, weight_first=True)

    def queries(self, x: Tensor) -> Tensor:
        """The normed queries [N, H, d] of positions [N, D]."""
        normed: Tensor = self.query_norm(self.heads(self.query(x)))
        return normed

    def keys(self, x: Tensor) -> Tensor:
        """The normed keys [N, H, d] of positions [N, D]."""
        normed: Tensor = self.key_norm(self.heads(self.key(x)))
        return normed

    def values(self, x: Tensor) -> Tensor:
        """The values [N, H, d] of positions [N, D]."""
        return self.heads(self.value(x))

    def heads(self, x: Tensor) -> Tensor:
        """The channels [N, D] as heads [N, H, d]."""
        return x.view(x.shape[0], self.n_heads, -1)

    def closed(self, gathered: Tensor, x: Tensor) -> Tensor:
        """What positions [N, D] gathered [N, D], behind the gate and the output projection."""
        mixed: Tensor = self.output(gathered * self.gate(x).sigmoid())
        return mixed
