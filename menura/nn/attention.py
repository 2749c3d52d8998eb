"""Self-attention with rotary positions, shared key heads and an optional cache.

Source: Vaswani et al., "Attention Is All You Need", 2017; Ainslie et al., "GQA", 2023 (several
query heads share a key head); Henry et al., "Query-Key Normalization", 2020.
Legend: B rows, H query heads, G key heads, T new positions, S all positions with the cached
ones, d channels of a head, D hidden size.
"""

from typing import Protocol

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from menura.nn.norm import RMSNorm
from menura.nn.rotary import Rotation


class LayerCache(Protocol):
    """Keeps the keys and values of earlier positions, for each layer of a model."""

    def update(self, layer: int, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """All keys and values [B, G, S, d] of the layer after these new ones [B, G, T, d]."""
        ...


class Attention(nn.Module):
    """Self-attention without biases. `qk_norm_eps` switches on the norm of queries and keys.

    `layer` is the place in the cache.
    """

    def __init__(
        self,
        hidden_size: int,
        n_heads: int,
        n_kv_heads: int,
        head_dim: int,
        *,
        layer: int,
        qk_norm_eps: float | None = None,
    ) -> None:
        super().__init__()
        self.head_dim = head_dim
        self.layer = layer
        self.queries_per_key = n_heads // n_kv_heads
        self.query = nn.Linear(hidden_size, n_heads * head_dim, bias=False)
        self.key = nn.Linear(hidden_size, n_kv_heads * head_dim, bias=False)
        self.value = nn.Linear(hidden_size, n_kv_heads * head_dim, bias=False)
        self.output = nn.Linear(n_heads * head_dim, hidden_size, bias=False)
        self.query_norm = _head_norm(head_dim, qk_norm_eps)
        self.key_norm = _head_norm(head_dim, qk_norm_eps)

    def forward(
        self, x: Tensor, rotation: Rotation, mask: Tensor | None, cache: LayerCache | None
    ) -> Tensor:
        """What every position gathers [B, T, D] from the positions that it may see.

        `mask` is a boolean [B or 1, 1, T, S], True = keep. Without it a position sees itself and
        all before it; several new positions after cached ones need one.
        """
        queries = rotation.turn(self.query_norm(self._heads(self.query(x))).transpose(1, 2))
        keys = rotation.turn(self.key_norm(self._heads(self.key(x))).transpose(1, 2))
        values = self._heads(self.value(x)).transpose(1, 2)
        if cache is not None:
            keys, values = cache.update(self.layer, keys, values)
        gathered = self._gather(queries, keys, values, mask)
        mixed: Tensor = self.output(gathered.transpose(1, 2).flatten(2))
        return mixed

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], -1, self.head_dim)

    def _gather(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """The weighted values [B, H, T, d]. The two calls round differently, so both stay."""
        if mask is None:
            n_new = queries.shape[2]
            assert n_new in (1, keys.shape[2]), "several positions after cached ones need a mask"
            return F.scaled_dot_product_attention(
                queries, keys, values, is_causal=n_new > 1, enable_gqa=True
            )
        if self.queries_per_key > 1:
            keys = keys.repeat_interleave(self.queries_per_key, dim=1)
            values = values.repeat_interleave(self.queries_per_key, dim=1)
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


def _head_norm(head_dim: int, eps: float | None) -> nn.Module:
    return nn.Identity() if eps is None else RMSNorm(head_dim, eps)
