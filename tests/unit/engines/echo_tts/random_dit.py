"""A small trunk with random weights, and rows of it. No two widths are equal."""

import torch
from torch import Tensor, nn

from menura.engines.echo_tts.blockwise import BlockwiseParts
from menura.engines.echo_tts.config import DiTConfig, EncoderConfig
from menura.engines.echo_tts.dit import EchoDiT, Keys
from menura.engines.echo_tts.generate import Conditions, SamplerRow, SamplerSettings, advance
from menura.engines.echo_tts.guidance import Guidance
from menura.engines.echo_tts.schedule import Schedules

CONFIG = DiTConfig(
    latent_size=6,
    hidden_size=32,
    intermediate_size=40,
    n_layers=3,
    n_heads=4,
    norm_eps=1e-5,
    text_vocab_size=256,
    text=EncoderConfig(hidden_size=24, intermediate_size=36, n_layers=2, n_heads=2),
    speaker=EncoderConfig(hidden_size=20, intermediate_size=28, n_layers=2, n_heads=2),
    patch_size=4,
    timestep_size=16,
    adaln_rank=5,
)
GUIDANCE = Guidance(text=3.0, speaker=8.0, min_t=0.5, max_t=1.0)


def random_dit(*, blockwise: bool = False, seed: int = 0) -> EchoDiT:
    dit = EchoDiT(CONFIG)
    if blockwise:
        dit.blockwise = BlockwiseParts(CONFIG)
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in dit.named_parameters():
        nn.init.normal_(parameter, 0, parameter.shape[-1] ** -0.5, generator=generator)
        if name.endswith("norm.weight"):
            nn.init.normal_(parameter, 1, 0.2, generator=generator)
    return dit.requires_grad_(requires_grad=False)


def latents(n_frames: int, seed: int = 1) -> Tensor:
    return torch.randn(n_frames, CONFIG.latent_size, generator=torch.Generator().manual_seed(seed))


def text_ids(n_ids: int, seed: int = 2) -> Tensor:
    return torch.randint(0, 256, (n_ids,), generator=torch.Generator().manual_seed(seed))


def conditions(dit: EchoDiT, n_ids: int = 9, n_speaker: int = 12, seed: int = 2) -> Conditions:
    return Conditions(dit.text_keys(text_ids(n_ids, seed)), speaker_keys(dit, n_speaker, seed))


def speaker_keys(dit: EchoDiT, n_frames: int = 12, seed: int = 2) -> Keys:
    return dit.speaker_keys(latents(n_frames, seed))


class SeededNoise:
    """Normal numbers of one seed; remembers what was asked for."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.asked: list[tuple[str, tuple[int, ...]]] = []
        self._generator = torch.Generator().manual_seed(seed)

    def draw(self, name: str, shape: tuple[int, ...]) -> Tensor:
        self.asked.append((name, shape))
        return torch.randn(shape, generator=self._generator)


def settings(
    n_steps: int = 4,
    n_frames: int = 8,
    guidance: Guidance = GUIDANCE,
    blocks: tuple[int, ...] | None = None,
) -> SamplerSettings:
    return SamplerSettings(n_steps, guidance, None, None, None, n_frames, blocks)


def row(
    dit: EchoDiT,
    chosen: SamplerSettings,
    given: Conditions | None = None,
    noise: SeededNoise | None = None,
) -> SamplerRow:
    return SamplerRow(dit, chosen, given or conditions(dit), noise or SeededNoise(), Schedules(dit))


def sampled(dit: EchoDiT, *rows: SamplerRow) -> list[Tensor]:
    """The frames [T, C] of rows that go on together until each is done."""
    while moving := [row for row in rows if not row.is_done]:
        advance(dit, moving)
    frames = [row.new_frames() for row in rows]
    return [torch.from_numpy(made) for made in frames if made is not None]


def distance(ours: Tensor, theirs: Tensor) -> float:
    """The relative L2 distance."""
    return float((ours - theirs).norm() / theirs.norm())
