"""A voice before it is in the library: what it will hold, and the files that it becomes."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from menura.errors import InvalidValueError
from menura.speech import Voice
from menura.voice_files import to_bytes
from menura.voice_library import prompts
from menura.voice_library.known_values import check_defaults, check_language
from menura.voice_library.labels import checked_label
from menura.voice_library.record import (
    CLIPS_FOLDER,
    CONSENT_FILE,
    NO_DEFAULTS,
    PREVIEW_FILE,
    RECORD_FILE,
    ClipRecord,
    Consent,
    VoiceDefaults,
    VoiceRecord,
    VoiceSource,
    checked,
    now,
)


@dataclass(frozen=True)
class NewClip:
    """A clip to be kept: the bytes of a mono FLAC file, and what is known of it."""

    flac: bytes
    transcript: str | None
    seconds: float
    sample_rate_hz: int


@dataclass(frozen=True)
class NewPrompt:
    """What an engine made of the voice already; `mode` is how it was asked for."""

    mode: str
    voice: Voice


@dataclass(frozen=True)
class NewVoice:
    """A voice to be kept. `preview` and `consent_recording` are the bytes of FLAC files.

    `made_on` is given for a voice that was made before, elsewhere.
    """

    label: str
    clips: tuple[NewClip, ...]
    source: VoiceSource
    consent: Consent | None = None
    language: str | None = None
    notes: str = ""
    defaults: VoiceDefaults = NO_DEFAULTS
    preview: bytes | None = None
    consent_recording: bytes | None = None
    prompts: tuple[NewPrompt, ...] = ()
    made_on: str | None = None


def record_of(new: NewVoice, id: str) -> VoiceRecord:  # noqa: A002 - its name
    """The record of a new voice. Raises: InvalidValueError: something in it is not allowed."""
    if not new.clips and not new.prompts:
        raise InvalidValueError("a voice needs a clip, or what an engine made of one.")
    clips = [
        ClipRecord(
            file=f"{CLIPS_FOLDER}/{number}.flac",
            sha256=hashlib.sha256(clip.flac).hexdigest(),
            transcript=clip.transcript,
            seconds=round(float(clip.seconds), 3),
            sample_rate_hz=clip.sample_rate_hz,
        )
        for number, clip in enumerate(new.clips, start=1)
    ]
    check_language(new.language)
    check_defaults(new.defaults)
    consent = new.consent
    if consent is not None:
        consent = replace(consent, recording=CONSENT_FILE if new.consent_recording else None)
    at = now()
    return checked(
        VoiceRecord(
            id=id,
            label=checked_label(new.label),
            language=new.language,
            notes=new.notes,
            made_on=new.made_on or at,
            edited_on=at,
            consent=consent,
            source=new.source,
            clips=tuple(clips),
            preview=PREVIEW_FILE if new.preview else None,
            defaults=new.defaults,
        )
    )


def files_of(new: NewVoice, record: VoiceRecord) -> Iterator[tuple[str, bytes]]:
    """The new voice's files, by their names in its folder; the record is the last.

    Raises: InvalidValueError: a file cannot hold a prompt.
    """
    for clip, given in zip(record.clips, new.clips, strict=True):
        yield clip.file, given.flac
    if new.preview:
        yield PREVIEW_FILE, new.preview
    if record.consent is not None and new.consent_recording:
        yield CONSENT_FILE, new.consent_recording
    for made in new.prompts:
        prompt = made.voice.prompt
        name = prompts.name_of(record, prompt.engine, prompt.fingerprint, made.mode)
        yield name, to_bytes(replace(made.voice, label=record.id))
    yield RECORD_FILE, record.to_json().encode()
