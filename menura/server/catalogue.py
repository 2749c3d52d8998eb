"""What is served: GET /v1/models, /v1/audio/voices and /v1/voices, in the shapes that clients read.

Each voice has one id to speak with: its name for the default model, `MODEL:NAME` for the others.
"""

import asyncio
import time
from functools import lru_cache

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field

from menura import transcription
from menura.errors import MenuraError
from menura.languages import LANGUAGES
from menura.server.models.model_facts import ModelFacts
from menura.server.models.voice_names import ServedVoice
from menura.server.option_rules import offered
from menura.server.routes import NO_BODY, Route, Scope, ServerParts, caller_of, parts_of
from menura.server.voices.shapes import Models, VoiceResource, shown

_OWNER = "menura"
_CODES = {name: code for code, name in LANGUAGES.items()}
_LOOK_AGAIN_S = 60.0  # weights may come while the server runs


class OptionEntry(BaseModel):
    """One option of a model, for `options` of /v1/audio/speech. The bounds are inclusive."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    kind: str
    default: bool | int | float | str | tuple[int, ...] | None
    minimum: float | None
    maximum: float | None
    choices: tuple[str, ...]
    unit: str
    help: str


class FactsEntry(BaseModel):
    """What a model can do."""

    engine: str
    variant: str
    is_default: bool
    sample_rate_hz: int
    languages: tuple[str, ...]
    capabilities: tuple[str, ...]
    default_voice: str | None
    speaks_without_voice: bool
    licence: str
    output_licence: str
    options: tuple[OptionEntry, ...]


class ModelEntry(BaseModel):
    """One model as OpenAI's clients read it; `menura` is null where its files cannot be read."""

    id: str
    object: str = "model"
    created: int = Field(default=0, description="Not known, so 0.")
    owned_by: str = _OWNER
    menura: FactsEntry | None


class ModelList(BaseModel):
    """The models, the default one first; `models` is the same as `data`."""

    object: str = "list"
    data: tuple[ModelEntry, ...]
    models: tuple[ModelEntry, ...]
    max_characters: int = Field(description="The longest text that one request may have.")


class VoiceEntry(BaseModel):
    """One voice: `id` and `voice_id` are what to speak with."""

    id: str
    voice_id: str
    object: str = "audio.voice"
    name: str
    model: str
    language: str | None = Field(description="The voice's own language; null: any.")
    languages: tuple[str, ...]
    description: str
    category: str = Field(description="`premade`, or `cloned` for a voice that was added.")
    labels: dict[str, str]
    preview_url: None = None
    voice: VoiceResource | None = Field(
        default=None, description="What the voice library knows of it, for who shows a key."
    )


class VoiceList(BaseModel):
    """The voices, those of the default model first; `voices` is the same as `data`.

    `library` has each voice of the voice library once, those too that no model here can use.
    """

    object: str = "list"
    data: tuple[VoiceEntry, ...]
    voices: tuple[VoiceEntry, ...]
    library: tuple[VoiceResource, ...]
    can_transcribe: bool = Field(
        default=False,
        description="Whether this server writes down what a recording says; false without a key.",
    )
    has_more: bool = False


async def list_models(request: Request) -> ModelList:
    """The models that are served."""
    return await models_of(parts_of(request))


async def one_model(request: Request, model_id: str) -> ModelEntry:
    """One model, by its name or an alias. Raises: ModelNotFoundError."""
    parts = parts_of(request)
    await parts.names.refresh()
    name = parts.names.model(model_id)
    return _model_entry(name, await _facts_of(parts, name), parts)


async def list_voices(request: Request) -> VoiceList:
    """The voices of all models that are served, and those of the voice library."""
    return await voices_of(parts_of(request), for_everybody=not caller_of(request).scopes)


async def models_of(parts: ServerParts) -> ModelList:
    """The models that are served, the default one first."""
    entries = tuple(_model_entry(name, facts, parts) for name, facts in await served(parts))
    return ModelList(data=entries, models=entries, max_characters=parts.limits.max_characters)


