"""Sampling block by block: the parts that only it needs, and the canvas that it fills.

A block is sampled like a whole window, but sees the blocks before it (and a continuation's
latents) as a fourth context. The published file has 219 tensors for this; they are read when
blocks are asked for.

Source: Echo-TTS (Darefsky), 2025.
Legend: T latents, C channels of a latent, S positions, D hidden size.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from menura.engines.echo_tts.config import DiTConfig
from menura.engines.echo_tts.encoders import LatentEncoder
from menura.errors import InvalidValueError


class ContextProjection(nn.Module):
    """From a context's hidden states to its keys and its values, for one block of the trunk."""

    def __init__(self, context_size: int, hidden_size: int) -> None:
        super().__init__()
        self.key = nn.Linear(context_size, hidden_size, bias=False)
        self.value = nn.Linear(context_size, hidden_size, bias=False)


class BlockwiseParts(nn.Module):
    """The encoder of earlier latents and, for every block of the trunk, its projection."""

    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        self.encoder = LatentEncoder(
            config.speaker, config.latent_size, config.patch_size, config.norm_eps
        )
        self.projections = nn.ModuleList(
            ContextProjection(config.speaker.hidden_size, config.hidden_size)
            for _ in range(config.n_layers)
        )


class Canvas:
    """The latents of an utterance [T, C], filled block by block from `start` on."""

    def __init__(
        self, block_sizes: Sequence[int], latent_size: int, continuation: Tensor | None
    ) -> None:
        self.start = 0 if continuation is None else continuation.shape[0]
        self.latents = torch.zeros(self.start + sum(block_sizes), latent_size)
        if continuation is not None:
            self.latents[: self.start] = continuation

    def visible(self, patch_size: int) -> Tensor:
        """The latents [T, C] before `start`, up to the end of the last patch that begins there.

        If `start` lies inside a patch, the rest of that patch is still zero.
        """
        n_patches = -(-self.start // patch_size)
        return self.latents[: n_patches * patch_size]

    def write(self, block: Tensor) -> None:
        """Put a sampled block [T, C] behind what is there."""
        self.latents[self.start : self.start + block.shape[0]] = block
        self.start += block.shape[0]


def check_canvas(block_sizes: Sequence[int], n_continued: int, patch_size: int) -> None:
    """Check that blocks and continuation together fill whole patches.

    Raises: InvalidValueError: they do not; the message names the sizes.
    """
    total = sum(block_sizes) + n_continued
    if total % patch_size == 0:
        return
    before = f" after {n_continued} frames to go on from" if n_continued else ""
    raise InvalidValueError(
        f"block_sizes={','.join(map(str, block_sizes))}{before} makes {total} frames, which is not "
        f"a multiple of {patch_size}: make the last block {block_sizes[-1] + -total % patch_size}.",
        param="block_sizes",
    )
