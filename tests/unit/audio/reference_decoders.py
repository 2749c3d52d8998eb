"""Two decoders that share no code with Menura or with each other, and the signals they are fed."""

import io
from dataclasses import dataclass

import av
import numpy as np
import soundfile

from menura.audio.pcm import FloatArray


@dataclass(frozen=True)
class Decoded:
    samples: FloatArray
    rate_hz: int


def by_soundfile(data: bytes) -> Decoded:
    with soundfile.SoundFile(io.BytesIO(data)) as file:
        pieces = []
        while len(piece := file.read(10_000, dtype="float32")):
            pieces.append(piece)
        return Decoded(np.concatenate([np.zeros(0, np.float32), *pieces]), file.samplerate)


def by_av(data: bytes, container: str | None = None) -> Decoded:
    """FFmpeg's samples; it cannot guess the container of a few mp3 frames without a file name."""
    pieces = [np.zeros(0, np.float32)]
    rate_hz = 0
    with av.open(io.BytesIO(data), "r", format=container) as file:
        for frame in file.decode(audio=0):
            rate_hz = frame.sample_rate
            raw = frame.to_ndarray().reshape(-1)
            scale = 32_768 if raw.dtype == np.int16 else 1
            pieces.append((raw.astype(np.float64) / scale).astype(np.float32))
    return Decoded(np.concatenate(pieces), rate_hz)


def tags_by_av(data: bytes) -> dict[str, str]:
    with av.open(io.BytesIO(data), "r") as file:
        found = {**file.metadata, **file.streams.audio[0].metadata}
    return {name.lower(): text for name, text in found.items()}


def tone(n_samples: int, rate_hz: int, tone_hz: float = 440.0) -> FloatArray:
    phase = 2 * np.pi * tone_hz * np.arange(n_samples) / rate_hz
    return (0.3 * np.sin(phase)).astype(np.float32)


def silence_between_tones(seconds: float, rate_hz: int) -> FloatArray:
    samples = np.zeros(round(seconds * rate_hz), np.float32)
    samples[: rate_hz // 2] = tone(rate_hz // 2, rate_hz)
    samples[-rate_hz // 2 :] = tone(rate_hz // 2, rate_hz)
    return samples
