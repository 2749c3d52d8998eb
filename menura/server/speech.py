"""POST /v1/audio/speech: a text to audio, as OpenAI's clients ask for it.

Fields that OpenAI documents and a model cannot follow are left out and named in
`X-Menura-Ignored`, as are unknown ones; Menura's own fields are strict unless `strict` is false.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import Request
from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    JsonValue,
    StrictBool,
    StrictInt,
    StrictStr,
)
from starlette.requests import HTTPConnection
from starlette.responses import Response

from menura.errors import InvalidValueError
from menura.server import option_rules
from menura.server.audio_body import Speaking, SpeechAnswer
from menura.server.border.json_body import OpenBody
from menura.server.encoding import FLOATS, SERVED_FORMATS, AudioWish, checked_format
from menura.server.field_names import OF_SPEECH, FieldNames, field_of, named_as
from menura.server.models.model_facts import ModelFacts
from menura.server.models.names import Names
from menura.server.models.performance import Order
from menura.server.routes import (
    TEXT_JSON,
    Route,
    Scope,
    ServerParts,
    caller_of,
    parts_of,
    request_id_of,
)
from menura.speech import FASTEST, MAX_SEED, SLOWEST, SpeechRequest

MAX_INSTRUCTIONS = 4096
MEDIA_TYPES = tuple(dict.fromkeys(AudioWish(name).media_type for name in SERVED_FORMATS))


class VoiceId(BaseModel):
    """A voice as OpenAI's newer clients name it."""

    id: StrictStr


def _voice_name(given: object) -> str:
    """The name of a voice, however it was given. Raises: ValueError: it was not."""
    name = given.get("id") if isinstance(given, Mapping) else given
    if not isinstance(name, str):
        raise ValueError('a voice is a name, or an object with one, such as {"id": "alloy"}')
    return name


class SpeakBody(OpenBody):
    """How to speak: all fields but the text. What else is given is reported as ignored."""

    model: StrictStr | None = Field(
        default=None, description="A model or an alias; the default if unset."
    )
    voice: Annotated[
        str | None, BeforeValidator(_voice_name, json_schema_input_type=str | VoiceId)
    ] = Field(
        default=None, description="A voice of GET /v1/audio/voices, or one of OpenAI's names."
    )
    instructions: StrictStr | None = Field(
        default=None, max_length=MAX_INSTRUCTIONS, description="How to speak, in words."
    )
    response_format: StrictStr = Field(
        default="mp3",
        description=f"One of: {', '.join(SERVED_FORMATS)}. pcm is 16-bit mono at 24 kHz.",
    )
    speed: Annotated[float, Field(strict=True, ge=SLOWEST, le=FASTEST)] = Field(
        default=1.0, description="The pace; 1 is the voice's own."
    )
    stream_format: Literal["audio", "sse"] = Field(
        default="audio", description="The bytes themselves, or server-sent events that carry them."
    )
    language: StrictStr | None = Field(
        default=None, description="The text's language: a name or a code."
    )
    # FastAPI writes bounds as floats, where only the power of two itself is exact.
    seed: Annotated[StrictInt, Field(ge=0, lt=MAX_SEED + 1)] | None = Field(
        default=None,
        description="The same seed gives the same audio; a drawn one if unset (X-Seed).",
    )
    split: StrictBool = Field(
        default=True, description="Whether a long text may be spoken in segments."
    )
    strict: StrictBool | None = Field(
        default=None,
        description="Whether a field that the model cannot follow is an error or left out.",
    )
    options: Mapping[str, JsonValue] = Field(
        default_factory=dict, description="The model's own options, as GET /v1/models lists them."
    )
    stream: StrictBool = Field(
        default=True, description="Audio as it is made; false: a whole file with its true length."
    )

    @property
    def wish(self) -> AudioWish:
        """The bytes asked for. Raises: InvalidValueError: there is no such format."""
        return AudioWish(checked_format(self.response_format), whole=not self.stream)


class SpeechBody(SpeakBody):
    """A text, and how to speak it."""

    input: StrictStr = Field(description="The text; its length is limited by the settings.")


@dataclass(frozen=True)
class Asker:
    """For whom something is spoken: whose work it counts as, and the request's id."""

    owner: str
    request_id: str


