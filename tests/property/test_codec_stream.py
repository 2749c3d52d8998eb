"""A stream of codes gives the samples of the whole, in pieces of any size.

Sums of other lengths round differently: in float32 by up to 1e-5, in float64 not visibly.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from menura.engines.qwen3_tts.codec import CodeArray, Codec, FloatArray
from tests.unit.engines.qwen3_tts.random_codec import (
    CODEBOOK_SIZE,
    N_CODEBOOKS,
    SAMPLES_PER_FRAME,
    random_codec,
    random_decoder,
)

CODEC = random_codec()
WIDE_CODEC = Codec(lambda: CODEC.encoder, random_decoder().double(), CODEC.config)
LENGTHS = (1, 2, 299, 300, 301, 650)


def codes(n_frames: int) -> CodeArray:
    return np.random.default_rng(n_frames).integers(0, CODEBOOK_SIZE, (n_frames, N_CODEBOOKS))


WHOLE = {n_frames: CODEC.decode(codes(n_frames)) for n_frames in LENGTHS}
WIDE_WHOLE = {n_frames: WIDE_CODEC.decode(codes(n_frames)) for n_frames in LENGTHS}


def is_whole(pieces: list[FloatArray], whole: FloatArray, within: float) -> bool:
    samples = np.concatenate(pieces)
    return samples.shape == whole.shape and bool(np.abs(samples - whole).max() <= within)


@pytest.mark.parametrize("size", [1, 4, 25, 300, 301])
@pytest.mark.parametrize("n_frames", LENGTHS)
def test_pieces_of_one_size(n_frames: int, size: int) -> None:
    stream, clip = CODEC.stream(), codes(n_frames)
    pieces = [stream.decode(clip[at : at + size]) for at in range(0, n_frames, size)]
    assert is_whole(pieces, WHOLE[n_frames], within=1e-5)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_cut_gives_the_whole(data: st.DataObject) -> None:
    n_frames = data.draw(st.sampled_from(LENGTHS))
    cuts = data.draw(st.lists(st.integers(0, n_frames), max_size=12).map(sorted))
    starts, stops = [0, *cuts], [*cuts, n_frames]
    stream, clip = WIDE_CODEC.stream(), codes(n_frames)
    pieces = [stream.decode(clip[a:b]) for a, b in zip(starts, stops, strict=True)]
    assert [len(piece) for piece in pieces] == [
        (b - a) * SAMPLES_PER_FRAME for a, b in zip(starts, stops, strict=True)
    ]
    assert is_whole(pieces, WIDE_WHOLE[n_frames], within=1e-7)


@pytest.mark.parametrize("n_heard", [0, 1, 30, 299, 300, 301, 599, 600, 630])
def test_a_stream_goes_on_from_what_it_has_only_heard(n_heard: int) -> None:
    clip = codes(650)
    decoded, heard, cut = CODEC.stream(), CODEC.stream(), CODEC.stream()
    decoded.decode(clip[:n_heard])
    heard.hear(clip[:n_heard])
    cut.hear(clip[: n_heard // 3])
    cut.hear(clip[n_heard // 3 : n_heard])
    wanted = decoded.decode(clip[n_heard:])
    assert np.array_equal(heard.decode(clip[n_heard:]), wanted)
    assert is_whole([cut.decode(clip[n_heard:])], wanted, within=1e-5)


@given(cut=st.integers(0, 650), end=st.integers(0, 650))
@settings(max_examples=20, deadline=None)
def test_a_copy_goes_on_where_it_was_made(cut: int, end: int) -> None:
    cut, end = sorted((cut, end))
    clip = codes(650)
    stream = WIDE_CODEC.stream()
    head = stream.decode(clip[:cut])
    copies = [stream.copy(), stream.copy()]
    stream.decode(clip[cut:end][::-1])
    for copy in copies:
        pieces = [head, copy.decode(clip[cut:end]), copy.decode(clip[end:])]
        assert is_whole(pieces, WIDE_WHOLE[650], within=1e-7)
