import numpy as np
import pytest

from menura.audio.findings import Severity
from menura.audio.recording_refusals import refusal, sound_s, unfit
from menura.speech import FloatArray


@pytest.mark.parametrize(
    ("samples", "code"),
    [
        (np.full(100, 0.5), "too_short"),
        (np.zeros(0), "too_short"),
        (np.zeros(1_000), "silent"),
        (np.full(1_000, np.nan), "not_numbers"),
        (np.full(1_000, -np.inf), "not_numbers"),
        (np.full(1_000, -4.1), "over_full_scale"),
        (np.full(301_000, 0.5), "too_long"),
    ],
)
def test_what_cannot_be_measured_is_refused(samples: np.ndarray, code: str) -> None:
    finding = unfit(samples.astype(np.float32), 1_000)
    assert finding is not None
    assert (finding.code, finding.severity) == (code, Severity.REFUSE)


def test_a_second_of_sound_can_be_measured() -> None:
    assert unfit(np.full(1_000, 0.5, np.float32), 1_000) is None


def test_where_the_channels_made_the_silence_that_is_said() -> None:
    silence = np.zeros(1_000, np.float32)
    finding = unfit(silence, 1_000, channel_peak=0.5)
    assert finding is not None
    assert (finding.code, finding.severity) == ("channels_cancel", Severity.REFUSE)
    assert "cancel each other out" in finding.says
    quiet = unfit(silence, 1_000, channel_peak=5e-5)
    assert quiet is not None
    assert quiet.code == "silent"


@pytest.mark.parametrize("n_samples", [0, 1, 4])
def test_a_recording_of_next_to_nothing_has_no_length_of_zero(n_samples: int) -> None:
    finding = unfit(np.full(n_samples, 0.5, np.float32), 1_000)
    assert finding is not None
    assert "has less than a hundredth of a second;" in finding.says


def buzz(seconds: float, of_s: float = 5.0) -> FloatArray:
    """A tone of some seconds in a silent recording [n]."""
    samples = np.zeros(round(of_s * 8_000), np.float32)
    samples[8_000 : 8_000 + round(seconds * 8_000)] = 0.3
    samples[::2] *= -1
    return samples


def test_too_little_sound_is_refused_too() -> None:
    finding = refusal(buzz(0.5), 8_000)
    assert finding is not None
    assert finding.code == "too_short"
    assert "for only 0.5" in finding.says
    assert refusal(buzz(2.0), 8_000) is None
    silent = refusal(buzz(0.0), 8_000)
    assert silent is not None
    assert silent.code == "silent"


def test_sound_reaches_from_the_first_to_the_last() -> None:
    heard = np.zeros(500, np.bool_)
    heard[100] = heard[149] = True
    assert sound_s(heard) == 1.0
    assert sound_s(np.zeros(50, np.bool_)) == 1.0  # nothing is told apart from the noise