async def speech(request: Request, body: SpeechBody) -> Response:
    """Speak a text: bytes of audio, or server-sent events."""
    return await answer_to(request, body, body.wish)


async def answer_to(
    request: Request,
    body: SpeechBody,
    wish: AudioWish,
    *,
    without_effect: tuple[str, ...] = (),
    names: FieldNames = OF_SPEECH,
) -> SpeechAnswer:
    """The answer to a body that was read; it speaks when it is sent.

    A body of another shape was made into this one: `without_effect` are fields that this one does
    not have, and `names` is what that one calls its fields.

    Raises: InvalidValueError, ModelNotFoundError: something in the body is not served.
    """
    parts = parts_of(request)
    check_length(body.input, parts.limits.max_characters, field_of("text", names))
    with named_as(names):
        order, ignored = await order_for(parts, body, body.input, asker_of(request))
    speaking = Speaking(
        order,
        wish,
        as_events=body.stream_format == "sse",
        ignored=(*without_effect, *ignored),
        mark=parts.mark,
        names=names,
    )
    return SpeechAnswer(parts.pool, speaking)


def asker_of(connection: HTTPConnection) -> Asker:
    """For whom a connection asks."""
    return Asker(caller_of(connection).owner, request_id_of(connection))


def check_length(text: str, longest: int, param: str) -> None:
    """Nothing, where the text has an allowed length. Raises: InvalidValueError."""
    if len(text) > longest:
        raise InvalidValueError(
            f"{param} has {len(text):,} characters, and this server takes at most {longest:,} at "
            "once: send it in parts, or raise the server's max_characters.",
            param=param,
        )


async def order_for(
    parts: ServerParts, body: SpeakBody, text: str, asker: Asker, *, words: bool = False
) -> tuple[Order, tuple[str, ...]]:
    """The order for a body, and the names of its fields that have no effect.

    Raises: InvalidValueError: no such voice; ModelNotFoundError: no such model; Problem: an option
        that is not for clients.
    """
    voices_model, voice = _split(parts.names, body.voice)
    model = _model(parts.names, body.model, voices_model)
    facts = await parts.pool.describe(model)
    chosen = parts.names.voice(voice, facts)
    option_rules.check(body.options, facts, parts.limits)
    instruct, ignored = _instruct(body, facts)
    request = SpeechRequest(
        text,
        voice=chosen.name,
        language=body.language,
        instruct=instruct,
        seed=body.seed,
        speed=body.speed,
        split=body.split,
        strict=body.strict is not False,
        options=dict(body.options),
    )
    order = Order(
        model,
        request,
        asker.owner,
        words=words,
        stream=body.stream,
        request_id=asker.request_id,
        voice_file=chosen.file,
        voice_label=None if chosen.file is None else chosen.label,
        voice_id=chosen.voice_id,
    )
    return order, (*(body.model_extra or {}), *ignored)


def _split(names: Names, voice: str | None) -> tuple[str | None, str | None]:
    """The model that a voice like `MODEL:VOICE` belongs to, and the voice's own name."""
    return (None, None) if voice is None else names.split_voice(voice)


def _model(names: Names, given: str | None, voices_model: str | None) -> str:
    """The model that speaks: the voice's own where it has one, else the given one.

    Raises: ModelNotFoundError; InvalidValueError: the given one is another one than the voice's.
    """
    asked = names.model(given)
    if voices_model is None:
        return asked
    owner = names.model(voices_model)
    is_named = given is not None and given.casefold() == asked.casefold()  # and not by an alias
    if asked != owner and is_named:
        raise InvalidValueError(
            f"the voice belongs to the model {owner!r}, and model is {given!r}: give that model, "
            "or leave model out.",
            param="voice",
        )
    return owner


def _instruct(body: SpeakBody, facts: ModelFacts) -> tuple[str | None, tuple[str, ...]]:
    """The instructions for the model; left out and named where it takes none, unless strict."""
    if body.instructions and not facts.takes_instructions and body.strict is None:
        return None, ("instructions",)
    return body.instructions or None, ()


ROUTES = (
    Route(
        "/v1/audio/speech",
        ("POST",),
        Scope.SPEAK,
        TEXT_JSON,
        speech,
        "Speak a text",
        media_types=(*MEDIA_TYPES, AudioWish(FLOATS).media_type, "text/event-stream"),
    ),
)
