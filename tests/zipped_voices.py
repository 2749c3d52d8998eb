"""Voices and their files for tests: small recordings, a voice of them, zip files of any kind."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import soundfile

from menura.engines.contract import VoicePrompt
from menura.speech import Origin, Voice
from menura.voice_library.new_voice import NewClip, NewPrompt, NewVoice
from menura.voice_library.record import Consent, SourceKind, VoiceDefaults, VoiceSource

RATE_HZ = 8_000
SAID = "What I say."


def recording(
    seconds: float = 2.0, *, rate_hz: int = RATE_HZ, channels: int = 1, form: str = "FLAC"
) -> bytes:
    """A file of a buzz that swells and fades, silent at both ends."""
    at = np.arange(round(seconds * rate_hz)) / rate_hz
    buzz = np.sin(np.pi * at / seconds) ** 2 * np.sign(np.sin(2 * np.pi * 130 * at))
    file = io.BytesIO()
    soundfile.write(file, np.tile(0.3 * buzz[:, None], channels), rate_hz, format=form)
    return file.getvalue()


def clip(seconds: float = 2.0, transcript: str | None = SAID) -> NewClip:
    return NewClip(recording(seconds), transcript, seconds, RATE_HZ)


def made_by_tone(fingerprint: str = "1", engine: str = "tone") -> Voice:
    """What the engine for tests makes of a recording."""
    arrays = {"embedding": np.array([0.25], np.float32)}
    prompt = VoicePrompt(engine, fingerprint, "x_vector", arrays, SAID)
    return Voice("Anna", prompt, Origin("", "I agree.", "2026-11-30"))


def voice(label: str = "Anna", *clips: NewClip) -> NewVoice:
    """A voice that has something of everything that a voice can have."""
    return NewVoice(
        label=label,
        clips=clips or (clip(), clip(1.6, None)),
        source=VoiceSource(SourceKind.DESIGN, model="tone", description="calm", seed=7),
        consent=Consent("I agree.", "2026-11-30"),
        language="en",
        notes="Kept for tests.",
        defaults=VoiceDefaults(speed=1.25, options={"frames_per_word": 3}),
        preview=recording(0.25),
        consent_recording=recording(0.75),
        prompts=(NewPrompt("auto", made_by_tone()),),
        made_on="2026-11-29T08:00:00Z",
    )


def zipped(contents: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file as other programs make it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return file.getvalue()


def unzipped(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


class Sentinel:
    """Unpickled, it leaves a file behind."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __reduce__(self) -> tuple[Callable[[str, str], object], tuple[str, str]]:
        return open, (self.path, "w")


def raw_entry(name: bytes, data: bytes, at: int = 0, **fields: int) -> tuple[bytes, bytes]:
    """An entry (header, name, data) and its row in the table; `fields` says what they claim.

    Fields: flags, method, crc, packed, size, attributes, start; without them, the truth.
    """
    given = {
        "flags": 0, "method": 0, "crc": zlib.crc32(data), "packed": len(data), "size": len(data),
        "attributes": 0o100644 << 16, "start": at,
    } | fields  # fmt: skip
    common = (given["flags"], given["method"], 0, 0x21, given["crc"], given["packed"])
    sizes = (*common, given["size"], len(name), 0)
    local = struct.pack("<4s5H3L2H", b"PK\x03\x04", 20, *sizes) + name + data
    row = struct.pack(
        "<4s6H3L5H2L", b"PK\x01\x02", 20, 20, *sizes, 0, 0, 0, given["attributes"], given["start"]
    )
    return local, row + name


def raw_zip(*entries: tuple[bytes, bytes], count: int | None = None, comment: int = 0) -> bytes:
    """A zip file of raw entries, whose end claims `count` entries and a comment's length."""
    data = b"".join(local for local, _ in entries)
    table = b"".join(row for _, row in entries)
    n = len(entries) if count is None else count
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, n, n, len(table), len(data), comment)
    return data + table + end
