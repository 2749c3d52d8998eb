import pytest
import torch

from menura.engines.echo_tts.blockwise import BlockwiseParts, Canvas, check_canvas
from menura.errors import InvalidValueError
from tests.unit.engines.echo_tts.random_dit import CONFIG, latents

PATCH = CONFIG.patch_size


def test_an_empty_canvas_shows_nothing() -> None:
    assert Canvas((8, 8), CONFIG.latent_size, None).visible(PATCH).shape == (0, 6)


def test_blocks_follow_one_another_behind_the_continuation() -> None:
    before, first, second = latents(8), latents(4, seed=2), latents(12, seed=3)
    canvas = Canvas((4, 12), CONFIG.latent_size, before)
    assert canvas.start == 8
    canvas.write(first)
    canvas.write(second)
    assert canvas.start == 24
    assert torch.equal(canvas.latents, torch.cat([before, first, second]))


def test_the_last_visible_patch_holds_zeros_where_nothing_was_sampled() -> None:
    before = latents(6)
    visible = Canvas((10,), CONFIG.latent_size, before).visible(PATCH)
    assert torch.equal(visible, torch.cat([before, torch.zeros(2, 6)]))


@pytest.mark.parametrize(("sizes", "n_before"), [((4, 8), 0), ((16, 6), 18), ((3, 5), 0)])
def test_whole_patches_are_accepted(sizes: tuple[int, ...], n_before: int) -> None:
    check_canvas(sizes, n_before, PATCH)


@pytest.mark.parametrize(
    ("sizes", "n_before", "message"),
    [
        ((10, 13), 0, "block_sizes=10,13 makes 23 frames, .*: make the last block 14."),
        ((16, 4), 18, "16,4 after 18 frames to go on from makes 38 frames, .* the last block 6."),
    ],
)
def test_a_canvas_with_part_of_a_patch_is_refused_with_its_sizes(
    sizes: tuple[int, ...], n_before: int, message: str
) -> None:
    with pytest.raises(InvalidValueError, match=message) as caught:
        check_canvas(sizes, n_before, PATCH)
    assert caught.value.param == "block_sizes"


def test_the_parts_have_one_projection_for_every_block_and_an_encoder() -> None:
    names = [name for name, _ in BlockwiseParts(CONFIG).named_parameters()]
    # 12 tensors a block of the encoder, its input (2) and its norm; key and value a projection.
    n_encoder = 12 * CONFIG.speaker.n_layers + 3
    assert len(names) == n_encoder + 2 * CONFIG.n_layers
