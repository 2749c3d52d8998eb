"""Recordings for the tests: what a person would say into a microphone, and what is no use."""

from pathlib import Path

import numpy as np
import soundfile

import menura

SENTENCE = (
    "The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background. "
    "It is easy to tell the depth of a well."
)


def spoken(path: Path) -> Path:
    """A WAV file of about eight seconds in which the built-in voice says the sentence.

    A faint noise lies under it, as under every real recording.
    """
    speech = menura.load().speak(SENTENCE, seed=1)
    noise = np.random.default_rng(0).standard_normal(len(speech.samples)) * 3e-4
    samples = speech.samples * 0.7 + noise.astype(np.float32)
    soundfile.write(path, samples, speech.sample_rate_hz, subtype="PCM_16")
    return path


def clipped(path: Path) -> Path:
    """The same sentence, cut off at the top by a microphone that was set far too loud."""
    samples, rate_hz = soundfile.read(spoken(path), dtype="float32")
    loud = np.clip(samples * (12 / np.abs(samples).max()), -1, 1)
    soundfile.write(path, loud, rate_hz, subtype="PCM_16")
    return path


def silent(path: Path) -> Path:
    """Four seconds in which nobody speaks."""
    soundfile.write(path, np.zeros(4 * 24_000, np.float32), 24_000, subtype="PCM_16")
    return path
