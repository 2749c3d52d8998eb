from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from menura.engines.echo_tts.dit import EchoDiT, Lane
from menura.engines.echo_tts.generate import Conditions, SamplerRow, advance
from menura.engines.echo_tts.guidance import Guidance, Rescale
from menura.engines.echo_tts.schedule import Schedules, times
from menura.engines.echo_tts.speaker_scale import SpeakerScale
from menura.errors import InvalidValueError, NumericsError
from tests.unit.engines.echo_tts.random_dit import (
    CONFIG,
    GUIDANCE,
    SeededNoise,
    conditions,
    distance,
    latents,
    random_dit,
    row,
    sampled,
    settings,
)


def counted(dit: EchoDiT) -> list[int]:
    """The positions of every pass from now on."""
    passes: list[int] = []
    dit.in_proj.register_forward_hook(lambda _, inputs, output: passes.append(len(output)))
    return passes


def by_hand(dit: EchoDiT, given: Conditions, x: Tensor, n_steps: int) -> Tensor:
    """A window [T, C] by Euler's method, one lane a pass."""
    assert given.speaker is not None
    schedule, text, speaker = times(n_steps), given.text, given.speaker
    for step in range(n_steps):
        t, t_next = schedule[step], schedule[step + 1]
        [modulation] = dit.modulations(t[None])
        views = [(text, speaker), (speaker,), (text,)]
        see, no_text, no_speaker = (dit.velocities([Lane(x, v, modulation)])[0] for v in views)
        if t >= GUIDANCE.min_t:
            see = see + GUIDANCE.text * (see - no_text) + GUIDANCE.speaker * (see - no_speaker)
        x = x + see * (t_next - t)
    return x


def test_a_window_is_eulers_method_from_noise_to_time_0() -> None:
    dit = random_dit()
    given = conditions(dit)
    [frames] = sampled(dit, row(dit, settings(n_steps=4), given))
    noise = SeededNoise().draw("latents", (1, 8, CONFIG.latent_size))[0]
    assert distance(frames, by_hand(dit, given, noise, 4)) < 1e-5


def test_the_noise_is_asked_for_block_by_block() -> None:
    dit, noise = random_dit(blockwise=True), SeededNoise()
    going = row(dit, settings(n_steps=1, blocks=(8, 4)), noise=noise)
    assert noise.asked == [("latents", (1, 8, 6))]
    sampled(dit, going)
    assert noise.asked == [("latents", (1, 8, 6)), ("latents", (1, 4, 6))]


def test_truncation_makes_the_noise_smaller() -> None:
    dit = random_dit()
    whole = row(dit, settings()).latents
    assert torch.equal(row(dit, replace(settings(), truncation_factor=0.8)).latents, whole * 0.8)


def test_steps_are_counted_and_frames_come_at_the_end() -> None:
    dit = random_dit()
    going = row(dit, settings(n_steps=2))
    assert (going.n_steps_done, going.n_steps_total, going.is_done) == (0, 2, False)
    advance(dit, [going])
    assert (going.n_steps_done, going.is_done) == (1, False)
    assert going.new_frames() is None
    advance(dit, [going])
    assert (going.n_steps_done, going.is_done) == (2, True)
    frames = going.new_frames()
    assert frames is not None
    assert frames.shape == (8, 6)
    assert frames.dtype == np.float32
    assert going.new_frames() is None


@pytest.mark.parametrize(
    ("guidance", "passes"),
    [
        (GUIDANCE, [24, 24, 8, 8]),
        (replace(GUIDANCE, joint=True), [16, 16, 8, 8]),
        (replace(GUIDANCE, speaker=0.0), [16, 16, 8, 8]),
        (replace(GUIDANCE, text=0.0, speaker=0.0), [8, 8, 8, 8]),
        (replace(GUIDANCE, min_t=0.3, max_t=0.75), [8, 24, 24, 8]),
    ],
)
def test_a_step_has_only_the_lanes_that_it_needs(guidance: Guidance, passes: list[int]) -> None:
    dit = random_dit()
    going = row(dit, settings(n_steps=4, guidance=guidance))
    seen = counted(dit)
    sampled(dit, going)
    assert seen == passes


def test_without_a_speaker_no_lane_is_spent_on_leaving_it_out() -> None:
    dit = random_dit()
    going = row(dit, settings(n_steps=1), Conditions(conditions(dit).text))
    seen = counted(dit)
    sampled(dit, going)
    assert seen == [16]


def test_a_row_that_joins_midway_is_the_row_alone() -> None:
    dit = random_dit()
    others = [conditions(dit, n_ids=5, n_speaker=8, seed=seed) for seed in (3, 4)]
    plans = [settings(4, 8), replace(settings(3, 5), truncation_factor=0.8)]

    def made() -> list[SamplerRow]:
        starts = zip(plans, others, strict=True)
        return [row(dit, p, c, SeededNoise(i)) for i, (p, c) in enumerate(starts)]

    first, second = made()
    advance(dit, [first])
    together = sampled(dit, first, second)
    for alone, joined in zip(made(), together, strict=True):
        assert distance(joined, sampled(dit, alone)[0]) < 1e-5


