"""Which words of a request mean which model and which voice: tables, made from what is installed.

A request's word is looked up here and nowhere else. It never becomes a path, an address or a hub
id, so that what is not in the tables is the same miss whatever it looks like.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from menura import catalogue, models
from menura.errors import InvalidValueError, ModelNotFoundError, did_you_mean
from menura.server.models.clock import Clock, LoopClock
from menura.server.models.model_facts import ModelFacts
from menura.server.models.voice_names import ChosenVoice, ServedVoice, VoiceNames, saved_voice
from menura.voice_library.library import VoiceLibrary

# OpenAI's models, all of which mean the default model.
OPENAI_MODELS = ("tts-1", "tts-1-hd", "gpt-4o-mini-tts", "gpt-4o-mini-tts-2025-12-15")
_OPENAI_PREFIX = "gpt-4o-mini-tts"  # with a date behind it
FRESH_S = 10.0  # the disk is looked at again after that
_MODEL_FILES = (".json", ".safetensors")  # every engine's models have one of these
_SHOWN = 60  # characters of a given word in an error


@dataclass(frozen=True)
class ServedModel:
    """A model by the name that requests use, and what `menura.load` takes for it."""

    name: str
    source: str
    folder: Path | None = None


class Names:
    """The models and voices that this server has, by the names that requests use."""

    def __init__(
        self,
        given: Sequence[ServedModel],
        voices: VoiceNames,
        default: str,
        model_aliases: Mapping[str, str],
        clock: Clock,
    ) -> None:
        self.default = default
        self.generation = 0  # counts the changes of what is installed
        self._given = tuple(given)
        self._voices = voices
        self._clock = clock
        self._looked_at: float | None = None
        self._looking = asyncio.Lock()
        self._models = _table(self._given, _installed())
        self._aliases = dict.fromkeys(OPENAI_MODELS, default)
        for alias, model in model_aliases.items():
            self._aliases[alias.casefold()] = self._own(model)

    @classmethod
    def at_start(
        cls,
        models: Sequence[str],
        voices: Mapping[str, Path],
        default_model: str,
        model_aliases: Mapping[str, str] | None = None,
        voice_aliases: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        library: VoiceLibrary | None = None,
    ) -> "Names":
        """The tables for what the server was started with: names or folders, and voices' files.

        Raises: ModelNotFoundError: a model is not here; InvalidValueError: two have one name, or a
            voice's file is none; MenuraError.
        """
        given = {model.name: model for model in map(_served, [default_model])}
        default = next(iter(given))
        for model in map(_served, models):
            if given.setdefault(model.name, model) != model:
                raise InvalidValueError(
                    f"two models would be served as {model.name!r}: {given[model.name].source} and "
                    f"{model.source}. Rename one of the folders.",
                    param="model",
                )
        saved = [saved_voice(name, file) for name, file in voices.items()]
        of_voices = VoiceNames(saved, voice_aliases or {}, library or VoiceLibrary())
        return cls(
            tuple(given.values()), of_voices, default, model_aliases or {}, clock or LoopClock()
        )

    # Models.

    def models(self) -> tuple[str, ...]:
        """The names of all models: the default one, then those given, then all others here."""
        return tuple(model.name for model in self._models.values())

    def aliases(self) -> Mapping[str, str]:
        """The model behind each alias; the aliases in lower case."""
        return dict(self._aliases)

    def folders(self) -> Mapping[str, Path]:
        """The folder of each model that was given as one."""
        return {m.name: m.folder for m in self._models.values() if m.folder is not None}

    def source(self, model: str) -> str:
        """What `menura.load` takes for a model of `models`."""
        return self._models[model.casefold()].source

    def model(self, given: str | None) -> str:
        """The name of the model that a request's word means; None means the default one.

        Raises: ModelNotFoundError: none has this name.
        """
        if given is None:
            return self.default
        folded = given.casefold()
        if folded in self._models:
            return self._models[folded].name
        if folded in self._aliases:
            return self._aliases[folded]
        if folded.startswith(_OPENAI_PREFIX):
            return self.default
        raise ModelNotFoundError(
            f"model {given[:_SHOWN]!r} is not served here; these are: {', '.join(self.models())}.",
            param="model",
        )

    async def refresh(self) -> None:
        """Look at what is installed, if that is long ago."""
        async with self._looking:
            now = self._clock.now()
            if self._looked_at is not None and now - self._looked_at < FRESH_S:
                return
            found = _table(self._given, await asyncio.to_thread(_installed))
            self._looked_at = now
            if found != self._models:
                self._models = found
                self.generation += 1

    def look_again(self) -> None:
        """Nothing; the next `refresh` looks, however short ago the last one did."""
        self._looked_at = None

    # Voices.

    @property
    def library(self) -> VoiceLibrary:
        """The voice library that requests may name voices of."""
        return self._voices.library

    def voices(self, facts: ModelFacts) -> tuple[ServedVoice, ...]:
        """All voices that a model can speak with now: its own, the saved ones, the library's."""
        return self._voices.served(facts)

    def voice(self, given: str | None, facts: ModelFacts) -> ChosenVoice:
        """What a request's voice means to a model; None means its default one. Raises: as there."""
        return self._voices.chosen(given, facts)

    def split_voice(self, given: str) -> tuple[str | None, str]:
        """The model and the voice of a word like MODEL:VOICE; no model where it has none."""
        before, colon, behind = given.partition(":")
        folded = before.casefold()
        if colon and (folded in self._models or folded in self._aliases):
            return self.model(before), behind
        return None, given

    def voice_id(self, model: str, voice: str) -> str:
        """The word for a voice that says which model it belongs to, unless it is the default."""
        return voice if model == self.default else f"{model}:{voice}"

    def _own(self, model: str) -> str:
        """The name of a model that an alias was given for. Raises: InvalidValueError."""
        known = catalogue.lookup(model)
        found = self._models.get((known.name if known else model).casefold())
        if found is None:
            raise InvalidValueError(
                f"model_aliases names {model!r}, which is not served; these are: "
                f"{', '.join(self.models())}.{did_you_mean(model, self.models())}",
                param="model_aliases",
            )
        return found.name


def _installed() -> list[ServedModel]:
    """The whole models on this machine, in the catalogue's order."""
    found = [model.name for model in models.list_installed() if model.is_complete]
    return [ServedModel(name, name) for name in found]


def _table(
    given: Iterable[ServedModel], installed: Iterable[ServedModel]
) -> dict[str, ServedModel]:
    """The models by their names in lower case; what was given stands first and wins."""
    table: dict[str, ServedModel] = {}
    for model in (*given, *installed):
        table.setdefault(model.name.casefold(), model)
    return table


def _served(name_or_folder: str) -> ServedModel:
    """A model that the server was started with. Raises: ModelNotFoundError: it is not here."""
    found = models.resolve(name_or_folder)
    if found.source is models.Source.FOLDER and found.folder is not None:
        folder = Path(name_or_folder).expanduser().resolve()
        if not any(file.suffix in _MODEL_FILES for file in found.folder.iterdir()):
            raise ModelNotFoundError(
                f"{folder} holds no model: no file of it ends in {' or '.join(_MODEL_FILES)}.",
                param="model",
            )
        is_of_the_cache = folder.name.startswith("models--")
        name = folder.name.rpartition("--")[2] if is_of_the_cache else folder.name
        return ServedModel(name, str(folder), folder)
    if known := catalogue.lookup(name_or_folder):
        return ServedModel(known.name, known.name)
    return ServedModel(name_or_folder.rpartition("/")[2], name_or_folder)  # ORG/NAME
