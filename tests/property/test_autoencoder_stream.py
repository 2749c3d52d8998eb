"""A stream of latents gives the samples of the whole within 1e-5, in pieces of any size."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from menura.speech import FloatArray
from tests.unit.engines.echo_tts.random_autoencoder import (
    LATENT_DIM,
    SAMPLES_PER_FRAME,
    random_autoencoder,
)

N_FRAMES = 23
CODEC = random_autoencoder()
CLIP = np.random.default_rng(0).normal(0, 1, (N_FRAMES, LATENT_DIM)).astype(np.float32)
WHOLE = CODEC.decode(CLIP)


def pieces(cuts: list[int]) -> list[FloatArray]:
    stream = CODEC.stream()
    bounds = zip([0, *cuts], [*cuts, N_FRAMES], strict=True)
    return [stream.decode(CLIP[first:last]) for first, last in bounds]


@given(st.lists(st.integers(0, N_FRAMES), max_size=12).map(sorted))
@settings(max_examples=40, deadline=None)
def test_any_cut_gives_the_whole(cuts: list[int]) -> None:
    found = pieces(cuts)
    bounds = zip([0, *cuts], [*cuts, N_FRAMES], strict=True)
    assert [len(piece) for piece in found] == [
        (last - first) * SAMPLES_PER_FRAME for first, last in bounds
    ]
    assert np.abs(np.concatenate(found) - WHOLE).max() < 1e-5


@given(st.integers(0, N_FRAMES), st.integers(0, N_FRAMES))
@settings(max_examples=20, deadline=None)
def test_a_copy_goes_on_where_it_was_made(cut: int, end: int) -> None:
    cut, end = sorted((cut, end))
    stream = CODEC.stream()
    stream.decode(CLIP[:cut])
    copies = [stream.copy(), stream.copy()]
    stream.decode(CLIP[cut:end][::-1])
    whole = WHOLE[cut * SAMPLES_PER_FRAME :]
    for copy in copies:
        found = np.concatenate([copy.decode(CLIP[cut:end]), copy.decode(CLIP[end:])])
        assert np.abs(found - whole).max(initial=0) < 1e-5
