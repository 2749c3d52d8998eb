import json
from dataclasses import asdict

import numpy as np
import pytest

import menura
from menura.audio.findings import Finding, Severity
from menura.audio.pcm import FloatArray
from menura.audio.recording import RecordingReport, decibels, envelope_of, examine

TEXT = (
    "The storm came in from the west, dark and heavy, and by the evening the whole valley was "
    "under water. Nobody had seen anything like it for fifty years."
)


@pytest.fixture(scope="module")
def take() -> menura.Speech:
    return menura.load().speak(TEXT, seed=1)


def padded(samples: FloatArray, rate_hz: int, before_s: float, after_s: float) -> FloatArray:
    return np.pad(samples, (round(before_s * rate_hz), round(after_s * rate_hz)))


def codes(report: RecordingReport) -> list[str]:
    return [finding.code for finding in report.findings]


def test_the_built_in_voice_is_a_good_recording(take: menura.Speech) -> None:
    report = examine(take.samples, take.sample_rate_hz)
    assert [f for f in report.findings if f.severity is not Severity.NOTE] == []
    assert report.refused == ()
    assert report.seconds == take.seconds
    assert 0.5 * take.seconds < report.speech_s < take.seconds
    assert report.snr_db > 40
    assert -40 < report.loudness_lufs < -14
    assert report.peak_db < 0
    assert report.bandwidth_hz > 10_000


def test_figures_follow_the_recording(take: menura.Speech) -> None:
    rate_hz = take.sample_rate_hz
    clean = examine(take.samples, rate_hz)
    longer = examine(padded(take.samples, rate_hz, 1.0, 2.0), rate_hz)
    assert longer.silence_start_s == pytest.approx(clean.silence_start_s + 1.0, abs=0.021)
    assert longer.silence_end_s == pytest.approx(clean.silence_end_s + 2.0, abs=0.041)
    assert longer.speech_s == pytest.approx(clean.speech_s, abs=0.1)
    quieter = examine(take.samples * np.float32(0.1), rate_hz)
    assert quieter.peak_db == pytest.approx(clean.peak_db - 20, abs=0.11)
    assert quieter.loudness_lufs == pytest.approx(clean.loudness_lufs - 20, abs=0.21)
    assert codes(quieter) == [*["quiet"] * (quieter.loudness_lufs < -40), *codes(clean)]


def test_noise_is_measured_in_decibels(take: menura.Speech) -> None:
    noise = np.random.default_rng(0).standard_normal(len(take.samples)) * 0.01
    report = examine((take.samples + noise).astype(np.float32), take.sample_rate_hz)
    assert report.noise_db == pytest.approx(-40, abs=1)
    louder = examine((take.samples + 4 * noise).astype(np.float32), take.sample_rate_hz)
    assert louder.noise_db == pytest.approx(-28, abs=1)
    assert "noisy" in codes(louder)


def test_a_clip_cut_in_a_word_ends_in_a_sound(take: menura.Speech) -> None:
    rate_hz = take.sample_rate_hz
    loudest = int(np.argmax(np.abs(take.samples[4 * rate_hz : 6 * rate_hz]))) + 4 * rate_hz
    assert "ends_in_sound" in codes(examine(take.samples[:loudest], rate_hz))


def test_noise_alone_is_no_speech() -> None:
    noise = 0.1 * np.random.default_rng(0).standard_normal(96_000)
    assert codes(examine(noise.astype(np.float32), 16_000)) == ["little_speech", "noisy"]


@pytest.mark.parametrize(
    "samples",
    [np.zeros(48_000), np.full(48_000, np.nan), np.zeros(0), np.full(48_000, 9.0), np.ones(100)],
)
def test_what_cannot_be_measured_has_one_finding_and_no_figures(samples: np.ndarray) -> None:
    report = examine(samples.astype(np.float32), 24_000)
    assert len(report.refused) == len(report.findings) == 1
    assert (report.speech_s, report.snr_db, report.loudness_lufs) == (0.0, 0.0, -70.0)


def test_every_report_is_json(take: menura.Speech) -> None:
    for samples in (take.samples, np.full(24_000, np.inf, np.float32), np.ones(48_000, np.float32)):
        json.dumps(asdict(examine(samples, 24_000)), allow_nan=False)


def test_worse_findings_come_first() -> None:
    note, refusal = (Finding(code, Severity(code), "It is.", "Do.") for code in ("note", "refuse"))
    report = RecordingReport(1.0, findings=(note,)).with_findings((refusal,))
    assert codes(report) == ["refuse", "note"]
    assert report.refused == (refusal,)


def test_the_envelope_has_400_peaks_of_either_sign() -> None:
    samples = np.zeros(4_000, np.float32)
    samples[0], samples[15], samples[3_999] = 0.5, -0.25, -2.0
    envelope = envelope_of(samples)
    assert len(envelope) == 400
    assert (envelope[0], envelope[1], envelope[2], envelope[399]) == (0.5, 0.25, 0.0, 1.0)
    assert len(envelope_of(samples[:7])) == 400
    assert envelope_of(samples[:0]) == (0.0,) * 400


def test_decibels_stop_at_a_hundred_below() -> None:
    assert (decibels(1.0), decibels(0.1), decibels(0.0), decibels(1e-9)) == (0, -20, -100, -100)
