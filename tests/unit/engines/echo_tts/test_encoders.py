import pytest
import torch
from torch import Tensor

from menura.engines.echo_tts.encoders import LatentEncoder
from tests.unit.engines.echo_tts.random_dit import CONFIG, latents, random_dit, text_ids

PATCH = CONFIG.patch_size


def encoder() -> LatentEncoder:
    return random_dit().speaker_encoder


def input_of_stack(module: LatentEncoder, x: Tensor) -> Tensor:
    seen: list[Tensor] = []
    hook = module.stack.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    module(x)
    hook.remove()
    return seen[0]


def test_a_patch_is_its_frames_one_after_another_and_the_projection_is_divided_by_6() -> None:
    module, x = encoder(), latents(2 * PATCH)
    patches = [torch.cat([x[4 * p + f] for f in range(PATCH)]) for p in range(2)]
    by_hand = (torch.stack(patches) @ module.in_proj.weight.T + module.in_proj.bias) / 6
    torch.testing.assert_close(input_of_stack(module, x), by_hand)


def test_a_patch_sees_no_later_one() -> None:
    x = latents(6 * PATCH).requires_grad_()
    hidden = encoder()(x)
    [gradient] = torch.autograd.grad(hidden[2].square().sum(), x)
    assert gradient[3 * PATCH :].abs().max() == 0
    assert (gradient[: 3 * PATCH].abs().amax(dim=-1) > 0).all()


def test_a_part_of_a_patch_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match="not full"):
        encoder()(latents(PATCH + 1))


def test_every_byte_sees_the_whole_text() -> None:
    module, ids = random_dit().text_encoder, text_ids(5)
    embedded = module.embedding(ids).requires_grad_()
    hidden = module.stack(embedded)
    [gradient] = torch.autograd.grad(hidden[1].square().sum(), embedded)
    assert (gradient.abs().amax(dim=-1) > 0).all()


def test_bytes_in_another_order_are_another_text() -> None:
    module, ids = random_dit().text_encoder, text_ids(5)
    assert not torch.allclose(module(ids.flip(0)).flip(0), module(ids), atol=1e-2)


def test_each_head_has_norm_weights_of_its_own() -> None:
    attention = encoder().stack.get_submodule("blocks.0.attention")
    heads = CONFIG.speaker.n_heads, CONFIG.speaker.head_dim
    assert attention.get_parameter("query_norm.weight").shape == heads
    assert attention.get_parameter("key_norm.weight").shape == heads
