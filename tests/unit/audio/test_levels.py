import numpy as np
import pytest

from menura.audio.levels import (
    block_length,
    block_levels,
    ends_in_sound,
    heard_blocks,
    noise_floor,
    runs,
)
from menura.audio.pcm import FloatArray

RATE_HZ = 1_000  # a block has 20 samples


def blocks(*levels: float) -> FloatArray:
    return np.array(levels, np.float32)


def test_a_block_has_20_ms_and_the_last_is_filled_with_silence() -> None:
    samples = np.concatenate([np.full(20, 0.5), np.full(5, -0.5)]).astype(np.float32)
    np.testing.assert_allclose(block_levels(samples, RATE_HZ), [0.5, 0.25])
    assert block_length(24_000) == 480
    assert block_levels(samples[:0], RATE_HZ).shape == (0,)


def test_the_squares_of_any_float_fit() -> None:
    np.testing.assert_allclose(block_levels(np.full(20, 3e38, np.float32), RATE_HZ), [3e38])


def test_long_audio_is_taken_in_pieces_without_a_seam() -> None:
    samples = np.arange(20 * 2_500, dtype=np.float32)
    whole = np.sqrt(np.mean(samples.reshape(-1, 20).astype(np.float64) ** 2, axis=1))
    np.testing.assert_allclose(block_levels(samples, RATE_HZ), whole, rtol=1e-6)


def test_heard_is_what_stands_30_db_below_the_loudest() -> None:
    levels = blocks(0.0, 1.0, 0.031, 0.029, *[0.0] * 20)
    assert np.flatnonzero(heard_blocks(levels)).tolist() == [1, 2]


def test_noise_is_not_heard_but_a_steady_sound_is() -> None:
    noisy = blocks(*[0.1] * 20, 1.0, 0.15, 0.21)
    assert np.flatnonzero(heard_blocks(noisy)).tolist() == [20, 22]
    assert heard_blocks(blocks(*[0.5] * 10)).all()
    assert not heard_blocks(blocks(0.0, 0.0)).any()
    assert noise_floor(noisy) == pytest.approx(0.1)
    assert noise_floor(noisy[:0]) == 0.0


@pytest.mark.parametrize(
    ("heard", "is_cut"),
    [
        ([0, 1, 1, 1], True),
        ([1, 1, 0, 1], False),
        ([1, 1, 1, 0], False),
        ([1, 1, 1, 1], False),  # a steady sound has no end
    ],
)
def test_an_end_in_a_sound(heard: list[int], is_cut: bool) -> None:
    assert ends_in_sound(np.array(heard, np.bool_)) is is_cut


def test_runs_name_the_first_place_and_the_one_after_the_last() -> None:
    assert runs(np.array([1, 0, 1, 1, 0, 1], np.bool_)) == [(0, 1), (2, 4), (5, 6)]
    assert runs(np.zeros(3, np.bool_)) == []
