"""/v1/audio/voice_consents: recordings in which people agree to a voice, in OpenAI's shapes."""

import asyncio
from typing import Annotated, ClassVar

from fastapi import Query, Request
from pydantic import BaseModel, ConfigDict, Field

from menura.server.border import audit
from menura.server.routes import NO_BODY, SMALL_JSON, UPLOAD, Route, Scope
from menura.server.voices.consents import ConsentRecord, ConsentStore
from menura.server.voices.first_bytes import check_recording
from menura.server.voices.shapes import Deleted
from menura.server.voices.shelf import changed, worked_on
from menura.server.voices.uploads import File, UploadForm, Words, received

OBJECT = "audio.voice_consent"


class ConsentForm(UploadForm):
    """A person's consent, spoken by that person."""

    file_field: ClassVar[str] = "recording"

    name: Words = Field(max_length=400)
    language: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,39}$", description="A tag such as en-US."
    )
    recording: File


class ConsentPatch(BaseModel):
    """Another name."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Words = Field(max_length=400)


class ConsentResource(BaseModel):
    """A consent; its recording is not given out."""

    id: str
    object: str = OBJECT
    name: str
    language: str
    created_at: int


class ConsentList(BaseModel):
    """Consents, the newest first."""

    object: str = "list"
    data: tuple[ConsentResource, ...]
    first_id: str | None
    last_id: str | None
    has_more: bool


async def create(request: Request) -> ConsentResource:
    """Keep a consent, for a voice that is made later."""
    async with received(request, ConsentForm) as form:
        await asyncio.to_thread(check_recording, form.recording, ConsentForm.file_field)
        await worked_on(request, {"job": "keep", "file": str(form.recording)})
        flac = form.recording.with_name("made.flac")
        record = await changed(
            lambda: ConsentStore().add(form.name, form.language, flac.read_bytes())
        )
    audit.note(request, "consent kept", record.id)
    return _shown(record)


async def listed(
    after: Annotated[str | None, Query(max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> ConsentList:
    """The consents that are kept. `after`: the id of the last one that is known already."""
    found = await changed(ConsentStore().all)
    ids = [record.id for record in found]
    start = ids.index(after) + 1 if after in ids else 0
    some = found[start : start + limit]
    return ConsentList(
        data=tuple(map(_shown, some)),
        first_id=some[0].id if some else None,
        last_id=some[-1].id if some else None,
        has_more=len(found) > start + limit,
    )


async def one(consent_id: str) -> ConsentResource:
    """One consent."""
    return _shown(await changed(lambda: ConsentStore().find(consent_id)))


async def rename(request: Request, consent_id: str, body: ConsentPatch) -> ConsentResource:
    """Give a consent another name."""
    record = await changed(lambda: ConsentStore().rename(consent_id, body.name))
    audit.note(request, "consent changed", record.id)
    return _shown(record)


async def remove(request: Request, consent_id: str) -> Deleted:
    """Remove a consent; voices that were made with it keep their copy."""
    await changed(lambda: ConsentStore().remove(consent_id))
    audit.note(request, "consent removed", consent_id)
    return Deleted(id=consent_id, object=OBJECT)


def _shown(record: ConsentRecord) -> ConsentResource:
    return ConsentResource.model_validate(record, from_attributes=True)


_ALL = "/v1/audio/voice_consents"
_ONE = f"{_ALL}/{{consent_id}}"
ROUTES = (
    Route(_ALL, ("POST",), Scope.VOICES, UPLOAD, create, "Keep a consent", form=ConsentForm),
    Route(_ALL, ("GET",), Scope.VOICES, NO_BODY, listed, "List the consents"),
    Route(_ONE, ("GET",), Scope.VOICES, NO_BODY, one, "Show a consent"),
    Route(_ONE, ("POST",), Scope.VOICES, SMALL_JSON, rename, "Rename a consent"),
    Route(_ONE, ("PATCH",), Scope.VOICES, SMALL_JSON, rename, "Rename a consent"),
    Route(_ONE, ("DELETE",), Scope.VOICES, NO_BODY, remove, "Remove a consent"),
)
