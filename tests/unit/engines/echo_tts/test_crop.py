"""The end of speech in a canvas that grows, and what may be heard before it is whole."""

import numpy as np
import pytest

from menura.engines.echo_tts.crop import SpeechEnd, n_certain
from menura.speech import FloatArray

C = 80


def speech(n_frames: int, seed: int = 0, spread: float = 1.0) -> FloatArray:
    """Latents [T, C] that move as those of speech do."""
    draws = np.random.Generator(np.random.PCG64(seed)).standard_normal((n_frames, C))
    return (spread * draws).astype(np.float32)


def flat(n_frames: int, level: float = 0.05) -> FloatArray:
    """Latents [T, C] that hardly move."""
    return speech(n_frames, seed=9, spread=0.01) + np.float32(level)


def given_by(end: SpeechEnd, *blocks: FloatArray) -> list[int]:
    """How many latents each block gives; the last one ends the canvas."""
    return [len(end.add(block, is_last=block is blocks[-1])) for block in blocks]


def test_speech_ends_where_the_flat_stretch_begins() -> None:
    end = SpeechEnd()
    canvas = np.concatenate([speech(50), flat(30)])
    heard = end.add(canvas, is_last=True)
    assert np.array_equal(heard, canvas[:50])
    assert end.is_found
    assert end.n_trimmed == 30


def test_a_canvas_without_a_flat_stretch_is_all_speech() -> None:
    end = SpeechEnd()
    assert len(end.add(speech(64), is_last=True)) == 64
    assert not end.is_found
    assert end.n_trimmed == 0


def test_a_short_flat_stretch_ends_the_speech_only_at_the_end_of_the_canvas() -> None:
    inside, at_end = SpeechEnd(), SpeechEnd()
    assert given_by(inside, np.concatenate([speech(30), flat(10), speech(30)])) == [70]
    assert given_by(at_end, np.concatenate([speech(30), flat(10)])) == [30]
    assert at_end.n_trimmed == 10


def test_a_flat_stretch_that_crosses_blocks_was_never_given() -> None:
    end = SpeechEnd()
    assert given_by(end, np.concatenate([speech(28), flat(4)]), flat(32)) == [28, 0]
    assert end.is_found
    assert end.n_trimmed == 36


def test_a_pause_at_a_blocks_end_is_given_when_the_speech_goes_on() -> None:
    end = SpeechEnd()
    assert len(end.add(np.concatenate([speech(28), flat(4)]), is_last=False)) == 28
    assert not end.is_found
    assert len(end.add(speech(32), is_last=True)) == 36
    assert not end.is_found


def test_speech_that_ends_in_a_block_has_ended_for_the_blocks_after_it() -> None:
    end = SpeechEnd()
    assert len(end.add(np.concatenate([speech(12), flat(20)]), is_last=False)) == 12
    assert end.is_found
    assert end.n_trimmed == 20
    assert len(end.add(speech(32), is_last=True)) == 0
    assert end.n_trimmed == 52


def test_a_block_that_ends_in_speech_is_given_whole() -> None:
    assert n_certain(speech(32)) == 32
    assert n_certain(np.concatenate([speech(20), flat(12)])) == 20
    assert n_certain(flat(3)) == 0


def test_a_level_far_from_zero_is_held_back_though_it_may_come_out_as_speech() -> None:
    assert n_certain(np.concatenate([speech(20), flat(12, level=2.0)])) == 20
    end = SpeechEnd()
    assert given_by(end, np.concatenate([speech(20), flat(12, level=2.0)]), speech(32)) == [20, 44]


@pytest.mark.parametrize("seed", range(12))
def test_blocks_give_what_the_whole_canvas_gives(seed: int) -> None:
    draws = np.random.Generator(np.random.PCG64(seed))
    parts = [
        speech(int(draws.integers(1, 30)), seed=index)
        if draws.random() < 0.6
        else flat(int(draws.integers(1, 26)), level=float(draws.choice([0.0, 0.05, 0.3])))
        for index in range(8)
    ]
    canvas = np.concatenate(parts)
    whole, growing = SpeechEnd(), SpeechEnd()
    expected = whole.add(canvas, is_last=True)
    cuts = np.sort(draws.choice(np.arange(1, len(canvas)), size=3, replace=False))
    blocks = np.split(canvas, cuts)
    given = [growing.add(block, is_last=block is blocks[-1]) for block in blocks]
    assert np.array_equal(np.concatenate(given), expected)
    assert growing.n_trimmed == whole.n_trimmed
