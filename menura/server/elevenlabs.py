"""POST /v1/text-to-speech/{voice_id} and .../stream: the same, as ElevenLabs' clients ask for it.

Their model ids (`eleven_...`) stand for the default model. What has no counterpart here, such as
`stability`, is named in `X-Menura-Ignored`. Errors have OpenAI's shape, as everywhere.
"""

import re
from typing import Annotated

from fastapi import Query, Request
from pydantic import Field, StrictInt, StrictStr
from starlette.responses import Response

from menura.errors import InvalidValueError
from menura.server.border.json_body import OpenBody
from menura.server.encoding import AudioWish
from menura.server.field_names import OF_TEXT_TO_SPEECH
from menura.server.routes import TEXT_JSON, Route, Scope
from menura.server.speech import MEDIA_TYPES, SpeechBody, answer_to
from menura.speech import FASTEST, SLOWEST

_THEIR_MODELS = "eleven_"
_OUTPUT_FORMAT = re.compile(r"(mp3|opus|pcm|wav)_(\d{4,5})(?:_\d{1,3})?")
_RATES_HZ = (8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000)
_AT_ANY_RATE = ("pcm", "wav")  # the others keep the model's rate, which their decoders read


class VoiceSettings(OpenBody):
    """What ElevenLabs lets a client change of a voice; only the pace has a meaning here."""

    speed: Annotated[float, Field(strict=True, ge=SLOWEST, le=FASTEST)] = 1.0


class TextToSpeechBody(OpenBody):
    """A text, and how to speak it, in ElevenLabs' words."""

    text: StrictStr = Field(description="The text; its length is limited by the settings.")
    model_id: StrictStr | None = Field(default=None, description="A model or an alias.")
    language_code: StrictStr | None = Field(default=None, description="The text's language.")
    seed: Annotated[StrictInt, Field(ge=0, le=2**32 - 1)] | None = None
    voice_settings: VoiceSettings | None = None

    def as_speech(self, voice: str, *, stream: bool) -> SpeechBody:
        """The same in the words of /v1/audio/speech."""
        theirs = (self.model_id or "").casefold().startswith(_THEIR_MODELS)
        return SpeechBody(
            input=self.text,
            model=None if theirs else self.model_id,
            voice=voice,
            language=self.language_code,
            seed=self.seed,
            speed=self.voice_settings.speed if self.voice_settings else 1.0,
            stream=stream,
        )

    @property
    def ignored(self) -> tuple[str, ...]:
        """The names of the fields that have no effect here."""
        inner = (self.voice_settings and self.voice_settings.model_extra) or {}
        return (*(self.model_extra or {}), *(f"voice_settings.{name}" for name in inner))


OutputFormat = Annotated[
    str, Query(description="mp3_44100_128, opus_48000_64, pcm_24000, wav_44100 and the like.")
]


async def whole(
    request: Request,
    voice_id: str,
    body: TextToSpeechBody,
    output_format: OutputFormat = "mp3_44100_128",
) -> Response:
    """Speak a text: the bytes of a whole file."""
    return await _answer(request, voice_id, body, wish_of(output_format, whole=True))


async def streamed(
    request: Request,
    voice_id: str,
    body: TextToSpeechBody,
    output_format: OutputFormat = "mp3_44100_128",
) -> Response:
    """Speak a text: the bytes as they are made."""
    return await _answer(request, voice_id, body, wish_of(output_format, whole=False))


async def _answer(
    request: Request, voice_id: str, body: TextToSpeechBody, wish: AudioWish
) -> Response:
    speech = body.as_speech(voice_id, stream=not wish.whole)
    # Its rate and bit rate are not followed by the formats whose decoders know the model's rate.
    is_partly = wish.rate_hz is None and "output_format" in request.query_params
    without = (*body.ignored, *(("output_format",) if is_partly else ()))
    return await answer_to(request, speech, wish, without_effect=without, names=OF_TEXT_TO_SPEECH)


def wish_of(output_format: str, *, whole: bool) -> AudioWish:
    """The bytes that an `output_format` such as `pcm_24000` names.

    Raises: InvalidValueError: it is not one that is served.
    """
    found = _OUTPUT_FORMAT.fullmatch(output_format)
    if found is None or int(found[2]) not in _RATES_HZ:
        rates = ", ".join(map(str, _RATES_HZ))
        raise InvalidValueError(
            f"output_format {output_format!r} is not served: it must be mp3, opus, pcm or wav with "
            f"a rate (one of {rates}), such as mp3_44100_128 or pcm_24000.",
            param="output_format",
        )
    name, rate_hz = found[1], int(found[2])
    return AudioWish(name, rate_hz=rate_hz if name in _AT_ANY_RATE else None, whole=whole)


ROUTES = (
    Route("/v1/text-to-speech/{voice_id}", ("POST",), Scope.SPEAK, TEXT_JSON, whole,
          "Speak a text (ElevenLabs-like)", media_types=MEDIA_TYPES),
    Route("/v1/text-to-speech/{voice_id}/stream", ("POST",), Scope.SPEAK, TEXT_JSON, streamed,
          "Speak a text as it is made (ElevenLabs-like)", media_types=MEDIA_TYPES),
)  # fmt: skip
