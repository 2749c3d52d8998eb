"""Is this recording fit to make a voice of? Its figures, and what is found about it.

    samples [n]  ->  levels of 20 ms blocks, pitch, spectrum, loudness  ->  figures  ->  findings

Everything is measured block by block, so the memory is that of the samples and of their copy at
16 kHz. 30 s take about a tenth of a second.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from menura.audio import recording_checks, recording_refusals
from menura.audio.clipping import clipped_places
from menura.audio.findings import Finding, Severity
from menura.audio.levels import BLOCK_S, BoolArray, block_levels, heard_blocks, noise_floor
from menura.audio.loudness import LOWEST_LUFS, loudness_lufs
from menura.audio.pcm import FloatArray
from menura.audio.pitch import RATE_HZ, Pitch, pitch_of
from menura.audio.recording_checks import Measured
from menura.audio.resample import resample
from menura.audio.speakers import second_speaker
from menura.audio.spectrum import bandwidth_hz

N_PEAKS = 400
LOWEST_DB = -100.0
_NEAR_A_VOICE_S = 0.26  # consonants are no further from a sound with a pitch


@dataclass(frozen=True)
class RecordingReport:
    """The figures of a recording, the worst findings first, and its outline for a drawing.

    Levels are in dB of full scale, never below -100; the loudness is in LUFS, never below -70.
    `speech_s` is how long somebody speaks. `envelope` holds 400 peaks from 0 to 1.
    """

    seconds: float
    peak_db: float = LOWEST_DB
    loudness_lufs: float = LOWEST_LUFS
    noise_db: float = LOWEST_DB
    snr_db: float = 0.0
    speech_s: float = 0.0
    silence_start_s: float = 0.0
    silence_end_s: float = 0.0
    bandwidth_hz: float = 0.0
    findings: tuple[Finding, ...] = ()
    envelope: tuple[float, ...] = (0.0,) * N_PEAKS

    @property
    def refused(self) -> tuple[Finding, ...]:
        """The findings for which no voice is made."""
        return tuple(found for found in self.findings if found.severity is Severity.REFUSE)

    def with_findings(self, more: tuple[Finding, ...]) -> "RecordingReport":
        """The report with more findings, the worst first."""
        order = list(Severity)
        ranked = sorted((*self.findings, *more), key=lambda found: order.index(found.severity))
        return replace(self, findings=tuple(ranked))


def examine(samples: FloatArray, rate_hz: int, channel_peak: float = 0.0) -> RecordingReport:
    """The report on samples [n]. One that cannot be measured (NaN, silence) has no figures.

    `channel_peak`: the loudest sample of a single channel, where several were mixed.
    """
    report = RecordingReport(len(samples) / rate_hz)
    if fault := recording_refusals.unfit(samples, rate_hz, channel_peak):
        is_number = np.isfinite(samples).all()
        return replace(
            report,
            findings=(fault,),
            envelope=envelope_of(samples) if is_number else report.envelope,
        )
    low = resample(samples, rate_hz, RATE_HZ)
    pitch = pitch_of(low)
    levels = block_levels(samples, rate_hz)
    heard = heard_blocks(levels)
    speech = heard & _near_a_voice(pitch, len(heard))
    noise_db, speech_db = _noise_and_speech_db(levels, speech if speech.any() else heard)
    peak_db = decibels(max(abs(float(samples.max())), abs(float(samples.min()))))
    measured = Measured(
        heard=heard,
        speech=speech,
        clipped=clipped_places(samples, rate_hz),
        second_speaker=second_speaker(low, pitch),
        lufs=loudness_lufs(samples, rate_hz),
        snr_db=speech_db - noise_db,
        bandwidth_hz=bandwidth_hz(samples, rate_hz),
        mixing_loss_db=decibels(channel_peak) - peak_db if channel_peak else 0.0,
    )
    return replace(
        report,
        peak_db=peak_db,
        loudness_lufs=measured.lufs,
        noise_db=noise_db,
        snr_db=round(measured.snr_db, 1),
        speech_s=round(float(speech.sum()) * BLOCK_S, 3),
        silence_start_s=measured.silence_start_s,
        silence_end_s=measured.silence_end_s,
        bandwidth_hz=measured.bandwidth_hz,
        envelope=envelope_of(samples),
    ).with_findings(recording_checks.found(measured))


def envelope_of(samples: FloatArray) -> tuple[float, ...]:
    """400 peaks of samples [n], from 0 to 1 of full scale, to draw them by."""
    if not len(samples):
        return (0.0,) * N_PEAKS
    edges = np.linspace(0, len(samples), N_PEAKS + 1).astype(np.int64)
    starts = np.minimum(edges[:-1], len(samples) - 1)
    highest = np.maximum.reduceat(samples, starts)
    lowest = np.minimum.reduceat(samples, starts)
    peaks = np.clip(np.maximum(highest, -lowest), 0.0, 1.0)
    return tuple(round(float(peak), 4) for peak in peaks)


def decibels(level: float) -> float:
    """A level of full scale in dB, to a tenth; at least -100."""
    return round(max(LOWEST_DB, 20 * math.log10(level)), 1) if level > 0 else LOWEST_DB


def _near_a_voice(pitch: Pitch, n_blocks: int) -> BoolArray:
    """Which blocks [m] are close to a sound with a pitch, as all speech is but a whisper."""
    reach = round(_NEAR_A_VOICE_S / BLOCK_S)
    voiced = np.zeros(n_blocks, np.float32)
    n_known = min(n_blocks, len(pitch.is_voiced))
    voiced[:n_known] = pitch.is_voiced[:n_known]
    # A frame is longer than a block: what follows it by one block is inside it.
    return np.asarray(np.convolve(voiced, np.ones(2 * reach + 1), "same")[:n_blocks] > 0.5)


def _noise_and_speech_db(levels: FloatArray, speech: BoolArray) -> tuple[float, float]:
    """The level of the quiet moments, and the mean power of those [m] in which one speaks."""
    power = float(np.mean(np.square(levels[speech], dtype=np.float64)))
    return decibels(noise_floor(levels)), decibels(math.sqrt(power))