def test_latents_that_are_no_numbers_end_their_row_alone() -> None:
    dit = random_dit()
    healthy = row(dit, settings())
    [expected] = sampled(dit, row(dit, settings()))
    broken_keys = tuple((key * torch.nan, value) for key, value in conditions(dit).text)
    broken = row(dit, settings(), Conditions(broken_keys))
    [frames] = sampled(dit, healthy, broken)
    assert isinstance(broken.error, NumericsError)
    assert "after step 1 of 4" in broken.error.message
    assert broken.is_done
    assert healthy.error is None
    assert distance(frames, expected) < 1e-5


def test_one_block_is_the_window() -> None:
    dit = random_dit(blockwise=True)
    [window] = sampled(dit, row(dit, settings(n_frames=8)))
    [block] = sampled(dit, row(dit, settings(blocks=(8,))))
    assert torch.equal(block, window)


def test_blocks_are_handed_over_one_by_one_and_have_their_own_steps() -> None:
    dit = random_dit(blockwise=True)
    plan = replace(settings(blocks=(4, 8)), block_steps=(1, 2))
    going = row(dit, plan)
    assert going.n_steps_total == 3
    sizes = []
    while not going.is_done:
        advance(dit, [going])
        frames = going.new_frames()
        sizes.append(0 if frames is None else len(frames))
    assert sizes == [4, 0, 8]


def test_a_block_sees_the_ones_before_it() -> None:
    dit = random_dit(blockwise=True)
    plan, given = settings(n_steps=2, blocks=(8, 4)), conditions(dit)
    going = row(dit, plan, given)
    advance(dit, [going])
    advance(dit, [going])
    first = going.new_frames()
    assert first is not None
    [rest] = sampled(dit, going)
    noise = SeededNoise()
    noise.draw("latents", (1, 8, CONFIG.latent_size))
    continued = replace(given, continuation=torch.from_numpy(first))
    [alone] = sampled(dit, row(dit, settings(n_steps=2, blocks=(4,)), continued, noise))
    assert torch.equal(rest, alone)
    [blind] = sampled(dit, row(dit, settings(n_steps=2, n_frames=4), given, noise))
    assert distance(rest, blind) > 1e-2


def test_a_continuation_is_seen_and_not_handed_over_again() -> None:
    dit = random_dit(blockwise=True)
    going = row(dit, settings(n_frames=6), replace(conditions(dit), continuation=latents(18)))
    [frames] = sampled(dit, going)
    assert frames.shape == (6, 6)


def test_a_canvas_with_part_of_a_patch_is_refused_before_the_first_step() -> None:
    dit = random_dit(blockwise=True)
    given = replace(conditions(dit), continuation=latents(18))
    with pytest.raises(InvalidValueError, match="after 18 frames to go on from makes 26"):
        row(dit, settings(n_frames=8), given)


def test_a_window_without_continuation_may_have_any_length() -> None:
    dit = random_dit()
    [frames] = sampled(dit, row(dit, settings(n_steps=1, n_frames=7)))
    assert len(frames) == 7


def test_a_forced_speaker_is_not_seen_any_more_below_min_t() -> None:
    dit = random_dit()
    given = conditions(dit)
    plain = row(dit, settings(n_steps=4), given)
    forced = row(
        dit, replace(settings(n_steps=4), speaker_scale=SpeakerScale(1.5, 2, min_t=0.9)), given
    )
    speaker = given.speaker
    assert speaker is not None
    contexts = [lane.contexts for lane in forced.lanes()]
    torch.testing.assert_close(contexts[0][1][1][0], speaker[1][0] * 1.5)
    assert contexts[0][1][2][0] is speaker[2][0]
    advance(dit, [forced, plain])
    assert forced.lanes()[0].contexts[1] is speaker
    assert distance(forced.latents, plain.latents) > 1e-4


def test_rescaling_changes_the_steps() -> None:
    dit = random_dit()
    [plain] = sampled(dit, row(dit, settings()))
    for k, is_near in ((1.0, True), (1.2, False)):
        [made] = sampled(dit, row(dit, replace(settings(), rescale=Rescale(k, sigma=3.0))))
        assert (distance(made, plain) < 1e-4) is is_near


def test_rows_of_one_model_share_schedules() -> None:
    dit = random_dit()
    schedules, given = Schedules(dit), conditions(dit)
    rows = [SamplerRow(dit, settings(), given, SeededNoise(i), schedules) for i in (0, 1)]
    first, second = (going.lanes()[0].modulation for going in rows)
    assert first is second