async def voices_of(parts: ServerParts, *, for_everybody: bool = False) -> VoiceList:
    """The voices of all models that are served, those of the default one first.

    `for_everybody`: without what people said and agreed to, which is for those with a key.
    """
    models = await served(parts)
    kept = {} if for_everybody else await asyncio.to_thread(_kept, parts, models)
    entries = tuple(
        _voice_entry(
            voice, name, parts.names.voice_id(name, voice.name), kept.get(voice.voice_id or "")
        )
        for name, facts in models
        if facts is not None
        for voice in parts.names.voices(facts)
    )
    can_transcribe = not for_everybody and await asyncio.to_thread(
        _can_transcribe, int(time.monotonic() / _LOOK_AGAIN_S)
    )
    return VoiceList(
        data=entries,
        voices=entries,
        library=tuple(kept.values()),
        can_transcribe=can_transcribe,
    )


@lru_cache(maxsize=1)
def _can_transcribe(_look: int) -> bool:
    """Whether what transcribes is on this machine; it is looked for anew with each new number."""
    try:
        transcription.weights()
    except MenuraError:
        return False
    return True


def _kept(parts: ServerParts, models: Models) -> dict[str, VoiceResource]:
    """The voices of the library by their ids, in the order of their labels."""
    return {voice.id: shown(voice, models) for voice in parts.library.voices()}


async def served(parts: ServerParts) -> Models:
    """The models that are served, the default one first, with what each can do."""
    await parts.names.refresh()
    names = parts.names.models()
    return list(
        zip(names, await asyncio.gather(*(_facts_of(parts, n) for n in names)), strict=True)
    )


async def _facts_of(parts: ServerParts, name: str) -> ModelFacts | None:
    """What a model can do, or None where its files cannot be read: the others are listed still."""
    try:
        return await parts.pool.describe(name)
    except MenuraError:
        return None


def _model_entry(name: str, facts: ModelFacts | None, parts: ServerParts) -> ModelEntry:
    if facts is None:
        return ModelEntry(id=name, menura=None)
    return ModelEntry(
        id=name,
        menura=FactsEntry(
            engine=facts.engine,
            variant=facts.variant,
            is_default=name == parts.names.default,
            sample_rate_hz=facts.sample_rate_hz,
            languages=facts.languages,
            capabilities=tuple(sorted(facts.capabilities)),
            default_voice=facts.default_voice,
            speaks_without_voice=facts.speaks_without_voice,
            licence=facts.licence,
            output_licence=facts.output_licence,
            options=tuple(
                OptionEntry.model_validate(option) for option in offered(facts, parts.limits)
            ),
        ),
    )


def _voice_entry(
    voice: ServedVoice, model: str, voice_id: str, kept: VoiceResource | None
) -> VoiceEntry:
    codes = tuple(_CODES.get(language, language) for language in voice.languages)
    # A saved voice speaks whatever its model does: none of many languages is its own.
    own = None if not codes or (voice.is_added and len(codes) > 1) else codes[0]
    if kept is not None and kept.language:
        own = _CODES.get(kept.language, kept.language)
    return VoiceEntry(
        id=voice_id,
        voice_id=voice_id,
        name=voice.name if voice_id == voice.name else f"{voice.name} ({model})",
        model=model,
        language=own,
        languages=codes,
        description=voice.description,
        category="cloned" if voice.is_added else "premade",
        labels={"model": model, **({"language": own} if own else {})},
        voice=kept,
    )


ROUTES = (
    Route("/v1/models", ("GET",), Scope.SPEAK, NO_BODY, list_models, "List the models",
          is_voice_list=True),
    Route("/v1/audio/models", ("GET",), Scope.SPEAK, NO_BODY, list_models, "List the models"),
    Route("/v1/models/{model_id}", ("GET",), Scope.SPEAK, NO_BODY, one_model, "Show a model"),
    Route("/v1/audio/voices", ("GET",), Scope.SPEAK, NO_BODY, list_voices, "List the voices",
          is_voice_list=True),
    Route("/v1/voices", ("GET",), Scope.SPEAK, NO_BODY, list_voices, "List the voices",
          is_voice_list=True),
)  # fmt: skip
