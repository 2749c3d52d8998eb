"""Rows of Echo-TTS: whoever goes along, and whenever a row joins, its latents are those alone."""

from functools import cache

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from menura.engines.echo_tts.dit import EchoDiT
from menura.engines.echo_tts.generate import Conditions, SamplerRow, SamplerSettings, advance
from menura.engines.echo_tts.guidance import Guidance, Rescale
from menura.engines.echo_tts.schedule import Schedules
from menura.engines.echo_tts.speaker_scale import SpeakerScale
from tests.unit.engines.echo_tts.random_dit import (
    SeededNoise,
    conditions,
    distance,
    latents,
    random_dit,
    sampled,
)


@cache
def model() -> EchoDiT:
    return random_dit(blockwise=True)


@cache
def schedules() -> Schedules:
    return Schedules(model())


guidances = st.builds(
    Guidance,
    text=st.sampled_from([0.0, 3.0]),
    speaker=st.sampled_from([0.0, 8.0]),
    min_t=st.sampled_from([0.0, 0.5, 1.0]),
    max_t=st.sampled_from([0.8, 1.0]),
    joint=st.booleans(),
)
plans = st.builds(
    SamplerSettings,
    n_steps=st.integers(1, 3),
    guidance=guidances,
    truncation_factor=st.sampled_from([None, 0.8]),
    rescale=st.sampled_from([None, Rescale(1.2, 3.0)]),
    speaker_scale=st.sampled_from([None, SpeakerScale(1.5, 2, 0.6)]),
    n_frames=st.integers(1, 9),
    block_sizes=st.sampled_from([None, (4, 8), (3, 1)]),
)
utterances = st.tuples(plans, st.integers(1, 9), st.sampled_from([0, 4, 12]), st.integers(0, 99))


def made(plan: SamplerSettings, n_ids: int, n_speaker: int, seed: int) -> SamplerRow:
    given = conditions(model(), n_ids, max(n_speaker, 4), seed)
    given = given if n_speaker else Conditions(given.text)
    return SamplerRow(model(), plan, given, SeededNoise(seed), schedules())


@settings(max_examples=12, deadline=None)
@given(st.lists(utterances, min_size=1, max_size=3), st.integers(0, 3))
def test_a_row_does_not_know_its_neighbours(
    wanted: list[tuple[SamplerSettings, int, int, int]], n_ahead: int
) -> None:
    rows = [made(*utterance) for utterance in wanted]
    alone = [torch.cat(sampled(model(), made(*utterance))) for utterance in wanted]
    for _ in range(min(n_ahead, rows[0].n_steps_total)):
        advance(model(), rows[:1])
    for ours, theirs in zip(_frames(rows), alone, strict=True):
        assert distance(ours, theirs) < 2e-5


def _frames(rows: list[SamplerRow]) -> list[Tensor]:
    frames = sampled(model(), *rows)
    assert all(row.error is None for row in rows)
    return frames


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 6), st.integers(0, 5), st.integers(0, 99))
def test_the_encoder_of_latents_is_causal(n_patches: int, patch: int, seed: int) -> None:
    encoder = model().speaker_encoder
    x = latents(4 * n_patches, seed).requires_grad_()
    patch = min(patch, n_patches - 1)
    [gradient] = torch.autograd.grad(encoder(x)[patch].square().sum(), x)
    reached = gradient.abs().amax(dim=-1) > 0
    assert reached.tolist() == [frame < 4 * (patch + 1) for frame in range(4 * n_patches)]
