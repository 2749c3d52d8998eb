"""Voices from what clients send: a recording is checked, becomes a voice, or a voice is brought in.

The form goes to the disk, a process of its own reads the file, and only what that process made of
it comes into the library.
"""

import asyncio
from functools import partial
from typing import ClassVar, Literal

from fastapi import Request
from pydantic import BaseModel, Field, JsonValue

from menura.errors import ConsentError, InvalidValueError
from menura.server import catalogue
from menura.server.border import audit
from menura.server.models.frames import Frame
from menura.server.routes import UPLOAD, Route, Scope, ServerParts, parts_of
from menura.server.voices.consents import ConsentStore
from menura.server.voices.first_bytes import check_recording, check_voice
from menura.server.voices.names_taken import checked_name
from menura.server.voices.resources import resource
from menura.server.voices.shapes import ResourceList, VoiceResource
from menura.server.voices.shelf import changed, checked_day_text, worked_on
from menura.server.voices.uploads import File, UploadForm, Words, received
from menura.speech import MAX_SEED
from menura.voice_library.agreement import given_today, words_in
from menura.voice_library.new_voice import NewClip, NewVoice
from menura.voice_library.record import (
    LONGEST_CONSENT,
    LONGEST_INSTRUCT,
    LONGEST_LANGUAGE,
    LONGEST_NOTES,
    LONGEST_TRANSCRIPT,
    Consent,
    SourceKind,
    VoiceSource,
)


class CheckForm(UploadForm):
    """A recording to look at."""

    file_field: ClassVar[str] = "audio_sample"

    audio_sample: File = Field(description="The recording, in any format that can be read.")
    transcript: Words | None = Field(
        default=None, max_length=LONGEST_TRANSCRIPT, description="What is said in it."
    )
    language: Words | None = Field(default=None, max_length=LONGEST_LANGUAGE)
    transcribe: bool = Field(
        default=False, description="Write down what is said, where the server can."
    )


class VoiceForm(CheckForm):
    """A voice to be made. `consent` is the id of a consent; `consent_text` the words of one."""

    name: Words = Field(max_length=400)
    consent: Words | None = Field(default=None, max_length=100)
    consent_text: Words | None = Field(default=None, max_length=LONGEST_CONSENT)
    notes: Words = Field(default="", max_length=LONGEST_NOTES)
    anyway: bool = Field(default=False, description="Keep it whatever the checks found.")
    source_kind: Literal["recording", "design"] = Field(
        default="recording", description="`design`: a model drew it by `description`."
    )
    description: Words = Field(default="", max_length=LONGEST_INSTRUCT)
    model: Words = Field(default="", max_length=200)
    seed: int | None = Field(default=None, ge=0, lt=MAX_SEED + 1)


class ImportForm(UploadForm):
    """A voice that was taken along (`.voice.zip`), or saved by `Voice.save`."""

    file_field: ClassVar[str] = "file"

    file: File
    name: Words | None = Field(default=None, max_length=400)
    consent_text: Words | None = Field(default=None, max_length=LONGEST_CONSENT)


class Span(BaseModel):
    """A part of the recording, in seconds."""

    start_s: float
    end_s: float


class Checked(BaseModel):
    """What a recording is. `peaks`: its outline, 0 to 1; `trim`: the part that would be kept."""

    report: dict[str, JsonValue]
    peaks: tuple[float, ...]
    transcript: str | None
    seconds: float
    trim: Span


async def check(request: Request) -> Checked:
    """Look at a recording: figures, findings, and what to do about them. Nothing is kept."""
    async with received(request, CheckForm) as form:
        await asyncio.to_thread(check_recording, form.audio_sample, CheckForm.file_field)
        found = await worked_on(request, _job("check", form))
    return Checked.model_validate(found.head)


