import pytest
import torch
from torch import Tensor

from tests.unit.engines.qwen3_tts.random_codec import (
    CODEBOOK_SIZE,
    N_CODEBOOKS,
    SAMPLES_PER_FRAME,
    random_codec,
)


def clip(n_samples: int, seed: int = 1) -> Tensor:
    return torch.randn(1, n_samples, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(
    ("n_samples", "n_frames"), [(1, 1), (11, 1), (12, 1), (13, 2), (24, 2), (25, 3), (1200, 100)]
)
def test_a_partial_frame_counts(n_samples: int, n_frames: int) -> None:
    codes = random_codec().encoder(clip(n_samples))
    assert codes.shape == (1, N_CODEBOOKS, n_frames)
    assert codes.dtype == torch.int64
    assert 0 <= codes.min() <= codes.max() < CODEBOOK_SIZE


def test_codes_follow_the_sound() -> None:
    codes = random_codec().encoder(clip(600))
    assert all(len(codes[0, book].unique()) > 1 for book in range(N_CODEBOOKS))


def test_a_frame_knows_nothing_of_the_samples_after_it() -> None:
    encoder, sound = random_codec().encoder, clip(240)
    other = sound.clone()
    other[:, 10 * SAMPLES_PER_FRAME :] = clip(120, seed=2)
    first, second = encoder(sound), encoder(other)
    assert torch.equal(first[..., :10], second[..., :10])
    assert not torch.equal(first, second)


def test_the_transformer_sees_the_whole_past() -> None:
    encoder = random_codec().encoder
    x = torch.randn(1, 400, 8, generator=torch.Generator().manual_seed(3)).requires_grad_()
    (gradient,) = torch.autograd.grad(encoder._attend(x)[:, -1].sum(), x)
    assert (gradient.abs().sum(dim=(0, 2)) > 0).all()


def test_fewer_codebooks_are_the_first_of_more() -> None:
    codec = random_codec()
    full = codec.encoder(clip(120))
    codec.encoder.quantizer.acoustic.codebooks = codec.encoder.quantizer.acoustic.codebooks[:2]
    assert torch.equal(codec.encoder(clip(120)), full[:, :3])
