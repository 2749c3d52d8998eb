"""Human voices are measured in docs/LOG.md; here it is the built-in voice, and a smaller body."""

import numpy as np
import pytest

import menura
from menura.audio.pcm import FloatArray
from menura.audio.pitch import RATE_HZ, pitch_of
from menura.audio.resample import resample
from menura.audio.speakers import second_speaker

STORY = (
    "Once upon a time, in a village by the sea, there lived an old man who could talk to birds. "
    "Every morning he walked to the harbour and listened to their stories."
)
QUESTIONS = (
    "Why is the sky blue? Because sunlight is scattered by the air! Why is grass green? Because "
    "of chlorophyll. Any more questions? I did not think so."
)


@pytest.fixture(scope="module")
def spoken() -> list[FloatArray]:
    tts = menura.load()
    takes = [tts.speak(text, seed=seed) for seed, text in enumerate((STORY, QUESTIONS))]
    return [resample(take.samples, take.sample_rate_hz, RATE_HZ) for take in takes]


def other_body(samples: FloatArray) -> FloatArray:
    """The samples nine semitones higher and as much faster: a smaller body with a higher voice."""
    return resample(samples, round(RATE_HZ * 2 ** (9 / 12)), RATE_HZ)


def second(samples: FloatArray) -> tuple[tuple[float, float], ...]:
    return second_speaker(samples, pitch_of(samples))


def test_one_speaker_is_not_taken_for_two(spoken: list[FloatArray]) -> None:
    for samples in (*spoken, np.concatenate(spoken)):
        assert second(samples) == ()


def test_a_second_speaker_is_suspected_where_they_speak(spoken: list[FloatArray]) -> None:
    joint_s = len(spoken[0]) / RATE_HZ
    spans = second(np.concatenate([spoken[0], other_body(spoken[1])]))
    assert spans
    outside_s = sum(min(end, joint_s) - start for start, end in spans if start < joint_s - 0.5)
    assert outside_s < 1.5
    assert sum(end - start for start, end in spans) > 2.0


def test_how_loud_it_is_changes_nothing(spoken: list[FloatArray]) -> None:
    both = np.concatenate([spoken[0], other_body(spoken[1])])
    np.testing.assert_allclose(second(both * np.float32(0.02)), second(both), atol=0.1)


@pytest.mark.parametrize("seconds", [0.0, 0.03, 1.0, 12.0])
def test_silence_noise_and_short_clips_have_one_speaker(seconds: float) -> None:
    n_samples = round(seconds * RATE_HZ)
    noise = np.random.default_rng(0).standard_normal(n_samples).astype(np.float32)
    assert second(noise) == second(np.zeros(n_samples, np.float32)) == ()
