import numpy as np
import pytest

from menura.audio.pcm import FloatArray
from menura.audio.stretch import Stretch, stretch
from menura.errors import InvalidValueError
from tests.unit.audio.reference_decoders import tone

RATE_HZ = 24_000


@pytest.mark.parametrize("factor", [0.25, 0.3, 0.5, 0.77, 1.0, 1.5, 2.0, 3.3, 4.0])
@pytest.mark.parametrize("n", [0, 1, 2, 100, 1_000, 24_000, 72_011])
def test_length_is_exact(n: int, factor: float) -> None:
    assert stretch(tone(n, RATE_HZ), factor, RATE_HZ).shape == (round(n / factor),)


@pytest.mark.parametrize("factor", [0.25, 0.5, 0.8, 1.25, 2.0, 4.0])
def test_pitch_and_level_stay(factor: float) -> None:
    stretched = stretch(tone(4 * RATE_HZ, RATE_HZ), factor, RATE_HZ)
    second = stretched[: RATE_HZ - RATE_HZ % 2]
    spectrum = np.abs(np.fft.rfft(second * np.hanning(second.size)))
    peak_hz = float(np.argmax(spectrum)) * RATE_HZ / second.size
    assert abs(peak_hz - 440.0) <= 2.0
    assert abs(float(np.sqrt(np.mean(second**2))) - 0.3 / np.sqrt(2)) < 0.01


@pytest.mark.parametrize("factor", [0.25, 0.5, 0.8, 1.25, 2.0, 4.0])
def test_speech_is_there_to_its_last_moment(factor: float) -> None:
    stretched = stretch(tone(RATE_HZ, RATE_HZ), factor, RATE_HZ)
    window = round(0.04 * RATE_HZ / min(factor, 1.0))
    assert float(np.abs(stretched[-window:]).max()) > 0.2


def test_factor_one_changes_nothing() -> None:
    samples = tone(5_000, RATE_HZ)
    np.testing.assert_array_equal(stretch(samples, 1.0, RATE_HZ), samples)


@pytest.mark.parametrize("factor", [0.25, 1.3, 4.0])
def test_samples_come_out_while_others_go_in(factor: float) -> None:
    streaming = Stretch(factor, RATE_HZ)
    samples = tone(RATE_HZ, RATE_HZ)
    n_in = n_out = 0
    for start in range(0, samples.size, 480):
        n_in += 480
        n_out += streaming.write(samples[start : start + 480]).size
        assert n_out <= n_in / factor
    assert n_out >= (n_in - 0.2 * RATE_HZ) / factor


@pytest.mark.parametrize("n_writes", [1, 10])
def test_work_is_linear_in_the_length(monkeypatch: pytest.MonkeyPatch, n_writes: int) -> None:
    n_joined = 0
    concatenate = np.concatenate

    def counted(arrays: list[FloatArray]) -> FloatArray:
        nonlocal n_joined
        joined: FloatArray = concatenate(arrays)
        n_joined += joined.size
        return joined

    samples = tone(20 * RATE_HZ, RATE_HZ)
    monkeypatch.setattr(np, "concatenate", counted)
    streaming = Stretch(0.5, RATE_HZ)
    stretched = [streaming.write(part) for part in np.split(samples, n_writes)]
    n_out = sum(part.size for part in (*stretched, streaming.close()))
    assert n_out == 2 * samples.size
    assert n_joined < 2 * (samples.size + n_out)


def test_one_write_gives_the_samples_of_many() -> None:
    samples = tone(RATE_HZ, RATE_HZ)
    streaming = Stretch(0.8, RATE_HZ)
    pieces = [streaming.write(samples[start : start + 700]) for start in range(0, RATE_HZ, 700)]
    np.testing.assert_array_equal(
        np.concatenate([*pieces, streaming.close()]), stretch(samples, 0.8, RATE_HZ)
    )


@pytest.mark.parametrize("factor", [0.0, 0.24, 4.01, -1.0, float("nan"), float("inf")])
def test_impossible_factors_are_refused(factor: float) -> None:
    with pytest.raises(InvalidValueError, match=r"from 0\.25 to 4\.0") as caught:
        Stretch(factor, RATE_HZ)
    assert caught.value.param == "speed"
