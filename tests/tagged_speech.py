"""Requests whose answers tell whose they are: each text has words, and so tones, of its own.

A word sounds for `N_FRAMES` frames, and its tone is looked for in the middle of that time, so that
the delay that a lossy codec puts before the speech does not matter.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass

import httpx
import numpy as np

from menura.audio.decode import decode
from menura.audio.pcm import FloatArray
from tests.tone.engine import FRAME, RATE_HZ, tone_hz

SPEECH = "/v1/audio/speech"
FORMATS = ("wav", "mp3", "opus", "pcm", "flac", "aac")
PCM_HZ = 24_000
N_FRAMES = 5
_WORD_S = N_FRAMES * FRAME / RATE_HZ
_MIDDLE_S = (0.2, 0.4)  # of a word; the delay of no codec is longer than the first


@dataclass(frozen=True)
class Asking:
    """One request and the words that its answer must have."""

    path: str
    body: Mapping[str, object]
    words: tuple[str, ...]

    def check(self, answer: httpx.Response) -> None:
        """Nothing, where the answer says these words and no others."""
        assert heard(answer) == [tone_hz(word) for word in self.words]


def asking(number: int) -> Asking:
    """The request of this number: formats, ways to answer, paths and lengths take turns."""
    n_words = (3, 1, 8, 20)[number % 4]
    words = tuple(f"tag{number}x{place}" for place in range(n_words))
    text = " ".join(words)
    name = FORMATS[number % len(FORMATS)]
    options = {"frames_per_word": N_FRAMES}
    body: dict[str, object] = {"input": text, "response_format": name, "options": options}
    match number % 5:
        case 1:
            body["stream_format"] = "sse"
        case 2:
            body["stream"] = False
        case 3:
            body["speed"] = 1
            body["input"] = f"{text}."
            words = (*words[:-1], f"{words[-1]}.")
    return Asking(SPEECH, body, words)


def heard(answer: httpx.Response) -> list[int]:
    """The tones of the words that an answer says."""
    encoded, media_type = answer.content, answer.headers["content-type"]
    if media_type.startswith("text/event-stream"):
        encoded = b"".join(_deltas(answer))
        is_pcm = answer.request.read().find(b'"pcm"') >= 0
    else:
        is_pcm = media_type == "audio/pcm"
    if is_pcm:
        return tones(np.frombuffer(encoded, "<i2").astype(np.float32), PCM_HZ)
    decoded = decode(encoded)
    return tones(decoded.samples, decoded.sample_rate_hz)


def tones(samples: FloatArray, rate_hz: int) -> list[int]:
    """The tone of each word of samples [n]."""
    n_words = round(len(samples) / (_WORD_S * rate_hz))
    first, last = (round(seconds * rate_hz) for seconds in _MIDDLE_S)
    starts = [round(word * _WORD_S * rate_hz) for word in range(n_words)]
    return [_tone(samples[start + first : start + last], rate_hz) for start in starts]


def _tone(samples: FloatArray, rate_hz: int) -> int:
    """The loudest tone in samples [n], to the next multiple of 10 Hz, as `tone_hz` has them."""
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(len(samples))))
    return round(int(spectrum.argmax()) * rate_hz / len(samples) / 10) * 10


def _deltas(answer: httpx.Response) -> list[bytes]:
    """The audio in the events of an answer, whose last one must be the end."""
    lines = [line.removeprefix("data: ") for line in answer.text.split("\n\n") if line]
    events = [json.loads(line) for line in lines]
    assert events[-1]["type"] == "speech.audio.done", events[-1]
    return [base64.b64decode(event["audio"]) for event in events[:-1]]
