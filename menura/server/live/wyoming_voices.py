"""What a Wyoming client is told of the voices, and what it means when it names one.

All models stand in one program, since clients read only the first. A voice of the default model has
its own name there, a voice of another one the id that it has everywhere. A model that speaks
without a voice stands there as a voice with the model's name. A model's name with a `speaker` means
that voice of the model. Clients sort voices by language codes, so each has at least one.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass

from wyoming.info import Attribution, Info, TtsProgram, TtsVoice
from wyoming.tts import SynthesizeVoice

from menura import catalogue
from menura.errors import InvalidValueError, MenuraError
from menura.languages import LANGUAGES, name_of
from menura.server.models.model_facts import ModelFacts
from menura.server.models.model_pool import ModelPool
from menura.server.models.names import Names
from menura.server.models.voice_names import ServedVoice

_CODES = {name: code for code, name in LANGUAGES.items()}
_MENURA = Attribution(name="Menura", url="")
# Home Assistant waits a second for an answer, and asks again.
_DESCRIBE_LIMIT_S = 0.7


@dataclass(frozen=True)
class Chosen:
    """What a client's voice means, in the fields of a speech; None where nothing was said."""

    model: str | None
    voice: str | None
    language: str | None


class WyomingVoices:
    """The voices of all models that are served, as Wyoming shows and names them."""

    def __init__(self, names: Names, pool: ModelPool) -> None:
        self._names = names
        self._pool = pool
        self._looks: dict[str, asyncio.Task[ModelFacts | None]] = {}
        self._known: dict[str, ModelFacts] = {}

    async def info(self) -> Info:
        """The program with its voices; a model that is slow to look at is as it was the last time.

        The default model is waited for: without it there would be nothing to say.
        """
        await self._names.refresh()
        looks = [(model, self._looking_at(model)) for model in self._names.models()]
        await asyncio.wait([looks[0][1]])
        await asyncio.wait([look for _, look in looks], timeout=_DESCRIBE_LIMIT_S)
        voices: list[TtsVoice] = []
        for model, look in looks:
            facts = look.result() if look.done() else self._known.get(model)
            voices += [] if facts is None else self._voices_of(model, facts)
        return Info(tts=[_program(voices)])

    def close(self) -> None:
        """Stop looking at models."""
        for look in self._looks.values():
            look.cancel()

    def chosen(self, voice: SynthesizeVoice | None) -> Chosen:
        """What the client's voice means.

        Raises: InvalidValueError: a speaker of something that has none; ModelNotFoundError.
        """
        if voice is None or (voice.name is None and voice.language is None):
            return Chosen(None, None, None)
        if voice.name is None:
            return Chosen(None, None, voice.language)
        if voice.name in self._names.models():
            return Chosen(voice.name, voice.speaker or None, None)
        if voice.speaker not in (None, "", voice.name):
            raise InvalidValueError(
                f"the voice {voice.name!r} has no speakers: leave speaker out.", param="speaker"
            )
        return Chosen(None, voice.name, None)

    def _looking_at(self, model: str) -> "asyncio.Task[ModelFacts | None]":
        """The look at the model that is under way, for all who wait for it."""
        look = self._looks.get(model)
        if look is None:
            look = self._looks[model] = asyncio.create_task(self._look(model))
            look.add_done_callback(lambda _: self._looks.pop(model, None))
        return look

    async def _look(self, model: str) -> ModelFacts | None:
        """The model's facts, or None where it cannot be looked at."""
        try:
            self._known[model] = await self._pool.describe(model)
        except MenuraError:
            self._known.pop(model, None)
        return self._known.get(model)

    def _voices_of(self, model: str, facts: ModelFacts) -> list[TtsVoice]:
        bare = [_voice(model, "", facts.languages, model)] if facts.speaks_without_voice else []
        named = [
            _voice(
                self._names.voice_id(model, each.name),
                each.description or each.name,
                _languages_of(each, facts),
                model,
            )
            for each in self._names.voices(facts)
        ]
        return bare + named


def _languages_of(voice: ServedVoice, facts: ModelFacts) -> Iterable[str]:
    """The voice's languages; the model's where the voice has none that has a code."""
    known = [each for each in voice.languages if name_of(each) in _CODES]
    return known or facts.languages


def _voice(name: str, description: str, languages: Iterable[str], model: str) -> TtsVoice:
    codes = [_CODES[name_of(each)] for each in languages if name_of(each) in _CODES]
    return TtsVoice(
        name=name,
        attribution=_attribution(model),
        installed=True,
        description=f"{description} ({model})" if description else model,
        version=None,
        languages=list(dict.fromkeys(codes)) or ["en"],
    )


def _attribution(model: str) -> Attribution:
    known = catalogue.lookup(model)
    if known is None or not known.repos:
        return _MENURA
    hub_id = known.repos[0].hub_id
    return Attribution(name=hub_id.partition("/")[0], url=f"https://huggingface.co/{hub_id}")


def _program(voices: list[TtsVoice]) -> TtsProgram:
    return TtsProgram(
        name="menura",
        attribution=_MENURA,
        installed=True,
        description="Menura text to speech",
        version=None,
        voices=voices,
        supports_synthesize_streaming=True,
    )
