from typing import cast

import numpy as np
import pytest
import torch
from torch import Tensor

from menura.audio.resample import resample
from menura.engines.qwen3_tts.codec import CodeArray, Codec, FloatArray, at_rate
from menura.engines.qwen3_tts.codec_decoder import CodecDecoder, DecoderState
from menura.errors import InvalidValueError
from tests.unit.engines.qwen3_tts.random_codec import (
    CODEBOOK_SIZE,
    N_CODEBOOKS,
    RATE_HZ,
    SAMPLES_PER_FRAME,
    random_codec,
)


def codes(n_frames: int, seed: int = 1) -> CodeArray:
    return np.random.default_rng(seed).integers(0, CODEBOOK_SIZE, (n_frames, N_CODEBOOKS))


def clip(n_samples: int) -> FloatArray:
    return np.random.default_rng(3).normal(0, 0.3, n_samples).astype(np.float32)


def count_frames(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The frames of every call of the decoder from now on."""
    counts: list[int] = []
    decoder = codec.decoder
    assert isinstance(decoder, CodecDecoder)
    forward = decoder.forward

    def counted(codes: Tensor, state: DecoderState | None = None) -> Tensor:
        counts.append(codes.shape[-1])
        return forward(codes, state)

    monkeypatch.setattr(decoder, "forward", counted)
    return counts


def test_a_codec_says_its_rates() -> None:
    codec = random_codec()
    assert codec.sample_rate_hz == RATE_HZ
    assert codec.samples_per_frame == SAMPLES_PER_FRAME
    assert codec.n_codebooks == N_CODEBOOKS


@pytest.mark.parametrize("n_frames", [0, 1, 2, 299, 300, 301, 325, 650])
def test_every_frame_gives_its_samples(n_frames: int) -> None:
    samples = random_codec().decode(codes(n_frames))
    assert samples.shape == (n_frames * SAMPLES_PER_FRAME,)
    assert samples.dtype == np.float32


def test_a_chunk_knows_only_its_context() -> None:
    codec, clip_codes = random_codec(), codes(310)
    whole = codec.decode(clip_codes)
    alone = codec.decode(clip_codes[275:])
    start = 300 * SAMPLES_PER_FRAME
    assert np.array_equal(whole[start:], alone[25 * SAMPLES_PER_FRAME :])
    assert not np.allclose(whole[275 * SAMPLES_PER_FRAME : start], alone[: 25 * 12], atol=1e-4)


def test_the_grid_of_chunks_with_context(monkeypatch: pytest.MonkeyPatch) -> None:
    codec = random_codec()
    counts = count_frames(codec, monkeypatch)
    codec.decode(codes(650))
    assert counts == [300, 325, 75]


@pytest.mark.parametrize(("n_frames", "n_decoded"), [(1, 1), (299, 299), (300, 300), (650, 700)])
def test_a_stream_decodes_every_frame_once_and_the_context_again(
    n_frames: int, n_decoded: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    codec = random_codec()
    counts = count_frames(codec, monkeypatch)
    stream = codec.stream()
    for start in range(0, n_frames, 10):
        stream.decode(codes(n_frames)[start : start + 10])
    assert sum(counts) == n_decoded
    assert stream.n_frames == n_frames


def test_a_reference_is_decoded_once_for_all_its_utterances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    codec, reference = random_codec(), codes(290)
    voice = codec.stream()
    voice.decode(reference)
    counts = count_frames(codec, monkeypatch)
    for seed in (5, 6):
        said = codes(40, seed)
        spoken = voice.copy()
        samples = np.concatenate([spoken.decode(said[:3]), spoken.decode(said[3:])])
        whole = codec.decode(np.concatenate([reference, said]))[290 * SAMPLES_PER_FRAME :]
        np.testing.assert_allclose(samples, whole, rtol=0, atol=1e-5)
    assert voice.n_frames == 290
    assert counts == [3, 7, 25 + 30, 300, 55, 3, 7, 25 + 30, 300, 55]


def test_no_codes_give_no_samples_and_move_nothing() -> None:
    stream = random_codec().stream()
    assert stream.decode(codes(0)).shape == (0,)
    assert stream.n_frames == 0


def test_read_only_codes_are_decoded() -> None:
    frozen = codes(1)
    frozen.setflags(write=False)
    assert random_codec().decode(frozen).shape == (SAMPLES_PER_FRAME,)


@pytest.mark.parametrize("kind", [np.uint16, np.int32])
def test_codes_of_any_whole_type_are_decoded(kind: type[np.integer]) -> None:
    codec = random_codec()
    narrow = cast("CodeArray", codes(3).astype(kind))
    assert np.array_equal(codec.decode(narrow), codec.decode(codes(3)))


@pytest.mark.parametrize("bad", [-1, CODEBOOK_SIZE])
def test_a_code_outside_its_codebook_is_refused(bad: int) -> None:
    codec, wrong = random_codec(), codes(4)
    wrong[2, 1] = bad
    with pytest.raises(InvalidValueError, match=r"the codebooks have the codes 0 to 10") as caught:
        codec.decode(wrong)
    assert caught.value.param == "codes"
    stream = codec.stream()
    with pytest.raises(InvalidValueError, match="cannot be decoded"):
        stream.decode(wrong)
    assert stream.n_frames == 0


@pytest.mark.parametrize("shape", [(4,), (2, 3), (1, 2, N_CODEBOOKS)])
def test_codes_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidValueError, match=r"give whole numbers \[frames, 4\]"):
        random_codec().decode(np.zeros(shape, np.int64))


def test_codes_with_fractions_are_refused() -> None:
    with pytest.raises(InvalidValueError, match="type float64"):
        random_codec().decode(cast("CodeArray", np.zeros((2, N_CODEBOOKS))))


def test_encoding_gives_frames_of_codes() -> None:
    codec = random_codec()
    sound = clip(25)
    given = codec.encode(sound, RATE_HZ)
    assert given.shape == (3, N_CODEBOOKS)
    assert given.dtype == np.int64
    assert np.array_equal(given, codec.encoder(torch.from_numpy(sound)[None])[0].T.numpy())


def test_another_rate_is_resampled_first() -> None:
    codec, sound = random_codec(), clip(1000)
    heard = resample(sound, 800, RATE_HZ)
    assert np.array_equal(codec.encode(sound, 800), codec.encode(heard, RATE_HZ))


@pytest.mark.parametrize("sound", [np.zeros(0), np.zeros((10, 2)), np.array([0.0, np.nan])])
def test_what_is_no_sound_is_refused(
    sound: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> None:
    with pytest.raises(InvalidValueError, match="give one channel") as caught:
        random_codec().encode(sound.astype(np.float32), RATE_HZ)
    assert caught.value.param == "samples"


@pytest.mark.parametrize(
    ("n_samples", "from_hz", "n_wanted"),
    [(7, 24_000, 7), (3, 16_000, 5), (1, 96_000, 1), (1601, 96_000, 401), (44101, 44_100, 24001)],
)
def test_a_length_is_rounded_up(n_samples: int, from_hz: int, n_wanted: int) -> None:
    sound = clip(n_samples)
    heard = at_rate(sound, from_hz, 24_000)
    assert heard.shape == (n_wanted,)
    ours = resample(sound, from_hz, 24_000)
    assert np.array_equal(heard[: len(ours)], ours)
    assert not heard[len(ours) :].any()
