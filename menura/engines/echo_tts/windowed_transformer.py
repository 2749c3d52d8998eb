"""A transformer in which a position sees itself and the window before it, and nothing else.

What lies further back can be forgotten. So a long input is walked in pieces of one window, each
with the keys and values of the window before it: memory grows with T * W, not with T * T, and a
stream walks its pieces in the same way.

Source: specification section 5; Beltagy et al. 2020 ("Longformer") for the sliding window.
Legend: B rows, C channels, T new positions, S positions in reach (held, then new), W window.
"""

from typing import Self

import torch
from torch import Tensor, nn

from menura.engines.echo_tts.config import WindowedTransformerConfig
from menura.nn.causal_conv import ConvMemory, pieces_of
from menura.nn.rotary import PairRotary
from menura.nn.transformer import gated_transformer
from menura.runtime.kv_cache import WindowCache

# parity: upstream keeps its table of cosines and sines in bfloat16, whatever the model's dtype.
TABLE_DTYPE = torch.bfloat16


class WindowState:
    """What a transformer remembers: the keys of the last positions, and how many there were."""

    def __init__(self, cache: WindowCache, n_positions: int = 0) -> None:
        self.cache = cache
        self.n_positions = n_positions

    def copy(self) -> Self:
        """The same state, to go on from here on its own."""
        return type(self)(self.cache.copy(), self.n_positions)


class CausalState:
    """What all causal layers of a codec remember of a clip's pieces so far."""

    def __init__(self) -> None:
        self.memory = ConvMemory()
        self._windows: dict[nn.Module, WindowState] = {}

    def window(self, layer: "WindowedTransformer") -> WindowState:
        """The state of this transformer; a new one before its first piece."""
        if layer not in self._windows:
            self._windows[layer] = layer.new_state()
        return self._windows[layer]

    def copy(self) -> Self:
        """The same point of the clip, to go on from on its own."""
        twin = type(self)()
        twin.memory = self.memory.copy()
        twin._windows = {layer: state.copy() for layer, state in self._windows.items()}
        return twin


class WindowedTransformer(nn.Module):
    """Pre-norm blocks with layer scales, a final norm, and rotated neighbouring channels."""

    def __init__(self, config: WindowedTransformerConfig) -> None:
        super().__init__()
        self.window = config.window
        self.stack = gated_transformer(
            config,
            qk_norm=False,
            layer_scale=True,
            rotary=PairRotary(config.head_dim, config.rope_theta, TABLE_DTYPE),
        )

    def new_state(self) -> WindowState:
        """The state before a clip's first position."""
        return WindowState(WindowCache(self.window - 1))

    def forward(self, x: Tensor, state: CausalState | None = None) -> Tensor:
        """The channels [B, C, T] after the blocks, for a clip x [B, C, T] or its next piece."""
        window = state.window(self) if state else self.new_state()
        walked = [self._walk(piece, window) for piece in pieces_of(x, self.window)]
        return torch.cat(walked, dim=-1)

    def _walk(self, x: Tensor, state: WindowState) -> Tensor:
        """The channels [B, C, T] of at most one window of new positions x [B, C, T]."""
        first, n_new = state.n_positions, x.shape[-1]
        positions = torch.arange(first, first + n_new, device=x.device)
        held = torch.arange(first - state.cache.n_positions, first, device=x.device)
        keys = torch.cat([held, positions])
        is_seen = (keys <= positions[:, None]) & (keys > positions[:, None] - self.window)
        mask = is_seen[None, None]
        walked: Tensor = self.stack(x.transpose(1, 2), positions[None], mask, state.cache)
        state.n_positions += n_new
        return walked.transpose(1, 2)
