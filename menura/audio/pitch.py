"""The pitch of a voice, frame by frame: where the sound repeats itself, and how fast.

Source: Boersma, "Accurate short-term analysis of the fundamental frequency", 1993: the
autocorrelation of a windowed frame over that of the window. Legend: n samples, F frames.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from menura.audio.levels import BLOCK_S, BoolArray
from menura.audio.pcm import FloatArray

RATE_HZ = 16_000  # of the samples that are looked at
FRAME_S = 0.05  # three periods of the lowest voice
LOWEST_HZ, HIGHEST_HZ = 60.0, 500.0
_VOICED = 0.55  # how well a frame must repeat itself
_NEARLY = 0.9  # of the best: the shortest period that is as good as this is the true one
_SILENT = 1e-9  # the energy of a frame 120 dB below full scale
_FRAMES_AT_ONCE = 500


@dataclass(frozen=True, eq=False)
class Pitch:
    """For each frame [F], one every 20 ms: its pitch in Hz, and whether it has one at all."""

    hz: FloatArray
    is_voiced: BoolArray


def frames_of(samples: FloatArray) -> FloatArray:
    """The frames [F, 800] of samples [n] at 16 kHz: 50 ms, every 20 ms; views, not copies."""
    n_frame, n_hop = round(FRAME_S * RATE_HZ), round(BLOCK_S * RATE_HZ)
    if len(samples) < n_frame:
        return np.zeros((0, n_frame), np.float32)
    return np.lib.stride_tricks.sliding_window_view(samples, n_frame)[::n_hop]


def pitch_of(samples: FloatArray) -> Pitch:
    """The pitch of the frames of samples [n] at 16 kHz."""
    frames = frames_of(samples)
    window = np.hanning(frames.shape[1]).astype(np.float32)
    own = _autocorrelation(window[None])[0]
    found = [
        _pitch(frames[start : start + _FRAMES_AT_ONCE], window, own)
        for start in range(0, len(frames), _FRAMES_AT_ONCE)
    ]
    hz = np.concatenate([np.zeros(0, np.float32), *(pitch.hz for pitch in found)])
    return Pitch(hz, np.concatenate([np.zeros(0, np.bool_), *(pitch.is_voiced for pitch in found)]))


def _pitch(frames: FloatArray, window: FloatArray, own: npt.NDArray[np.float32]) -> Pitch:
    first, last = int(RATE_HZ / HIGHEST_HZ), int(RATE_HZ / LOWEST_HZ)
    centred = frames - frames.mean(axis=1, keepdims=True)
    repeats = _autocorrelation(centred * window)
    energy = np.maximum(repeats[:, :1], np.float32(1e-12))
    likeness = (repeats / energy) / (own / own[0])
    inside = likeness[:, first - 1 : last + 2]
    is_peak = (inside[:, 1:-1] >= inside[:, :-2]) & (inside[:, 1:-1] > inside[:, 2:])
    peaks = np.where(is_peak, inside[:, 1:-1], 0.0)
    best = peaks.max(axis=1)
    period = np.argmax(peaks >= _NEARLY * best[:, None], axis=1) + first
    is_voiced = (best > _VOICED) & (repeats[:, 0] > _SILENT)
    return Pitch((RATE_HZ / period).astype(np.float32), np.asarray(is_voiced))


def _autocorrelation(frames: FloatArray) -> FloatArray:
    """The autocorrelation [F, 800] of frames [F, 800]."""
    n_frame = frames.shape[1]
    spectrum = np.fft.rfft(frames, 2 * n_frame, axis=1)
    power = spectrum.real**2 + spectrum.imag**2
    return np.fft.irfft(power, axis=1)[:, :n_frame].astype(np.float32)
