import math

import pytest
import torch
from torch import Tensor

from menura.engines.echo_tts.blockwise import ContextProjection
from menura.engines.echo_tts.config import ROPE_THETA
from menura.engines.echo_tts.dit import EchoDiT, JointAttention, Keys, Lane, TrunkBlock
from tests.unit.engines.echo_tts.random_dit import (
    CONFIG,
    distance,
    latents,
    random_dit,
    speaker_keys,
    text_ids,
)

T = torch.tensor([0.7, 0.3])


def text_keys(dit: EchoDiT, n_ids: int = 9) -> Keys:
    return dit.text_keys(text_ids(n_ids))


def turned_by_hand(x: Tensor, positions: Tensor) -> Tensor:
    """Heads [T, H, d]: neighbouring channels of the first half of the heads turned as pairs."""
    out, n_heads, size = x.clone(), x.shape[1], x.shape[2]
    for pair in range(size // 2):
        angle = positions * ROPE_THETA ** (-2 * pair / size)
        cos, sin = angle.cos()[:, None], angle.sin()[:, None]
        a, b = x[:, : n_heads // 2, 2 * pair], x[:, : n_heads // 2, 2 * pair + 1]
        out[:, : n_heads // 2, 2 * pair] = a * cos - b * sin
        out[:, : n_heads // 2, 2 * pair + 1] = a * sin + b * cos
    return out


def masked_attention(
    attention: JointAttention, x: Tensor, contexts: list[tuple[Tensor, Tensor, bool]]
) -> Tensor:
    """Joint attention [T, D] as one masked softmax; a context has a flag that says if it is on."""
    positions = torch.arange(len(x)).float()
    queries = turned_by_hand(attention.queries(x), positions)
    keys = [turned_by_hand(attention.keys(x), positions)]
    values = [attention.values(x)]
    keep = [torch.ones(len(x), dtype=torch.bool)]
    for context_keys, context_values, is_on in contexts:
        keys.append(context_keys.transpose(0, 1))
        values.append(context_values.transpose(0, 1))
        keep.append(torch.full((context_keys.shape[1],), is_on))
    scores = torch.einsum("thd,shd->hts", queries, torch.cat(keys)) / math.sqrt(CONFIG.head_dim)
    weights = scores.masked_fill(~torch.cat(keep), -math.inf).softmax(-1)
    gathered = torch.einsum("hts,shd->thd", weights, torch.cat(values)).flatten(1)
    mixed: Tensor = attention.output(gathered * attention.gate(x).sigmoid())
    return mixed


def masked_velocity(dit: EchoDiT, x: Tensor, contexts: list[tuple[Keys, bool]]) -> Tensor:
    """The velocity [T, C] at the first time, block by block, from the formulas."""
    [modulation, _] = dit.modulations(T)
    x = dit.in_proj(x)
    for layer, block in enumerate(dit.blocks):
        assert isinstance(block, TrunkBlock)
        now = modulation.attention[layer], modulation.feed_forward[layer]
        on = [(*keys[layer], is_on) for keys, is_on in contexts]
        normed = block.attention_norm(x, now[0])
        x = x + now[0].gate * masked_attention(block.attention, normed, on)
        x = x + now[1].gate * block.feed_forward(block.feed_forward_norm(x, now[1]))
    velocity: Tensor = dit.out_proj(dit.out_norm(x))
    return velocity


@pytest.mark.parametrize("text_is_on", [True, False])
@pytest.mark.parametrize("speaker_is_on", [True, False])
def test_a_context_left_out_is_a_context_masked_off(text_is_on: bool, speaker_is_on: bool) -> None:
    dit, x = random_dit(), latents(8)
    contexts = [(text_keys(dit), text_is_on), (speaker_keys(dit), speaker_is_on)]
    seen = tuple(keys for keys, is_on in contexts if is_on)
    [velocity] = dit.velocities([Lane(x, seen, dit.modulations(T)[0])])
    assert distance(velocity, masked_velocity(dit, x, contexts)) < 1e-6


def test_lanes_in_one_pass_are_the_lanes_alone() -> None:
    dit = random_dit()
    text, speaker = text_keys(dit), speaker_keys(dit)
    early, late = dit.modulations(T)
    lanes = [
        Lane(latents(8), (text, speaker), early),
        Lane(latents(8), (speaker,), early),
        Lane(latents(5, seed=4), (text,), late, start=12),
        Lane(latents(3, seed=5), (), early),
    ]
    together = dit.velocities(lanes)
    for lane, velocity in zip(lanes, together, strict=True):
        [alone] = dit.velocities([lane])
        assert velocity.shape == lane.latents.shape
        assert distance(velocity, alone) < 1e-6


def test_lanes_of_one_time_are_normed_together_and_others_apart() -> None:
    dit, calls = random_dit(), []
    early, late = dit.modulations(T)
    dit.get_submodule("blocks.0.attention_norm").register_forward_hook(
        lambda _, inputs, output: calls.append(len(output))
    )
    lanes = [Lane(latents(8), (), early), Lane(latents(5), (), early), Lane(latents(3), (), late)]
    dit.velocities(lanes)
    assert calls == [13, 3]


def test_the_place_on_the_canvas_moves_nothing_but_what_is_seen_of_earlier_latents() -> None:
    dit = random_dit(blockwise=True)
    [modulation, _] = dit.modulations(T)
    earlier = dit.latent_keys(latents(8, seed=3))
    at_8, at_12 = (Lane(latents(4), (earlier,), modulation, start) for start in (8, 12))
    alone_8, alone_12 = (Lane(latents(4), (), modulation, start) for start in (8, 12))
    velocities = dit.velocities([at_8, at_12, alone_8, alone_12])
    assert distance(velocities[0], velocities[1]) > 1e-4
    assert distance(velocities[2], velocities[3]) < 1e-5


def test_keys_of_earlier_latents_stand_at_the_first_latents_of_their_patches() -> None:
    dit = random_dit(blockwise=True)
    assert dit.blockwise is not None
    x = latents(12)
    attention = dit.get_submodule("blocks.1.attention")
    assert isinstance(attention, JointAttention)
    projection = dit.blockwise.projections[1]
    assert isinstance(projection, ContextProjection)
    unturned = attention.key_norm(attention.heads(projection.key(dit.blockwise.encoder(x))))
    by_hand = turned_by_hand(unturned, torch.tensor([0.0, 4.0, 8.0]))
    keys, values = dit.latent_keys(x)[1]
    torch.testing.assert_close(keys.transpose(0, 1), by_hand, rtol=0, atol=1e-5)
    assert values.shape == (CONFIG.n_heads, 3, CONFIG.head_dim)


def test_earlier_latents_need_the_blockwise_parts() -> None:
    with pytest.raises(AssertionError, match="blockwise parts are not loaded"):
        random_dit().latent_keys(latents(4))


def test_the_blockwise_parts_are_attached_as_a_module() -> None:
    names = {name.split(".")[0] for name, _ in random_dit(blockwise=True).named_parameters()}
    assert names - {name.split(".")[0] for name, _ in random_dit().named_parameters()} == {
        "blockwise"
    }


def test_it_runs_in_bfloat16_and_answers_in_float32() -> None:
    half, exact = random_dit().to(torch.bfloat16), random_dit().to(torch.bfloat16).float()
    x, t = latents(8), torch.tensor([0.75])
    [velocity], [reference] = (
        dit.velocities([Lane(x, (text_keys(dit),), dit.modulations(t)[0])]) for dit in (half, exact)
    )
    assert velocity.dtype == torch.float32
    assert 1e-4 < distance(velocity, reference) < 0.05


def test_a_velocity_can_be_differentiated() -> None:
    dit = random_dit().requires_grad_()
    x = latents(8).requires_grad_()
    lane = Lane(x, (text_keys(dit), speaker_keys(dit)), dit.modulations(T)[0])
    loss = dit.velocities([lane])[0].square().mean()
    wanted = {"latents": x, **dict(dit.named_parameters())}
    gradients = torch.autograd.grad(loss, tuple(wanted.values()), allow_unused=True)
    unused = [name for name, given in zip(wanted, gradients, strict=True) if given is None]
    assert unused == []
