import pytest
import torch
from torch import Tensor

from menura.engines.qwen3_tts.codec_decoder import WindowTransformer
from tests.unit.engines.qwen3_tts.random_codec import (
    CODEBOOK_SIZE,
    N_CODEBOOKS,
    SAMPLES_PER_FRAME,
    codec_config,
    random_decoder,
)
from tests.unit.nn.random_weights import fill


def codes(n_frames: int, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(0, CODEBOOK_SIZE, (2, N_CODEBOOKS, n_frames), generator=generator)


@pytest.mark.parametrize("n_frames", [1, 2, 9])
def test_every_frame_gives_its_samples(n_frames: int) -> None:
    samples = random_decoder()(codes(n_frames))
    assert samples.shape == (2, n_frames * SAMPLES_PER_FRAME)
    assert samples.abs().max() <= 1
    assert samples.std() > 0.05


def test_samples_are_clipped() -> None:
    decoder = random_decoder()
    with torch.no_grad():
        assert decoder.output_conv.conv.bias is not None
        decoder.output_conv.conv.bias.fill_(50.0)
    assert torch.equal(decoder(codes(2)), torch.ones(2, 2 * SAMPLES_PER_FRAME))


def test_a_frame_changes_no_sample_before_it() -> None:
    decoder, before = random_decoder(), codes(12)
    after = before.clone()
    after[..., 7] = (after[..., 7] + 1) % CODEBOOK_SIZE
    first, second = decoder(before), decoder(after)
    start = 7 * SAMPLES_PER_FRAME
    assert torch.equal(first[:, :start], second[:, :start])
    assert (first != second)[:, start:].any(dim=1).all()


@pytest.mark.parametrize("window", [1, 3, 20])
def test_a_frame_sees_itself_and_the_window_before_it(window: int) -> None:
    model = WindowTransformer(codec_config(window).decoder)
    model.blocks.blocks = model.blocks.blocks[:1]
    fill(model)
    x = torch.randn(1, 6, 10, generator=torch.Generator().manual_seed(2)).requires_grad_()
    model(x, None)[..., 7].sum().backward()
    assert x.grad is not None
    seen = x.grad.abs().sum(dim=(0, 1)).nonzero().flatten().tolist()
    assert seen == list(range(max(0, 8 - window), 8))


def test_a_single_frame_has_its_mask_too(monkeypatch: pytest.MonkeyPatch) -> None:
    masks: list[Tensor] = []
    attend = torch.nn.functional.scaled_dot_product_attention

    def spy(queries: Tensor, keys: Tensor, values: Tensor, *, attn_mask: Tensor) -> Tensor:
        masks.append(attn_mask)
        return attend(queries, keys, values, attn_mask)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    random_decoder()(codes(1))
    assert [mask.tolist() for mask in masks] == [[[[[True]]]]] * 2


@pytest.mark.parametrize("window", [1, 3, 72])
@pytest.mark.parametrize("sizes", [[1] * 10, [4, 1, 5], [9, 1]])
def test_pieces_join_to_the_whole(window: int, sizes: list[int]) -> None:
    decoder = random_decoder(window)
    state, clip = decoder.new_state(), codes(10)
    pieces = [decoder(piece, state) for piece in torch.split(clip, sizes, dim=-1)]
    torch.testing.assert_close(torch.cat(pieces, dim=-1), decoder(clip), rtol=0, atol=1e-5)
    assert state.n_frames == 10


def test_the_state_does_not_grow_with_the_clip() -> None:
    decoder = random_decoder(window=5)
    state = decoder.new_state()
    decoder(codes(30), state)
    assert state.cache.n_positions == 4


def test_a_copied_state_goes_on_alone() -> None:
    decoder = random_decoder()
    state = decoder.new_state()
    decoder(codes(5), state)
    twin = state.copy()
    here = decoder(codes(3, seed=2), state)
    decoder(codes(4, seed=3), state)
    assert torch.equal(decoder(codes(3, seed=2), twin), here)
    assert (state.n_frames, twin.n_frames) == (12, 8)
