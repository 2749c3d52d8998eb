"""/v1/voices/{voice_id}: a voice of the library is shown, changed, taken along, and removed.

It is named by its id alone. An id that is none is the same miss whatever it looks like.
"""

import asyncio
import os
import re
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial
from typing import BinaryIO
from urllib.parse import quote

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from starlette.responses import Response, StreamingResponse

from menura.errors import InvalidValueError
from menura.server import catalogue
from menura.server.border import audit
from menura.server.border.problems import Problem
from menura.server.routes import JSON, NO_BODY, BodyRule, Route, Scope, ServerParts, parts_of
from menura.server.voices.names_taken import checked_name
from menura.server.voices.shapes import (
    BrokenList,
    BrokenShape,
    Deleted,
    VoiceResource,
    shown,
)
from menura.server.voices.shelf import changed, checked_day_text, voice_of, worked_on
from menura.server.voices.uploads import Words, scratch_folder
from menura.speech import FASTEST, SLOWEST
from menura.voice_library import own_models
from menura.voice_library.folders import LibraryVoice
from menura.voice_library.known_values import check_options
from menura.voice_library.library import UNSET, Unset
from menura.voice_library.record import (
    LONGEST_CONSENT,
    LONGEST_INSTRUCT,
    LONGEST_LANGUAGE,
    LONGEST_NOTES,
    LONGEST_TRANSCRIPT,
    Consent,
    VoiceDefaults,
    today,
)

FLAC = "audio/flac"
ZIP = "application/zip"
_PATCH_JSON = BodyRule(384 * 1024, (JSON,))
_PIECE_BYTES = 256 * 1024
_NO_FILE_NAME = re.compile(r'[\x00-\x1f"*/:<>?\\|]')


class DefaultsPatch(BaseModel):
    """How a voice speaks where a request does not say; what is not given stays."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: Words | None = Field(default=None, max_length=200)
    language: Words | None = Field(default=None, max_length=LONGEST_LANGUAGE)
    instruct: Words | None = Field(default=None, max_length=LONGEST_INSTRUCT)
    speed: float = Field(default=1.0, ge=SLOWEST, le=FASTEST)
    options: dict[str, JsonValue] = Field(default_factory=dict)


class VoicePatch(BaseModel):
    """What is to be changed of a voice; what is not given stays as it is."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Words = Field(default="", max_length=400)
    language: Words | None = Field(default=None, max_length=LONGEST_LANGUAGE)
    notes: Words = Field(default="", max_length=LONGEST_NOTES)
    transcript: Words | None = Field(
        default=None, max_length=LONGEST_TRANSCRIPT, description="What is said in the recording."
    )
    consent: Words = Field(
        default="", max_length=LONGEST_CONSENT, description="What the speaker agreed to."
    )
    defaults: DefaultsPatch = DefaultsPatch()


async def broken(request: Request) -> BrokenList:
    """What lies in the voice library and is no voice, and why."""
    found = await changed(parts_of(request).library.broken)
    return BrokenList(data=tuple(BrokenShape(name=b.name, reason=b.reason) for b in found))


async def one(request: Request, voice_id: str) -> VoiceResource:
    """One voice of the library, and which models can use it."""
    return await resource(request, await voice_of(parts_of(request), voice_id))


async def resource(request: Request, voice: LibraryVoice) -> VoiceResource:
    """A voice as the API shows it."""
    models = await catalogue.served(parts_of(request))
    return await asyncio.to_thread(shown, voice, models)


async def edit(request: Request, voice_id: str, body: VoicePatch) -> VoiceResource:
    """Change what is written of a voice. A new transcript is heard at the next sentence."""
    parts = parts_of(request)
    voice = await voice_of(parts, voice_id)
    given = body.model_fields_set
    label: str | Unset = UNSET
    if "name" in given:
        label = checked_name(parts, body.name, await catalogue.served(parts))
    defaults: VoiceDefaults | Unset = UNSET
    if "defaults" in given:
        defaults = await asyncio.to_thread(_defaults, parts, voice, body.defaults)
    edit_voice = partial(
        parts.library.edit,
        voice_id,
        label=label,
        language=body.language if "language" in given else UNSET,
        notes=body.notes if "notes" in given else UNSET,
        consent=_consent(voice, body.consent) if "consent" in given else UNSET,
        transcript=body.transcript if "transcript" in given else UNSET,
        defaults=defaults,
    )
    edited = await changed(edit_voice)
    audit.note(request, "voice changed", voice_id)
    return await resource(request, edited)


