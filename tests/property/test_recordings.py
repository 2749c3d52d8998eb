"""Whatever the samples are: examining and trimming them gives sound reports and loses no sound."""

import json
from dataclasses import asdict

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from menura.audio.levels import block_levels, heard_blocks
from menura.audio.pcm import FloatArray
from menura.audio.recording import examine
from menura.audio.trimming import AFTER_SOUND_S, FADE_S, trimmed

RATES = st.sampled_from([4_000, 8_000, 16_000, 22_050, 44_100, 192_000])


@st.composite
def recordings(draw: st.DrawFn) -> tuple[FloatArray, int]:
    """Up to 16 pieces of silence, tones and noise, with some odd samples in between."""
    rate_hz = draw(RATES)
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    pieces = [np.zeros(0)]
    for _ in range(draw(st.integers(0, 16))):
        n_samples = draw(st.integers(0, rate_hz // 4))
        level = draw(st.sampled_from([0.0, 1e-5, 0.01, 0.5, 1.0, 3.0]))
        tone = np.sin(np.arange(n_samples) * draw(st.floats(0.001, 3.0)))
        pieces.append(level * (tone if draw(st.booleans()) else rng.standard_normal(n_samples) / 4))
    samples = np.concatenate(pieces).astype(np.float32)
    if samples.size and draw(st.booleans()):
        samples[draw(st.integers(0, samples.size - 1))] = draw(
            st.sampled_from([np.nan, np.inf, -np.inf, 3e38, -1.0, 1e-40])
        )
    return samples, rate_hz


@settings(max_examples=80, deadline=None)
@given(recording=recordings())
def test_a_report_is_sound(recording: tuple[FloatArray, int]) -> None:
    samples, rate_hz = recording
    with np.errstate(all="raise", under="ignore"):
        report = examine(samples, rate_hz)
    json.dumps(asdict(report), allow_nan=False)
    assert len(report.envelope) == 400
    assert all(0 <= peak <= 1 for peak in report.envelope)
    end_s = report.seconds + 0.02
    assert 0 <= report.silence_start_s + report.silence_end_s + report.speech_s <= 2 * end_s
    assert 0 <= report.bandwidth_hz <= rate_hz / 2 * 1.1
    for finding in report.findings:
        assert all(0 <= start <= end <= end_s + 0.05 for start, end in finding.spans)


@settings(max_examples=80, deadline=None)
@given(recording=recordings())
def test_trimming_keeps_every_sound(recording: tuple[FloatArray, int]) -> None:
    samples, rate_hz = np.nan_to_num(recording[0], posinf=0, neginf=0), recording[1]
    before = samples.copy()
    trim = trimmed(samples, rate_hz)
    np.testing.assert_array_equal(samples, before)
    first, after = round(trim.start_s * rate_hz), round(trim.end_s * rate_hz)
    assert 0 <= first <= after <= len(samples)
    heard = np.flatnonzero(heard_blocks(block_levels(samples, rate_hz)))
    if heard.size:
        n_block = round(0.02 * rate_hz)
        assert first <= heard[0] * n_block
        assert after >= min(len(samples), (heard[-1] + 1) * n_block - 1)
    n_fade = round(FADE_S * rate_hz)
    n_kept = after - first
    np.testing.assert_array_equal(
        trim.samples[n_fade : n_kept - n_fade], samples[first + n_fade : after - n_fade]
    )
    assert len(trim.samples) - n_kept in (0, round(AFTER_SOUND_S * rate_hz))
