import numpy as np
import pytest

from menura.audio.pcm import FloatArray
from menura.audio.trimming import trimmed

RATE_HZ = 1_000


def clip(*parts: tuple[float, float]) -> FloatArray:
    """Parts of (seconds, level), as a tone of 250 Hz."""
    levels = np.concatenate([np.full(round(s * RATE_HZ), level) for s, level in parts])
    wave = np.tile([1.0, 1.0, -1.0, -1.0], len(levels))[: len(levels)]
    return np.asarray(levels * wave, np.float32)


def test_silence_at_the_ends_is_cut_to_a_fifth_of_a_second() -> None:
    samples = clip((1.0, 0.0), (2.0, 0.5), (0.6, 0.0), (1.0, 0.5), (3.0, 0.0))
    trim = trimmed(samples, RATE_HZ)
    assert (trim.start_s, trim.end_s) == (0.8, 4.8)
    np.testing.assert_array_equal(trim.samples, samples[800:4_800])


def test_what_has_little_silence_stays_as_it_is() -> None:
    samples = clip((0.1, 0.0), (2.0, 0.5), (0.1, 0.0))
    trim = trimmed(samples, RATE_HZ)
    assert (trim.start_s, trim.end_s) == (0.0, 2.2)
    np.testing.assert_array_equal(trim.samples, samples)


def test_an_end_in_a_sound_is_faded_and_silence_follows_it() -> None:
    samples = clip((0.1, 0.0), (2.0, 0.5))
    trim = trimmed(samples, RATE_HZ)
    assert trim.end_s == 2.1
    assert len(trim.samples) == 2_100 + 300
    np.testing.assert_array_equal(trim.samples[:2_090], samples[:2_090])
    np.testing.assert_allclose(np.abs(trim.samples[2_090:2_100]), 0.5 * np.linspace(1, 0, 10),
                               rtol=1e-6)  # fmt: skip
    assert not trim.samples[2_100:].any()


def test_a_start_in_a_sound_is_faded() -> None:
    trim = trimmed(clip((2.0, 0.5), (0.1, 0.0)), RATE_HZ)
    assert trim.samples[0] == 0
    assert abs(float(trim.samples[10])) == 0.5
    assert len(trim.samples) == 2_100


def test_a_part_is_trimmed_like_a_whole_and_told_in_its_time() -> None:
    samples = clip((1.0, 0.5), (1.0, 0.0), (1.0, 0.5), (1.0, 0.0), (1.0, 0.5))
    trim = trimmed(samples, RATE_HZ, (1.5, 3.6))
    assert (trim.start_s, trim.end_s) == (1.8, 3.2)
    np.testing.assert_array_equal(trim.samples, samples[1_800:3_200])


@pytest.mark.parametrize("samples", [clip((1.0, 0.0)), clip((0.0, 0.0))])
def test_silence_stays_whole(samples: FloatArray) -> None:
    trim = trimmed(samples, RATE_HZ)
    assert (trim.start_s, trim.end_s) == (0.0, len(samples) / RATE_HZ)


def test_the_recording_itself_is_not_changed() -> None:
    samples = clip((2.0, 0.5), (0.1, 0.0), (0.5, 0.5))
    before = samples.copy()
    trimmed(samples, RATE_HZ)
    np.testing.assert_array_equal(samples, before)
