from dataclasses import replace

import numpy as np
import pytest

import menura
from menura.engines.contract import Capability
from menura.errors import InvalidValueError, RecordingError, UnsupportedError
from menura.speech import FloatArray
from menura.voice_library.from_models import drawn, of_preset
from menura.voice_library.record import SourceKind
from menura.voice_library.samples import sample_text

RATE_HZ = 16_000


def buzz(seconds: float) -> FloatArray:
    """A voice-like buzz in bursts of 0.4 s with pauses of 0.1 s."""
    time = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    wave = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 40))
    return np.asarray(0.15 * wave * (time % 0.5 < 0.4), np.float32)


@pytest.fixture(scope="module")
def builtin() -> menura.TTS:
    return menura.load()


def test_a_preset_is_kept_with_a_clip_of_it(builtin: menura.TTS) -> None:
    tts = builtin
    name = tts.spec.voices[0].name
    made = of_preset(tts, name.upper(), "Mine", seed=5)
    assert (made.source.kind, made.source.preset, made.source.model, made.source.seed) == (
        SourceKind.PRESET, name, "builtin", 5,
    )  # fmt: skip
    assert made.consent is None
    assert made.language == "english"
    [clip] = made.clips
    assert clip.transcript == sample_text("english")
    spoken = tts.speak(clip.transcript, voice=name, seed=5)
    assert 0 <= spoken.seconds - clip.seconds < 2
    with pytest.raises(InvalidValueError, match="'nobody' is not one of 'builtin'"):
        of_preset(tts, "nobody", "Mine")


class Designer:
    """A model that draws voices: it buzzes, and keeps what it was asked."""

    def __init__(self, tts: menura.TTS, samples: FloatArray) -> None:
        self.spec = replace(tts.spec, model="designer", capabilities=frozenset({Capability.DESIGN}))
        self._speech = replace(
            tts.speak("Hello there."), samples=samples, sample_rate_hz=RATE_HZ, applied={"seed": 9}
        )
        self.asked: tuple[object, ...] = ()

    def speak(
        self,
        text: str,
        *,
        voice: str | None = None,
        language: str | None = None,
        instruct: str | None = None,
        seed: int | None = None,
        split: bool = True,
    ) -> menura.Speech:
        self.asked = (text, voice, language, instruct, seed, split)
        return self._speech


def test_a_voice_is_drawn_from_a_description(builtin: menura.TTS) -> None:
    tts = Designer(builtin, buzz(5.0))
    made = drawn(tts, " An old man. ", "Old", language="de", seed=9)
    assert tts.asked == (sample_text("german"), None, "de", "An old man.", 9, False)
    assert (made.source.kind, made.source.model) == (SourceKind.DESIGN, "designer")
    assert (made.source.description, made.source.seed) == ("An old man.", 9)
    assert (made.label, made.language, made.consent) == ("Old", "german", None)
    assert made.clips[0].transcript == sample_text("german")


def test_a_take_without_a_voice_is_no_voice(builtin: menura.TTS) -> None:
    silent = Designer(builtin, np.zeros(3 * RATE_HZ, np.float32))
    with pytest.raises(RecordingError, match="silent"):
        drawn(silent, "An old man.", "Old")
    with pytest.raises(InvalidValueError, match="the description is empty"):
        drawn(silent, " ", "Old")
    with pytest.raises(UnsupportedError, match="'builtin' cannot draw a voice"):
        drawn(builtin, "An old man.", "Old")


def test_a_dialect_that_a_model_alone_knows_is_no_language_of_a_voice(
    builtin: menura.TTS,
) -> None:
    tts = Designer(builtin, buzz(5.0))
    assert drawn(tts, "Old.", "Old", language="sichuan_dialect").language is None
