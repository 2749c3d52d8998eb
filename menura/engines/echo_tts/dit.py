"""The diffusion transformer: the velocity of latents at a time, given text and speaker.

    latents -> in_proj -> blocks -> out_norm -> out_proj -> velocity
                            |
                            own positions, earlier latents, text and speaker: one joint attention

A lane is one set of latents with the contexts that it sees. A pass takes the lanes of all rows
together: everything but attention runs once over all positions, and attention runs lane by lane,
each over exactly its own keys. So there is no padding and no mask, and a lane with a context
masked off is a lane without it.

Source: Echo-TTS (Darefsky), 2025; Esser et al., "Scaling Rectified Flow Transformers", 2024
(joint attention); Peebles and Xie, "Scalable Diffusion Models with Transformers", 2023.
Legend: T latents of a lane, N positions of all lanes, C channels of a latent, D hidden size,
H heads, d channels of a head, S positions of a context, E hidden size of a context, n times.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from menura.engines.echo_tts.blockwise import BlockwiseParts, ContextProjection
from menura.engines.echo_tts.config import ROPE_THETA, DiTConfig
from menura.engines.echo_tts.encoders import LatentEncoder, TextEncoder
from menura.engines.echo_tts.gated_attention import GatedAttention
from menura.engines.echo_tts.timestep import AdaptiveNorm, Modulation, TimestepConditioning
from menura.nn.feed_forward import SwiGLU
from menura.nn.norm import RMSNorm
from menura.nn.rotary import PairRotary, PairRotation

# A context's keys and values, each [H, S, d], for every block of the trunk.
Keys = tuple[tuple[Tensor, Tensor], ...]


@dataclass(frozen=True, eq=False)
class StepModulation:
    """What the norms of every block do at one time. Lanes that share the object share the time."""

    attention: tuple[Modulation, ...]
    feed_forward: tuple[Modulation, ...]


@dataclass(frozen=True)
class Lane:
    """Latents [T, C] at one time, the contexts that they see, and their place on the canvas."""

    latents: Tensor
    contexts: tuple[Keys, ...]
    modulation: StepModulation
    start: int = 0


@dataclass(frozen=True)
class Packing:
    """How the positions [N] of a pass belong to lanes, and to times (neighbours that share one)."""

    lanes: Sequence[Lane]
    times: tuple[StepModulation, ...]
    time_lengths: list[int]
    rotation: PairRotation

    def by_lane(self, x: Tensor) -> tuple[Tensor, ...]:
        """Every lane's part of something packed: [T, D] of [N, D], or [H, T, d] of [H, N, d]."""
        return torch.split(x, [len(lane.latents) for lane in self.lanes], dim=-2)

    def by_time(self, x: Tensor) -> Iterator[tuple[StepModulation, Tensor]]:
        """Every time with its positions [T, D], of all positions [N, D]."""
        return zip(self.times, torch.split(x, self.time_lengths), strict=True)


def joined(parts: Sequence[Tensor]) -> Tensor:
    """The parts [T, D] one after another [N, D]; a single part is not copied."""
    return parts[0] if len(parts) == 1 else torch.cat(tuple(parts))