async def create(request: Request) -> VoiceResource:
    """Make a voice of a recording, with the consent of whose voice it is."""
    parts = parts_of(request)
    async with received(request, VoiceForm) as form:
        await asyncio.to_thread(check_recording, form.audio_sample, VoiceForm.file_field)
        name = checked_name(parts, form.name, await catalogue.served(parts))
        consent, recording = await _consent(parts, form)
        source = _source(form)
        made = await worked_on(request, _job("make", form) | {"anyway": form.anyway})
        new = NewVoice(
            label=name,
            clips=(await asyncio.to_thread(_clip, form, made),),
            source=source,
            consent=consent,
            language=made.text("language") if made.has("language") else None,
            notes=form.notes,
            consent_recording=recording,
        )
        voice = await changed(lambda: parts.library.add(new))
    audit.note(request, f"voice made from a {form.source_kind}", voice.id)
    return await resource(request, voice)


async def bring_in(request: Request) -> ResourceList:
    """Bring a voice in that was taken along from somewhere, or saved by `Voice.save`."""
    parts = parts_of(request)
    async with received(request, ImportForm) as form:
        await asyncio.to_thread(check_voice, form.file, ImportForm.file_field)
        name = form.name
        if name is not None:
            name = checked_name(parts, name, await catalogue.served(parts))
        job: dict[str, object] = {
            "job": "import",
            "file": str(form.file),
            "label": name,
            "consent": form.consent_text and checked_day_text(form.consent_text, "consent_text"),
            "require_consent": parts.limits.require_consent,
        }
        brought = await worked_on(request, job)
    finding = [partial(parts.library.find, voice_id) for voice_id in brought.texts("ids")]
    voices = [await changed(find) for find in finding]
    for voice in voices:
        audit.note(request, "voice brought in", voice.id)
    return ResourceList(data=tuple([await resource(request, voice) for voice in voices]))


def _job(what: str, form: CheckForm) -> dict[str, object]:
    transcript = (form.transcript or "").strip() or None
    return {
        "job": what,
        "file": str(form.audio_sample),
        "transcript": transcript,
        "language": form.language or None,
        "transcribe": form.transcribe and transcript is None,
    }


async def _consent(parts: ServerParts, form: VoiceForm) -> tuple[Consent | None, bytes | None]:
    """What the speaker agreed to, with the recording of it where there is one.

    Raises: ConsentError: nothing was given, and it is needed; Problem (404): no such consent.
    """
    if form.consent:
        store = ConsentStore()
        kept = await changed(lambda: store.find(form.consent or ""))
        recording = await changed(lambda: store.recording(kept))
        said = f"{kept.name} ({kept.language}) agrees in the recording."
        return Consent(words_in(form.consent_text) or said, kept.made_on[:10]), recording
    if given := given_today(form.consent_text):
        return given, None
    if parts.limits.require_consent and form.source_kind == "recording":
        raise ConsentError(
            "a voice made of a recording needs the consent of whose voice it is: write what that "
            "person agreed to in consent_text, or give the id of a recorded consent as consent.",
            param="consent_text",
        )
    return None, None


def _source(form: VoiceForm) -> VoiceSource:
    """Where the voice comes from. Raises: InvalidValueError: a design without its description."""
    if form.source_kind == "recording":
        return VoiceSource(SourceKind.RECORDING)
    if not form.description.strip():
        raise InvalidValueError(
            "description is missing: a design is kept with the words that it was drawn by.",
            param="description",
        )
    return VoiceSource(SourceKind.DESIGN, form.model, form.description.strip(), seed=form.seed)


def _clip(form: VoiceForm, made: Frame) -> NewClip:
    """The clip that the workshop made; it lies beside the file that it was made of."""
    transcript = made.text("transcript") if made.has("transcript") else None
    return NewClip(
        form.audio_sample.with_name("made.flac").read_bytes(),
        transcript,
        made.number("seconds"),
        made.whole("sample_rate_hz"),
    )


ROUTES = (
    Route("/v1/voices/check", ("POST",), Scope.VOICES, UPLOAD, check, "Check a recording",
          form=CheckForm),
    Route("/v1/audio/voices", ("POST",), Scope.VOICES, UPLOAD, create, "Make a voice",
          form=VoiceForm),
    Route("/v1/voices/import", ("POST",), Scope.VOICES, UPLOAD, bring_in, "Bring a voice in",
          form=ImportForm),
)  # fmt: skip
