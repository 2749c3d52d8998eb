import numpy as np
import pytest
import torch

from menura.engines.echo_tts import autoencoder as autoencoder_module
from menura.errors import InvalidValueError
from menura.speech import FloatArray
from tests.unit.engines.echo_tts.random_autoencoder import (
    LATENT_DIM,
    N_CODEBOOKS,
    SAMPLES_PER_FRAME,
    random_autoencoder,
)

AUTOENCODER = random_autoencoder()


def clip(n_samples: int) -> FloatArray:
    return np.random.default_rng(n_samples).normal(0, 0.2, n_samples).astype(np.float32)


def latents(n_frames: int) -> FloatArray:
    return np.random.default_rng(n_frames).normal(0, 1, (n_frames, LATENT_DIM)).astype(np.float32)


@pytest.mark.parametrize(("n_samples", "n_frames"), [(1, 1), (16, 1), (17, 2), (160, 10)])
def test_a_clip_is_filled_to_whole_frames(n_samples: int, n_frames: int) -> None:
    samples = clip(n_samples)
    filled = np.pad(samples, (0, n_frames * SAMPLES_PER_FRAME - n_samples))
    z_q = AUTOENCODER.encode(samples)
    assert z_q.shape == (n_frames, LATENT_DIM)
    assert z_q.dtype == np.float32
    assert np.array_equal(z_q, AUTOENCODER.encode(filled))


def test_codes_name_the_entries_that_z_q_sums() -> None:
    codes = AUTOENCODER.codes(clip(160))
    assert codes.shape == (10, N_CODEBOOKS)
    assert codes.dtype == np.int64
    quantizer = AUTOENCODER.quantizer
    total = np.zeros((10, LATENT_DIM))
    stacks = [*quantizer.semantic.quantizers, *quantizer.residual.quantizers]
    for column, single in zip(codes.T, stacks, strict=True):
        entries = single.codebook.weight.detach().numpy()[column]
        weight = single.out_proj.weight.detach().numpy()[:, :, 0]
        total += entries @ weight.T + single.out_proj.bias.detach().numpy()
    assert np.allclose(AUTOENCODER.encode(clip(160)), total, atol=1e-5)


@pytest.mark.parametrize("piece_frames", [1, 3, 4, 7])
def test_codes_do_not_depend_on_the_pieces(
    piece_frames: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec, samples = AUTOENCODER, clip(30 * SAMPLES_PER_FRAME)
    whole = codec.codes(samples)
    assert len(np.unique(whole, axis=0)) > 5
    monkeypatch.setattr(autoencoder_module, "PIECE_FRAMES", piece_frames)
    assert np.array_equal(codec.codes(samples), whole)


def test_no_sample_after_a_frame_changes_its_codes() -> None:
    samples = clip(20 * SAMPLES_PER_FRAME)
    changed = samples.copy()
    changed[9 * SAMPLES_PER_FRAME :] *= -1
    codes, other = AUTOENCODER.codes(samples), AUTOENCODER.codes(changed)
    assert np.array_equal(codes[:9], other[:9])
    assert not np.array_equal(codes[9:], other[9:])


def test_no_sample_after_a_position_reaches_the_encoder_s_channels() -> None:
    samples = torch.from_numpy(clip(10 * SAMPLES_PER_FRAME))[None].requires_grad_()
    hidden = AUTOENCODER.encoder(samples)
    hidden[..., :16].square().sum().backward()
    assert samples.grad is not None
    first_unseen = 16 * SAMPLES_PER_FRAME // 4
    assert samples.grad[0, :first_unseen].abs().min() > 0
    assert samples.grad[0, first_unseen:].abs().max() == 0


def test_no_latent_after_a_frame_reaches_its_samples() -> None:
    z_q = torch.from_numpy(latents(10).T.copy())[None].requires_grad_()
    samples = AUTOENCODER.decoder(AUTOENCODER.quantizer.upsample(z_q))
    samples[:, : 6 * SAMPLES_PER_FRAME].square().sum().backward()
    assert z_q.grad is not None
    assert z_q.grad[..., :6].abs().amax(dim=1).min() > 0
    assert z_q.grad[..., 6:].abs().max() == 0


@pytest.mark.parametrize("n_frames", [1, 2, 9])
def test_latents_become_samples(n_frames: int) -> None:
    samples = AUTOENCODER.decode(latents(n_frames))
    assert samples.shape == (n_frames * SAMPLES_PER_FRAME,)
    assert samples.dtype == np.float32
    assert 0.01 < np.abs(samples).max() <= 1


def test_nothing_to_decode_gives_no_samples() -> None:
    assert AUTOENCODER.decode(latents(0)).shape == (0,)
    stream = AUTOENCODER.stream()
    stream.decode(latents(0))
    assert np.array_equal(stream.decode(latents(3)), AUTOENCODER.decode(latents(3)))


def test_a_refused_piece_does_not_move_the_stream() -> None:
    stream = AUTOENCODER.stream()
    with pytest.raises(InvalidValueError, match="finite numbers"):
        stream.decode(np.full((2, LATENT_DIM), np.nan, np.float32))
    assert np.array_equal(stream.decode(latents(3)), AUTOENCODER.decode(latents(3)))


@pytest.mark.parametrize("samples", [clip(0), clip(6)[None], np.array([0.1, np.nan], np.float32)])
def test_what_is_no_clip_is_refused(samples: FloatArray) -> None:
    with pytest.raises(InvalidValueError, match="cannot be encoded"):
        AUTOENCODER.encode(samples)


@pytest.mark.parametrize("shape", [(3,), (3, LATENT_DIM + 1), (1, 3, LATENT_DIM)])
def test_latents_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidValueError, match=f"frames, {LATENT_DIM}"):
        AUTOENCODER.decode(np.zeros(shape, np.float32))
