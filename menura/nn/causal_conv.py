"""Causal 1-D convolutions that run over a whole clip, or over its pieces one after another.

Output step t of a causal convolution reads no input after t. Before a clip's first step stands
padding. Before a piece's first step stands what the piece before left behind: a `ConvMemory` keeps
one tail a layer. So the pieces' outputs join to the whole clip's, up to rounding, and nothing is
computed twice.

Legend: B rows, C channels, T time steps, K kernel steps.
"""

from typing import Literal, Self

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

PadMode = Literal["constant", "replicate"]

FEW_STEPS = 8


class ConvMemory:
    """The tails that the causal layers of one model left behind: the state between two pieces."""

    def __init__(self) -> None:
        self._tails: dict[nn.Module, Tensor] = {}

    def tail(self, layer: nn.Module) -> Tensor | None:
        """The tail [B, C, n] of this layer; None before its first piece."""
        return self._tails.get(layer)

    def keep(self, layer: nn.Module, tail: Tensor) -> None:
        """Remember this tail [B, C, n] until the layer's next piece; its storage is not shared."""
        self._tails[layer] = tail.clone()

    def copy(self) -> Self:
        """The same memory, to go on from this point on its own (tails are never written to)."""
        twin = type(self)()
        twin._tails.update(self._tails)
        return twin


def pieces_of(x: Tensor, n_steps: int) -> list[Tensor]:
    """The pieces [B, C, n_steps] of x [B, C, T], or of x [B, T]; the last one may be shorter."""
    return [x[..., first : first + n_steps] for first in range(0, x.shape[-1], n_steps)]


class CausalConv1d(nn.Module):
    """A convolution whose output [B, C', ceil(T / stride)] never looks ahead."""

    def __init__(  # noqa: PLR0913 - a convolution has this many numbers
        self,
        in_channels: int,
        out_channels: int,
        kernel: int,
        *,
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        pad_mode: PadMode = "constant",
    ) -> None:
        super().__init__()
        self.conv = nn.Conv1d(
            in_channels,
            out_channels,
            kernel,
            stride=stride,
            dilation=dilation,
            groups=groups,
            bias=bias,
        )
        self.pad_mode = pad_mode
        self.stride = stride
        self.past_steps = (kernel - 1) * dilation + 1 - stride

    def forward(self, x: Tensor, memory: ConvMemory | None = None) -> Tensor:
        """The outputs [B, C', ceil(T / stride)] of a clip x [B, C, T], or of its next piece.

        A clip's last, partial stride is filled by padding; a piece must be whole strides.
        """
        missing = -x.shape[-1] % self.stride
        tail = memory.tail(self) if memory else None
        if tail is None:
            padded: Tensor = F.pad(x, (self.past_steps, missing), mode=self.pad_mode)
        else:
            padded = torch.cat([tail, x], dim=-1)
        if memory is not None:
            assert not missing, "a piece ends inside a stride"
            memory.keep(self, padded[..., padded.shape[-1] - self.past_steps :])
        out: Tensor = self.conv(padded)
        return out


class CausalConvTranspose1d(nn.Module):
    """A transposed convolution (kernel >= stride) whose output [B, C', T * stride] is causal.

    Every input step spreads over `kernel` outputs. The last `kernel - stride` of them also wait for
    the next input: at the end of a clip they are cut, between two pieces they are the overlap.
    """

    def __init__(self, in_channels: int, out_channels: int, kernel: int, *, stride: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose1d(in_channels, out_channels, kernel, stride=stride)
        self.stride = stride
        self.overlap_steps = kernel - stride

    def forward(self, x: Tensor, memory: ConvMemory | None = None) -> Tensor:
        """The outputs [B, C', T * stride] of a clip x [B, C, T], or of its next piece."""
        n_out = x.shape[-1] * self.stride
        if memory is None or not self.overlap_steps:
            whole: Tensor = self.conv(x)
            return whole[..., :n_out].contiguous()
        spread = self._spread(x)
        overlap = memory.tail(self)
        if overlap is not None:
            spread[..., : self.overlap_steps] += overlap
        memory.keep(self, spread[..., n_out:])
        out = spread[..., :n_out]
        return out if self.conv.bias is None else out + self.conv.bias[:, None]

    def _spread(self, x: Tensor) -> Tensor:
        """Every input's own outputs, summed [B, C', T * stride + overlap], without the bias.

        The convolution reads its weights against their order. A few steps do not repay that: at
        1536 channels and 4 steps this product in their order takes a seventh of the time.
        """
        weight = self.conv.weight
        if x.shape[-1] > FEW_STEPS:
            return F.conv_transpose1d(x, weight, stride=self.stride)
        columns = (x.transpose(1, 2) @ weight.flatten(1)).transpose(1, 2)
        n_steps = x.shape[-1] * self.stride + self.overlap_steps
        kernel = (1, weight.shape[-1])
        return F.fold(columns, (1, n_steps), kernel, stride=(1, self.stride)).squeeze(2)
