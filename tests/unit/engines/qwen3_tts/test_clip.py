import numpy as np
import pytest

from menura.audio.clip_checks import VoiceWarning
from menura.engines.qwen3_tts.clip import check, doubts
from menura.errors import AudioTooLargeError, InvalidValueError
from menura.speech import FloatArray, Reference

RATE_HZ = 8_000


def speech(seconds: float, *, ends_loud: bool = False) -> FloatArray:
    """Bursts of 0.4 s with pauses of 0.1 s; the last one may run to the end."""
    time = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    wave = np.sin(2 * np.pi * 200 * time) * (time % 0.5 < 0.4)
    tail = slice(-round(0.2 * RATE_HZ), None)
    wave[tail] = np.sin(2 * np.pi * 200 * time[tail]) if ends_loud else 0
    return wave.astype(np.float32)


def reference(samples: FloatArray, transcript: str | None = None) -> Reference:
    return Reference(samples, RATE_HZ, transcript)


def test_a_good_clip_raises_no_doubt() -> None:
    transcript = "This is a sentence that takes about as long as the clip does, more or less."
    assert doubts(reference(speech(8.0), transcript)) == []


@pytest.mark.parametrize(
    ("samples", "transcript", "doubt"),
    [
        (speech(2.0), None, "only 2.0 s"),
        (speech(31.0), None, "31 s"),
        (speech(8.0, ends_loud=True), None, "middle of a sound"),
        (speech(10.0), "Only this.", "says less than the clip"),
        (speech(4.0), "A great many words. " * 12, "says more than the clip"),
    ],
)
def test_each_doubt_is_named(samples: FloatArray, transcript: str | None, doubt: str) -> None:
    [found] = doubts(reference(samples, transcript))
    assert doubt in found


def test_a_doubt_becomes_a_warning() -> None:
    with pytest.warns(VoiceWarning, match="only 2.0 s"):
        check(reference(speech(2.0)), 0.05)


def test_a_steady_sound_says_nothing_about_its_end() -> None:
    steady = np.sin(np.arange(4 * RATE_HZ) / 20).astype(np.float32)
    assert doubts(reference(steady)) == []


@pytest.mark.parametrize(
    ("n_samples", "error", "said"),
    [
        (0, InvalidValueError, "0.000 s"),
        (399, InvalidValueError, "at least 0.050 s"),
        (301 * RATE_HZ, AudioTooLargeError, "at most 300 s"),
    ],
)
def test_a_clip_of_the_wrong_length_is_refused(
    n_samples: int, error: type[InvalidValueError] | type[AudioTooLargeError], said: str
) -> None:
    with pytest.raises(error, match=said):
        check(reference(np.ones(n_samples, np.float32)), 0.05)


def test_a_silent_clip_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="silent"):
        check(reference(np.zeros(RATE_HZ, np.float32)), 0.05)
