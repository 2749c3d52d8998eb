"""Voices as the API shows them: OpenAI's `audio.voice` with what Menura knows beside it."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, JsonValue

from menura.server.models.model_facts import ModelFacts
from menura.voice_library.fit import fit
from menura.voice_library.folders import LibraryVoice
from menura.voice_library.record import Consent

Models = Sequence[tuple[str, ModelFacts | None]]
"""Models by the names that they are served by; None where one's files cannot be read."""


class SourceShape(BaseModel):
    """Where a voice comes from."""

    kind: str
    model: str
    description: str
    preset: str
    seed: int | None


class ConsentShape(BaseModel):
    """What the speaker agreed to, and on which day."""

    text: str
    given_on: str


class ClipShape(BaseModel):
    """One of the recordings that a voice is made of."""

    seconds: float
    sample_rate_hz: int
    transcript: str | None


class DefaultsShape(BaseModel):
    """How a voice speaks where a request does not say."""

    model: str | None
    language: str | None
    instruct: str | None
    speed: float
    options: dict[str, JsonValue]


class FitShape(BaseModel):
    """Whether a model can speak with a voice, and what would make it better."""

    model: str
    usable: bool
    way: str
    says: str
    missing: tuple[str, ...]
    better: str


class VoiceResource(BaseModel):
    """A voice of the library; `name` is the label, as OpenAI's clients read it."""

    id: str
    object: str = "audio.voice"
    name: str
    label: str
    created_at: int
    language: str | None
    notes: str
    made_on: str
    source: SourceShape
    consent: ConsentShape | None
    clips: tuple[ClipShape, ...]
    defaults: DefaultsShape
    has_preview: bool
    fits: tuple[FitShape, ...]


class BrokenShape(BaseModel):
    """What lies in the library and is no voice."""

    name: str
    reason: str


class BrokenList(BaseModel):
    """All that lies in the library and is no voice."""

    object: str = "list"
    data: tuple[BrokenShape, ...]


class ResourceList(BaseModel):
    """Voices of the library."""

    object: str = "list"
    data: tuple[VoiceResource, ...]


class Deleted(BaseModel):
    """What was deleted."""

    id: str
    object: str
    deleted: bool = True


def shown(voice: LibraryVoice, models: Models) -> VoiceResource:
    """The voice as the API shows it, with how each of the models goes together with it.

    It may look at the disk.
    """
    record = voice.record
    return VoiceResource(
        id=record.id,
        name=record.label,
        label=record.label,
        created_at=int(datetime.fromisoformat(record.made_on).timestamp()),
        language=record.language,
        notes=record.notes,
        made_on=record.made_on,
        source=SourceShape.model_validate(record.source, from_attributes=True),
        consent=_consent(record.consent),
        clips=tuple(ClipShape.model_validate(c, from_attributes=True) for c in record.clips),
        defaults=DefaultsShape.model_validate(record.defaults, from_attributes=True),
        has_preview=record.preview is not None,
        fits=tuple(_fit(voice, name, facts) for name, facts in models if facts is not None),
    )


def _consent(given: Consent | None) -> ConsentShape | None:
    return None if given is None else ConsentShape(text=given.text, given_on=given.given_on)


def _fit(voice: LibraryVoice, model: str, facts: ModelFacts) -> FitShape:
    found = fit(voice, facts)
    return FitShape(
        model=model,  # the name that it is served by
        usable=found.usable,
        way=found.way,
        says=found.says,
        missing=tuple(map(str, found.missing)),
        better=found.better,
    )
