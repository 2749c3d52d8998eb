"""What the tests let speak, and how they hear whether it was that."""

import numpy as np

from menura.audio.pcm import FloatArray
from tests.tone.engine import tone_hz
from tests.unit.audio.reference_decoders import Decoded, by_av

WORDS = ("one", "two", "three")
FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
EXACT = ("flac", "wav", "pcm")  # the others add a codec's delay
DELAY_S = 0.3
_WORD_FRAMES = 5  # of 0.2 s each: the tone engine's usual length of a word


def text_of(*words: str) -> str:
    """A text that sounds one second for each word."""
    return " ".join(word for word in words for _ in range(_WORD_FRAMES))


TEXT = text_of(*WORDS)


def heard_in(audio: Decoded) -> list[int]:
    """The tone in the middle of each second, which no codec's delay reaches, in Hz."""
    seconds = round(len(audio.samples) / audio.rate_hz)
    return [_tone_at(audio, second + 0.5) for second in range(seconds)]


def _tone_at(audio: Decoded, time_s: float) -> int:
    """The tone of 0.2 s around a time, to the nearest 10 Hz."""
    middle, half = round(time_s * audio.rate_hz), audio.rate_hz // 10
    spectrum = np.abs(np.fft.rfft(audio.samples[middle - half : middle + half]))
    return round(int(spectrum.argmax()) * 5, -1)


def tones_of(*words: str) -> list[int]:
    """The tones of the words, in Hz."""
    return [tone_hz(word) for word in words]


def decoded(audio: bytes, name: str) -> Decoded:
    """The samples of an answer in the format of this name; pcm is at OpenAI's 24 kHz."""
    if name == "pcm":
        return from_pcm(audio, 24_000)
    return by_av(audio, "mp3" if name == "mp3" else None)


def from_pcm(audio: bytes, rate_hz: int) -> Decoded:
    """The samples of 16-bit little-endian mono."""
    return Decoded((np.frombuffer(audio, "<i2") / 32_768).astype(np.float32), rate_hz)


def assert_words(audio: Decoded, *words: str, slack_s: float = 0.0) -> None:
    """Whether these words were spoken, a second each, and nothing else."""
    assert abs(len(audio.samples) / audio.rate_hz - len(words)) <= slack_s
    assert heard_in(audio) == tones_of(*words)


def level_of(samples: FloatArray) -> float:
    """The root mean square of samples [n]."""
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))
