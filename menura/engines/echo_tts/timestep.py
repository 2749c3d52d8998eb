"""How the trunk is told the time: an embedding, and from it the modulation of every block.

    t -> cosines and sines -> three projections -> cond -> each block's shift, scale and gate

Nothing here depends on the latents, so a schedule's modulations are computed once, all steps of it
in one batch, and a step only looks its own up.

Source: Peebles and Xie, "Scalable Diffusion Models with Transformers", 2023 (adaptive norms);
Chen et al., "PixArt", 2023 (one `cond` for all blocks); Vaswani et al., 2017 (the embedding).
Legend: n times, E embedding size, D hidden size, N positions.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

FREQUENCY_SCALE = 1000.0
LONGEST_PERIOD = 10_000.0


def timestep_embedding(t: Tensor, size: int) -> Tensor:
    """The embedding [n, E] of times [n] in [0, 1]: cosines, then sines; float32 inside."""
    half = size // 2
    steps = torch.arange(half, dtype=torch.float32, device=t.device)
    frequencies = FREQUENCY_SCALE * torch.exp(-math.log(LONGEST_PERIOD) * steps / half)
    angles = t.float()[:, None] * frequencies
    return torch.cat((angles.cos(), angles.sin()), dim=-1).to(t.dtype)


class TimestepConditioning(nn.Module):
    """`cond`: what all blocks are told of the time, in three parts of size D."""

    def __init__(self, embedding_size: int, hidden_size: int) -> None:
        super().__init__()
        self.embedding_size = embedding_size
        self.input = nn.Linear(embedding_size, hidden_size, bias=False)
        self.inner = nn.Linear(hidden_size, hidden_size, bias=False)
        self.output = nn.Linear(hidden_size, 3 * hidden_size, bias=False)

    def forward(self, t: Tensor) -> Tensor:
        """The parts [n, 3 D] for times [n], which are rounded to the weights' dtype first."""
        embedding = timestep_embedding(t.to(self.input.weight.dtype), self.embedding_size)
        cond: Tensor = self.output(F.silu(self.inner(F.silu(self.input(embedding)))))
        return cond


@dataclass(frozen=True)
class Modulation:
    """What one adaptive norm does at one time, or at n of them: shift, scale and gate [n, D].

    The scale has its one in it, and the gate is behind its tanh.
    """

    shift: Tensor
    scale: Tensor
    gate: Tensor

    def at(self, step: int) -> "Modulation":
        """The modulation [D] at one of the n times."""
        return Modulation(self.shift[step], self.scale[step], self.gate[step])


class LowRank(nn.Module):
    """A correction of low rank, added to what it corrects."""

    def __init__(self, hidden_size: int, rank: int) -> None:
        super().__init__()
        self.down = nn.Linear(hidden_size, rank, bias=False)
        self.up = nn.Linear(rank, hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        """The corrected part [n, D] of `cond` [n, D]."""
        corrected: Tensor = self.up(self.down(F.silu(x))) + x
        return corrected


class AdaptiveNorm(nn.Module):
    """A norm without a weight of its own: the time gives it scale and shift, and a gate."""

    def __init__(self, hidden_size: int, rank: int, eps: float) -> None:
        super().__init__()
        self.eps = eps
        self.shift = LowRank(hidden_size, rank)
        self.scale = LowRank(hidden_size, rank)
        self.gate = LowRank(hidden_size, rank)

    def modulation(self, cond: Tensor) -> Modulation:
        """The modulation [n, D] of this norm for `cond` [n, 3 D]."""
        shift, scale, gate = cond.chunk(3, dim=-1)
        return Modulation(self.shift(shift), self.scale(scale) + 1, self.gate(gate).tanh())

    def forward(self, x: Tensor, modulation: Modulation) -> Tensor:
        """The normed and modulated positions [N, D], in the dtype of the input [N, D]."""
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return torch.addcmul(modulation.shift.float(), wide, modulation.scale.float()).to(x.dtype)