def _consent(voice: LibraryVoice, text: str) -> Consent:
    """The consent in other words; a recording of it stays."""
    old = voice.record.consent
    return Consent(checked_day_text(text, "consent"), today(), old.recording if old else None)


def _defaults(parts: ServerParts, voice: LibraryVoice, given: DefaultsPatch) -> VoiceDefaults:
    """The voice's defaults with the changes.

    Raises: InvalidValueError: the model is no name of one that can be had, or does not know an
        option.
    """
    old = voice.record.defaults
    new = replace(old, **{name: getattr(given, name) for name in given.model_fields_set})
    if new.model is not None and new.model != old.model:
        new = replace(new, model=_model(new.model))
    model = own_models.named(new.model) or own_models.model_of(parts.library, voice)
    is_checked = "options" in given.model_fields_set and new.options and model is not None
    spec = own_models.spec_of(model) if is_checked and model is not None else None
    if spec is not None:
        check_options(new.options, spec)
    return new


def _model(given: str) -> str:
    if (name := own_models.named(given)) is None:
        raise InvalidValueError(
            "defaults.model must be the name of a known model, or ORG/NAME of one that is "
            "installed.",
            param="defaults",
        )
    return name


async def remove(request: Request, voice_id: str) -> Deleted:
    """Remove a voice: its recordings, and all that was made of them."""
    parts = parts_of(request)
    await voice_of(parts, voice_id)
    await changed(lambda: parts.library.remove(voice_id))
    audit.note(request, "voice removed", voice_id)
    return Deleted(id=voice_id, object="audio.voice")


async def preview(request: Request, voice_id: str) -> Response:
    """How a voice sounds: its preview, or the recording that it was made of."""
    parts = parts_of(request)
    voice = await voice_of(parts, voice_id)
    flac = await changed(lambda: parts.library.preview(voice) or parts.library.clip(voice))
    return Response(flac, media_type=FLAC)


async def clip(request: Request, voice_id: str, number: int) -> Response:
    """One recording of a voice, counted from 1."""
    parts = parts_of(request)
    voice = await voice_of(parts, voice_id)
    if not 1 <= number <= len(voice.record.clips):
        raise Problem(
            404, "clip_not_found", f"This voice has {len(voice.record.clips)} clips, counted from "
            "1.", param="number",
        )  # fmt: skip
    return Response(await changed(lambda: parts.library.clip(voice, number)), media_type=FLAC)


async def export(request: Request, voice_id: str) -> Response:
    """Take a voice along: one file with all that belongs to it, for `menura voices import`."""
    parts = parts_of(request)
    voice = await voice_of(parts, voice_id)
    async with scratch_folder() as folder:
        path = folder / "voice.zip"
        await worked_on(request, {"job": "export", "file": str(path), "voice": voice_id})
        # Open, it stays readable after its name is gone with the folder.
        file = await asyncio.to_thread(path.open, "rb")
    audit.note(request, "voice exported", voice_id)
    headers = {
        "content-length": str(os.fstat(file.fileno()).st_size),
        "content-disposition": f"attachment; {file_name_words(f'{voice.label}.voice.zip')}",
    }
    return StreamingResponse(_pieces(file), headers=headers, media_type=ZIP)


async def _pieces(file: BinaryIO) -> AsyncGenerator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, _PIECE_BYTES):
            yield piece


def file_name_words(name: str) -> str:
    """A file's name for a header, as RFC 6266 has it: for old clients, and for all others."""
    safe = _NO_FILE_NAME.sub("-", name).lstrip(".")
    return f"filename=\"voice.voice.zip\"; filename*=UTF-8''{quote(safe, safe='')}"


_VOICE = "/v1/voices/{voice_id}"
ROUTES = (
    Route("/v1/voices/broken", ("GET",), Scope.VOICES, NO_BODY, broken, "List what is no voice"),
    Route(_VOICE, ("GET",), Scope.SPEAK, NO_BODY, one, "Show a voice"),
    Route(_VOICE, ("PATCH",), Scope.VOICES, _PATCH_JSON, edit, "Change a voice"),
    Route(_VOICE, ("DELETE",), Scope.VOICES, NO_BODY, remove, "Remove a voice"),
    Route(f"{_VOICE}/preview", ("GET",), Scope.SPEAK, NO_BODY, preview, "Hear a voice", (FLAC,)),
    Route(
        f"{_VOICE}/clips/{{number}}", ("GET",), Scope.VOICES, NO_BODY, clip,
        "Get a voice's recording", (FLAC,),
    ),
    Route(
        f"{_VOICE}/export", ("GET",), Scope.VOICES, NO_BODY, export, "Take a voice along", (ZIP,)
    ),
)  # fmt: skip
