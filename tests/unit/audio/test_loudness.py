import numpy as np
import pytest

from menura.audio.loudness import LOWEST_LUFS, loudness_lufs
from menura.audio.pcm import FloatArray


def tone(rate_hz: int, seconds: float, peak: float) -> FloatArray:
    time = np.arange(round(seconds * rate_hz)) / rate_hz
    return (peak * np.sin(2 * np.pi * 1000 * time)).astype(np.float32)


@pytest.mark.parametrize("rate_hz", [8_000, 22_050, 48_000, 192_000])
def test_a_tone_of_1_khz_has_the_loudness_of_the_standard(rate_hz: int) -> None:
    # EBU Tech 3341, one channel: 0 dB peak is -3.01 LUFS.
    assert loudness_lufs(tone(rate_hz, 3.0, 0.1), rate_hz) == pytest.approx(-23.0, abs=0.1)


def test_pauses_do_not_count() -> None:
    paused = np.concatenate([tone(24_000, 3.0, 0.1), np.zeros(72_000, np.float32)])
    assert loudness_lufs(paused, 24_000) == pytest.approx(-23.0, abs=0.3)


def test_silence_and_what_is_too_short_have_the_lowest() -> None:
    assert loudness_lufs(np.zeros(48_000, np.float32), 24_000) == LOWEST_LUFS
    assert loudness_lufs(tone(24_000, 0.39, 0.5), 24_000) == LOWEST_LUFS
    assert loudness_lufs(np.zeros(0, np.float32), 24_000) == LOWEST_LUFS
