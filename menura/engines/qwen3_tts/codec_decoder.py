"""The codec's decoder: 16 codes a frame (80 ms) to 24 kHz samples, whole or piece by piece.

    codes -> quantiser -> convolution -> transformer (a window of frames)
          -> upsampling with ConvNeXt blocks -> convolution
          -> upsampling with SnakeBeta and residual units -> convolution -> samples

Every layer is causal, so what a clip's pieces need of each other is a `DecoderState`: the tails of
the convolutions, the overlaps of the transposed ones, and the window's keys and values.

Source: Qwen3-TTS technical report (the 12.5 Hz tokenizer); SoundStream and Vocos for the blocks.
Legend: B rows, Q codebooks, T frames, L latent size, S all frames in reach.
"""

from typing import Self

import torch
from torch import Tensor, nn

from menura.engines.qwen3_tts.config import CodecDecoderConfig
from menura.nn.causal_conv import CausalConv1d, ConvMemory
from menura.nn.codec_blocks import KERNEL, LatentUpsampling, UpsamplingBlock
from menura.nn.residual_vq import ResidualVQ, SplitResidualVQ
from menura.nn.snake import SnakeBeta
from menura.nn.transformer import gated_transformer
from menura.runtime.kv_cache import WindowCache

LATENT_KERNEL = 3


class DecoderState:
    """What the decoder remembers of the frames so far: all that the next piece needs."""

    def __init__(self, cache: WindowCache, memory: ConvMemory, n_frames: int = 0) -> None:
        self.cache = cache
        self.memory = memory
        self.n_frames = n_frames

    def copy(self) -> Self:
        """The same state, to go on from this point on its own."""
        return type(self)(self.cache.copy(), self.memory.copy(), self.n_frames)


class WindowTransformer(nn.Module):
    """A transformer between two projections, in which a frame sees the last `window` frames."""

    def __init__(self, config: CodecDecoderConfig) -> None:
        super().__init__()
        hidden_size = config.transformer.hidden_size
        self.window = config.sliding_window
        self.input_proj = nn.Linear(config.latent_size, hidden_size)
        self.blocks = gated_transformer(config.transformer, qk_norm=False, layer_scale=True)
        self.output_proj = nn.Linear(hidden_size, config.latent_size)

    def forward(self, x: Tensor, state: DecoderState | None) -> Tensor:
        """The latents [B, L, T] for x [B, L, T]; positions count from the state's first frame."""
        first = state.n_frames if state else 0
        n_held = state.cache.n_positions if state else 0
        positions = torch.arange(first, first + x.shape[-1], device=x.device)
        # parity: the mask is given for a single frame too, which upstream never drops.
        mask = self._mask(x.shape[-1], n_held, x.device)
        hidden = self.input_proj(x.transpose(1, 2))
        cache = state.cache if state else None
        hidden = self.blocks(hidden, positions[None], mask[None, None], cache)
        out: Tensor = self.output_proj(hidden)
        return out.transpose(1, 2)

    def _mask(self, n_new: int, n_held: int, device: torch.device) -> Tensor:
        """Which frames [T, S] (held, then new) a new frame sees: itself and the window before."""
        queries = torch.arange(n_held, n_held + n_new, device=device)[:, None]
        keys = torch.arange(n_held + n_new, device=device)[None, :]
        return (keys <= queries) & (keys > queries - self.window)


class CodecDecoder(nn.Module):
    """Codes to samples. With a state, a clip's pieces one after another; without, a whole clip."""

    def __init__(self, config: CodecDecoderConfig) -> None:
        super().__init__()
        channels = [
            config.decoder_size // 2**level for level in range(len(config.upsample_rates) + 1)
        ]
        self.window = config.sliding_window
        self.quantizer = _quantizer(config)
        self.latent_conv = CausalConv1d(config.codebook_dim, config.latent_size, LATENT_KERNEL)
        self.transformer = WindowTransformer(config)
        self.latent_upsampling = nn.ModuleList(
            LatentUpsampling(config.latent_size, ratio) for ratio in config.upsampling_ratios
        )
        self.input_conv = CausalConv1d(config.latent_size, channels[0], KERNEL)
        self.blocks = nn.ModuleList(
            UpsamplingBlock(channels[level], channels[level + 1], rate, SnakeBeta)
            for level, rate in enumerate(config.upsample_rates)
        )
        self.output_act = SnakeBeta(channels[-1])
        self.output_conv = CausalConv1d(channels[-1], 1, KERNEL)

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.output_conv.conv.weight.device

    def new_state(self) -> DecoderState:
        """The state before a clip's first frame."""
        return DecoderState(WindowCache(self.window - 1), ConvMemory())

    def forward(self, codes: Tensor, state: DecoderState | None = None) -> Tensor:
        """The samples [B, T * samples_per_frame] in -1..1 of codes int64 [B, Q, T].

        `state` is moved on by T frames. Without one the codes are a whole clip.
        """
        memory = state.memory if state else None
        hidden = self.latent_conv(self.quantizer.decode(codes), memory)
        hidden = self.transformer(hidden, state)
        for stage in (*self.latent_upsampling, self.input_conv, *self.blocks):
            hidden = stage(hidden, memory)
        samples: Tensor = self.output_conv(self.output_act(hidden), memory)
        if state is not None:
            state.n_frames += codes.shape[-1]
        return samples.squeeze(1).clamp(min=-1, max=1)

    def hear(self, codes: Tensor, state: object) -> None:
        """Move `state` on by T frames, codes int64 [B, Q, T], whose samples nobody wants."""
        assert isinstance(state, DecoderState), "a state of another decoder"
        self(codes, state)


def _quantizer(config: CodecDecoderConfig) -> SplitResidualVQ:
    """The two stacks of codebooks; an entry has half of the quantiser's outer size."""
    size = config.codebook_dim // 2

    def stack(n_codebooks: int) -> ResidualVQ:
        return ResidualVQ(n_codebooks, config.codebook_size, size, config.codebook_dim)

    n_semantic = config.n_semantic_codebooks
    return SplitResidualVQ(stack(n_semantic), stack(config.n_codebooks - n_semantic))
