"""How high the sound of a recording reaches: a telephone ends at 3.4 kHz, a voice far above."""

import numpy as np

from menura.audio.pcm import FloatArray

_N_FFT_S = 0.04
_BAND_HZ = 125.0
_BELOW_LOUDEST_DB = 65.0
_FRAMES_AT_ONCE = 256


def bandwidth_hz(samples: FloatArray, rate_hz: int) -> float:
    """The highest frequency in samples [n] that is within 65 dB of the loudest."""
    n_fft = max(16, 2 * round(_N_FFT_S * rate_hz / 2))
    n_frames = len(samples) // n_fft
    if not n_frames:
        return 0.0
    window = np.hanning(n_fft).astype(np.float32)
    frames = samples[: n_frames * n_fft].reshape(n_frames, n_fft)
    power = np.zeros(n_fft // 2 + 1)
    for start in range(0, n_frames, _FRAMES_AT_ONCE):
        spectrum = np.fft.rfft(frames[start : start + _FRAMES_AT_ONCE] * window, axis=1)
        power += (spectrum.real**2 + spectrum.imag**2).sum(axis=0, dtype=np.float64)
    n_band = max(1, round(_BAND_HZ * n_fft / rate_hz))
    bands = power[: len(power) // n_band * n_band].reshape(-1, n_band).mean(axis=1)
    loud = np.flatnonzero(bands > bands.max() * 10 ** (-_BELOW_LOUDEST_DB / 10))
    return round((float(loud[-1]) + 1) * n_band * rate_hz / n_fft) if loud.size else 0.0
