"""Voices put into the library of the test's own folders, and recordings to make them of."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import soundfile

from menura.speech import FloatArray
from menura.voice_library.library import LibraryVoice, VoiceLibrary
from menura.voice_library.new_voice import NewClip, NewVoice
from menura.voice_library.record import Consent, SourceKind, VoiceSource

RATE_HZ = 24_000
SAID = "A tone that beeps, again and again."
CONSENT = "My own voice."


def beeps(seconds: float = 6.0, rate_hz: int = RATE_HZ) -> FloatArray:
    """Something like speech: a buzz [n] with formants, in syllables, with a little noise."""
    time = np.arange(round(seconds * rate_hz)) / rate_hz
    pitch = 120 + 15 * np.sin(2 * np.pi * 0.7 * time)
    phase = 2 * np.pi * np.cumsum(pitch) / rate_hz
    buzz = sum(np.sin(k * phase) / k for k in range(1, 20))
    syllables = np.clip(np.sin(2 * np.pi * 3.1 * time), 0, 1) * (time % 2.0 < 1.7)
    noise = np.random.default_rng(0).standard_normal(len(time))
    edges = np.clip(np.minimum(time, seconds - time) / 0.2 - 0.5, 0, 1)
    return (0.12 * buzz * syllables * edges + 0.0005 * noise).astype(np.float32)


def flac_of(samples: FloatArray, rate_hz: int = RATE_HZ) -> bytes:
    """The samples [n] as a FLAC file."""
    sink = io.BytesIO()
    soundfile.write(sink, samples, rate_hz, format="FLAC")
    return sink.getvalue()


def write_recording(path: Path, seconds: float = 6.0, rate_hz: int = RATE_HZ) -> Path:
    """The path, after a recording was written there."""
    soundfile.write(path, beeps(seconds, rate_hz), rate_hz)
    return path


def new_voice(label: str = "Anna", **changes: object) -> NewVoice:
    """A voice of a recording of three seconds, with the changes."""
    clip = NewClip(flac_of(beeps(3.0)), SAID, 3.0, RATE_HZ)
    made = NewVoice(
        label=label,
        clips=(clip,),
        source=VoiceSource(SourceKind.RECORDING),
        consent=Consent(CONSENT, "2026-11-30"),
        language="english",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def kept(label: str = "Anna", **changes: object) -> LibraryVoice:
    """Such a voice in the library."""
    return VoiceLibrary().add(new_voice(label, **changes))
