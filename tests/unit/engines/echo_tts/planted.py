"""Mistakes that a port of Echo-TTS makes easily, each planted by replacing one thing of ours."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from menura.engines.echo_tts import encoders, guidance, schedule, timestep
from menura.engines.echo_tts.blockwise import ContextProjection
from menura.engines.echo_tts.config import ROPE_THETA
from menura.engines.echo_tts.dit import JointAttention
from menura.engines.echo_tts.encoders import EncoderAttention, LatentEncoder
from menura.engines.echo_tts.timestep import AdaptiveNorm, LowRank, Modulation
from menura.engines.echo_tts.windowed_transformer import WindowedTransformer
from menura.nn.norm import RMSNorm
from menura.nn.rotary import PairRotary, PairRotation
from menura.nn.snake import Snake
from tests.parity.echo_tts.our_model import OurModel

Part = TypeVar("Part", bound=nn.Module)
Patch = pytest.MonkeyPatch
Plant = Callable[[Patch, OurModel], None]


def turn_every_head(patch: Patch, model: OurModel) -> None:
    def turned(self: JointAttention, x: Tensor, rotation: PairRotation) -> Tensor:
        return _turn(x, rotation)

    patch.setattr(JointAttention, "turned", turned)


def turn_the_second_half_of_the_heads(patch: Patch, model: OurModel) -> None:
    def turned(self: JointAttention, x: Tensor, rotation: PairRotation) -> Tensor:
        first, second = x.chunk(2, dim=0)
        return torch.cat((first, _turn(second, rotation)))

    patch.setattr(JointAttention, "turned", turned)


def turn_half_of_each_heads_channels(patch: Patch, model: OurModel) -> None:
    def turned(self: JointAttention, x: Tensor, rotation: PairRotation) -> Tensor:
        first, second = x.chunk(2, dim=-1)
        half = PairRotation(rotation.angles.chunk(2, dim=-1)[0])
        return torch.cat((_turn(first, half), second), dim=-1)

    patch.setattr(JointAttention, "turned", turned)


def turn_no_head(patch: Patch, model: OurModel) -> None:
    patch.setattr(JointAttention, "turned", lambda self, x, rotation: x)


def pair_the_halves_of_a_head(patch: Patch, model: OurModel) -> None:
    def turn(self: PairRotation, x: Tensor) -> Tensor:
        first, second = x.chunk(2, dim=-1)
        cos, sin = self.angles.real[:, None], self.angles.imag[:, None]
        return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)

    patch.setattr(PairRotation, "turn", turn)


def read_patches_channel_by_channel(patch: Patch, model: OurModel) -> None:
    right = LatentEncoder.forward

    def forward(self: LatentEncoder, latents: Tensor) -> Tensor:
        patches = latents.reshape(-1, self.patch_size, latents.shape[1])
        return right(self, patches.transpose(1, 2).reshape(latents.shape))

    patch.setattr(LatentEncoder, "forward", forward)


def leave_patches_undivided(patch: Patch, model: OurModel) -> None:
    patch.setattr(encoders, "LATENT_SCALE", 1.0)


def let_the_speaker_see_what_comes(patch: Patch, model: OurModel) -> None:
    for attention in _all(model.dit.speaker_encoder, EncoderAttention):
        patch.setattr(attention, "is_causal", False)


def scale_shift_gate(patch: Patch, model: OurModel) -> None:
    _modulate(patch, order=(1, 0, 2))


def gate_shift_scale(patch: Patch, model: OurModel) -> None:
    _modulate(patch, order=(1, 2, 0))


def drop_what_is_corrected(patch: Patch, model: OurModel) -> None:
    patch.setattr(LowRank, "forward", lambda self, x: self.up(self.down(F.silu(x))))


def gate_without_tanh(patch: Patch, model: OurModel) -> None:
    _modulate(patch, gated=lambda gate: gate)


def scale_without_one(patch: Patch, model: OurModel) -> None:
    _modulate(patch, one=0.0)


def sine_first(patch: Patch, model: OurModel) -> None:
    right = timestep.timestep_embedding

    def embedding(t: Tensor, size: int) -> Tensor:
        return torch.cat(right(t, size).chunk(2, dim=-1)[::-1], dim=-1)

    patch.setattr(timestep, "timestep_embedding", embedding)


def time_in_whole_units(patch: Patch, model: OurModel) -> None:
    patch.setattr(timestep, "FREQUENCY_SCALE", 1.0)


def text_keys_without_norm(patch: Patch, model: OurModel) -> None:
    right = JointAttention.context

    def context(
        self: JointAttention, projection: ContextProjection, hidden: Tensor
    ) -> tuple[Tensor, Tensor]:
        keys, values = right(self, projection, hidden)
        without_norm = self.heads(projection.key(hidden)).transpose(0, 1)
        return (without_norm if projection is self.text else keys), values

    patch.setattr(JointAttention, "context", context)


def turn_text_keys(patch: Patch, model: OurModel) -> None:
    right = JointAttention.context

    def context(
        self: JointAttention, projection: ContextProjection, hidden: Tensor
    ) -> tuple[Tensor, Tensor]:
        keys, values = right(self, projection, hidden)
        rotation = PairRotary(keys.shape[-1], ROPE_THETA)(torch.arange(len(hidden))[None])
        return (self.turned(keys, rotation) if projection is self.text else keys), values

    patch.setattr(JointAttention, "context", context)


def norm_all_heads_at_once(patch: Patch, model: OurModel) -> None:
    right = RMSNorm.forward

    def forward(self: RMSNorm, x: Tensor) -> Tensor:
        if self.weight.ndim == 1:
            return right(self, x)
        return self.weight * x * torch.rsqrt(x.pow(2).mean((-1, -2), keepdim=True) + self.eps)

    patch.setattr(RMSNorm, "forward", forward)


def begin_at_one(patch: Patch, model: OurModel) -> None:
    patch.setattr(schedule, "FIRST_TIME", 1.0)


def guide_the_wrong_way_round(patch: Patch, model: OurModel) -> None:
    def guided(seeing: Tensor, others: list[Tensor], strengths: tuple[float, ...]) -> Tensor:
        return guidance.guided(seeing, others[::-1], strengths)

    patch.setattr("menura.engines.echo_tts.generate.guided", guided)


def codec_tables_in_float32(patch: Patch, model: OurModel) -> None:
    for transformer in _codec_transformers(model):
        patch.setattr(transformer.stack.rotary, "_table_dtype", torch.float32)


def codec_window_off_by_one(patch: Patch, model: OurModel) -> None:
    for transformer in _codec_transformers(model):
        patch.setattr(transformer, "window", transformer.window + 1)


def snake_without_alpha(patch: Patch, model: OurModel) -> None:
    patch.setattr(Snake, "forward", lambda self, x: x + torch.sin(x).pow(2))


class Mistake(NamedTuple):
    """How a mistake is planted, and the comparisons that the oracle says must notice it."""

    plant: Plant
    noticed_by: tuple[str, ...]


_TRUNK = ("velocity", "sample")
_SPEAKER = ("speaker keys", *_TRUNK)
_TEXT = ("text keys", *_TRUNK)
MISTAKES: Mapping[str, Mistake] = {
    "rope on every head": Mistake(turn_every_head, _TRUNK),
    "rope on the second half of the heads": Mistake(turn_the_second_half_of_the_heads, _TRUNK),
    "rope on half of each head's dims": Mistake(turn_half_of_each_heads_channels, _TRUNK),
    "no rope in the trunk": Mistake(turn_no_head, _TRUNK),
    "split-half (NEOX) rotary pairing": Mistake(
        pair_the_halves_of_a_head, ("text keys", *_SPEAKER)
    ),
    "patchify channel-major": Mistake(read_patches_channel_by_channel, _SPEAKER),
    "speaker in_proj not divided by 6": Mistake(leave_patches_undivided, _SPEAKER),
    "speaker encoder not causal": Mistake(let_the_speaker_see_what_comes, _SPEAKER),
    "adaLN scale, shift, gate": Mistake(scale_shift_gate, _TRUNK),
    "adaLN gate, shift, scale": Mistake(gate_shift_scale, _TRUNK),
    "adaLN without residual": Mistake(drop_what_is_corrected, _TRUNK),
    "adaLN without tanh": Mistake(gate_without_tanh, _TRUNK),
    "adaLN scale without +1": Mistake(scale_without_one, _TRUNK),
    "timestep sin before cos": Mistake(sine_first, _TRUNK),
    "timestep without the factor 1000": Mistake(time_in_whole_units, _TRUNK),
    "text keys without k_norm": Mistake(text_keys_without_norm, _TEXT),
    "rope on text keys": Mistake(turn_text_keys, _TEXT),
    "q/k norm over all heads at once": Mistake(norm_all_heads_at_once, ("text keys", *_SPEAKER)),
    "schedule from 1.0": Mistake(begin_at_one, ("sample",)),
    "guidance scales swapped": Mistake(guide_the_wrong_way_round, ("sample",)),
    "codec rope table in f32": Mistake(codec_tables_in_float32, ("decode",)),
    "codec window off by one": Mistake(codec_window_off_by_one, ("encode", "decode")),
    "codec snake without alpha": Mistake(snake_without_alpha, ("encode", "decode")),
}


def _modulate(
    patch: Patch, order: tuple[int, int, int] = (0, 1, 2), one: float = 1.0,
    gated: Callable[[Tensor], Tensor] = torch.tanh,
) -> None:  # fmt: skip
    """Plant a modulation that reads its three parts in another order, or shapes them otherwise."""

    def modulation(self: AdaptiveNorm, cond: Tensor) -> Modulation:
        parts = cond.chunk(3, dim=-1)
        shift, scale, gate = (parts[i] for i in order)
        return Modulation(self.shift(shift), self.scale(scale) + one, gated(self.gate(gate)))

    patch.setattr(AdaptiveNorm, "modulation", modulation)


def _turn(x: Tensor, rotation: PairRotation) -> Tensor:
    """Heads [H, N, d], all of them turned."""
    return rotation.turn(x[None])[0]


def _all(module: nn.Module, kind: type[Part]) -> Iterator[Part]:
    return (part for part in module.modules() if isinstance(part, kind))


def _codec_transformers(model: OurModel) -> Iterator[WindowedTransformer]:
    codec = model.autoencoder
    for part in (codec.encoder, codec.quantizer, codec.decoder):
        yield from _all(part, WindowedTransformer)