class JointAttention(GatedAttention):
    """Attention over a lane's own positions and those of its contexts.

    Half of the heads are turned to their positions on the canvas, queries and own keys alike; the
    keys of text and speaker have no positions.
    """

    def __init__(self, config: DiTConfig) -> None:
        super().__init__(config.hidden_size, config.n_heads, config.norm_eps)
        self.n_turned = config.n_heads // 2
        self.text = ContextProjection(config.text.hidden_size, config.hidden_size)
        self.speaker = ContextProjection(config.speaker.hidden_size, config.hidden_size)

    def context(self, projection: ContextProjection, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """The normed keys and the values [H, S, d] of a context's hidden states [S, E]."""
        keys = self.key_norm(self.heads(projection.key(hidden)))
        values = self.heads(projection.value(hidden))
        return keys.transpose(0, 1), values.transpose(0, 1)

    def turned(self, x: Tensor, rotation: PairRotation) -> Tensor:
        """Queries or keys [H, N, d], the first half of the heads turned to their positions."""
        return torch.cat((rotation.turn(x[None, : self.n_turned])[0], x[self.n_turned :]))

    def forward(self, x: Tensor, layer: int, packing: Packing) -> Tensor:
        """What every position gathers [N, D], from the positions [N, D] of all lanes."""
        queries = self.turned(self.queries(x).transpose(0, 1), packing.rotation)
        keys = self.turned(self.keys(x).transpose(0, 1), packing.rotation)
        values = self.values(x).transpose(0, 1)
        own = zip(
            packing.lanes, *(packing.by_lane(x) for x in (queries, keys, values)), strict=True
        )
        gathered = [
            _gather(queries, (keys, values), [context[layer] for context in lane.contexts])
            for lane, queries, keys, values in own
        ]
        return self.closed(joined(gathered), x)


def _gather(
    queries: Tensor, own: tuple[Tensor, Tensor], contexts: Sequence[tuple[Tensor, Tensor]]
) -> Tensor:
    """What a lane's queries [H, T, d] gather [T, D] from its own positions and its contexts."""
    keys, values = (torch.cat(parts, dim=1) for parts in zip(own, *contexts, strict=True))
    gathered = F.scaled_dot_product_attention(queries[None], keys[None], values[None])
    return gathered[0].transpose(0, 1).flatten(1)


class TrunkBlock(nn.Module):
    """Joint attention and a feed-forward network, each normed, gated and added as the time says."""

    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        size, rank, eps = config.hidden_size, config.adaln_rank, config.norm_eps
        self.attention_norm = AdaptiveNorm(size, rank, eps)
        self.attention = JointAttention(config)
        self.feed_forward_norm = AdaptiveNorm(size, rank, eps)
        self.feed_forward = SwiGLU(size, config.intermediate_size)

    def forward(self, x: Tensor, layer: int, packing: Packing) -> Tensor:
        """The positions [N, D] after this block, which is the `layer`-th."""
        norm = self.attention_norm
        normed = [norm(part, time.attention[layer]) for time, part in packing.by_time(x)]
        gathered = self.attention(joined(normed), layer, packing)
        gates = [time.attention[layer].gate for time in packing.times]
        x = _added(x, gathered, gates, packing)
        norm = self.feed_forward_norm
        normed = [norm(part, time.feed_forward[layer]) for time, part in packing.by_time(x)]
        gates = [time.feed_forward[layer].gate for time in packing.times]
        return _added(x, self.feed_forward(joined(normed)), gates, packing)


def _added(x: Tensor, new: Tensor, gates: Sequence[Tensor], packing: Packing) -> Tensor:
    """The positions [N, D] with new channels [N, D] added through the gate [D] of their time."""
    parts = (torch.split(part, packing.time_lengths) for part in (x, new))
    return joined([torch.addcmul(x, new, gate) for x, new, gate in zip(*parts, gates, strict=True)])


class EchoDiT(nn.Module):
    """The trunk and its conditioning. `blockwise` is set when blocks are to be sampled."""

    blockwise: BlockwiseParts | None

    def __init__(self, config: DiTConfig) -> None:
        super().__init__()
        eps, patch_size = config.norm_eps, config.patch_size
        self.config = config
        self.text_encoder = TextEncoder(config.text, config.text_vocab_size, eps)
        self.speaker_encoder = LatentEncoder(config.speaker, config.latent_size, patch_size, eps)
        self.timestep = TimestepConditioning(config.timestep_size, config.hidden_size)
        self.in_proj = nn.Linear(config.latent_size, config.hidden_size)
        self.blocks = nn.ModuleList(TrunkBlock(config) for _ in range(config.n_layers))
        self.out_norm = RMSNorm(config.hidden_size, eps, weight_first=True)
        self.out_proj = nn.Linear(config.hidden_size, config.latent_size)
        self.rotary = PairRotary(config.head_dim, ROPE_THETA)
        self.blockwise = None

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.in_proj.weight.device

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of the weights and of all hidden states."""
        return self.in_proj.weight.dtype

    def text_keys(self, ids: Tensor) -> Keys:
        """The keys and values [H, S, d] of a text's ids int64 [S], for every block."""
        hidden = self.text_encoder(ids.to(self.device))
        return tuple(a.context(a.text, hidden) for a in self._attentions())

    def speaker_keys(self, latents: Tensor) -> Keys:
        """The keys and values [H, S, d] of a reference's latents [T, C], for every block."""
        hidden = self.speaker_encoder(latents.to(self.device, self.dtype))
        return tuple(a.context(a.speaker, hidden) for a in self._attentions())

    def latent_keys(self, latents: Tensor) -> Keys:
        """The keys and values [H, S, d] of earlier latents [T, C], for every block.

        They stand at the positions of their patches' first latents.
        """
        assert self.blockwise is not None, "the blockwise parts are not loaded"
        hidden = self.blockwise.encoder(latents.to(self.device, self.dtype))
        places = torch.arange(len(hidden), device=self.device) * self.config.patch_size
        rotation = self.rotary(places[None])
        contexts = []
        for attention, projection in zip(
            self._attentions(), self.blockwise.projections, strict=True
        ):
            assert isinstance(projection, ContextProjection)
            keys, values = attention.context(projection, hidden)
            contexts.append((attention.turned(keys, rotation), values))
        return tuple(contexts)

    def modulations(self, times: Tensor) -> tuple[StepModulation, ...]:
        """What the norms do at each of the times [n], all of them computed in one batch."""
        cond = self.timestep(times.to(self.device))
        attention = [block.attention_norm.modulation(cond) for block in self._trunk()]
        feed_forward = [block.feed_forward_norm.modulation(cond) for block in self._trunk()]
        return tuple(
            StepModulation(
                tuple(modulation.at(step) for modulation in attention),
                tuple(modulation.at(step) for modulation in feed_forward),
            )
            for step in range(len(times))
        )

    def velocities(self, lanes: Sequence[Lane]) -> tuple[Tensor, ...]:
        """The velocity float32 [T, C] of every lane, from one pass over all of them."""
        packing = self._packing(lanes)
        x = self.in_proj(joined([lane.latents for lane in lanes]).to(self.dtype))
        for layer, block in enumerate(self.blocks):
            x = block(x, layer, packing)
        return packing.by_lane(self.out_proj(self.out_norm(x)).float())

    def _packing(self, lanes: Sequence[Lane]) -> Packing:
        times, time_lengths = [], []
        for modulation, same_time in groupby(lanes, key=attrgetter("modulation")):
            times.append(modulation)
            time_lengths.append(sum(len(lane.latents) for lane in same_time))
        places = [torch.arange(lane.start, lane.start + len(lane.latents)) for lane in lanes]
        rotation = self.rotary(torch.cat(places)[None].to(self.device))
        return Packing(lanes, tuple(times), time_lengths, rotation)

    def _trunk(self) -> Iterator[TrunkBlock]:
        for block in self.blocks:
            assert isinstance(block, TrunkBlock)
            yield block

    def _attentions(self) -> Iterator[JointAttention]:
        return (block.attention for block in self._trunk())
