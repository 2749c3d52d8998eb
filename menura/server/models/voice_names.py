"""Which words of a request mean which voice of a model: its own, a saved one, or the library's.

    a model's own  >  a voice of `--voice NAME=FILE`  >  an alias  >  the library's id or label
                   >  OpenAI's names, which mean the model's own voices in turn

`lib:NAME` means the library alone. The library is looked at for each request, since its voices
come and go while the server runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from menura import voice_files
from menura.errors import InvalidValueError, UnsupportedError, VoiceNotFoundError, did_you_mean
from menura.server.models.model_facts import ModelFacts
from menura.voice_library.fit import fit
from menura.voice_library.folders import LibraryVoice
from menura.voice_library.labels import LIBRARY_PREFIX
from menura.voice_library.library import VoiceLibrary

# OpenAI's voices in a fixed order: the first means a model's first voice, and so on, round.
OPENAI_VOICES = (
    "alloy", "ash", "ballad", "coral", "echo", "fable", "onyx", "nova", "sage", "shimmer", "verse",
    "marin", "cedar",
)  # fmt: skip
OPENAI_MODELS = ("tts-1", "gpt-4o")
"""How the names of OpenAI's models that speak begin."""

_SHOWN = 60  # characters of a given word in an error
_MOST_LISTED = 40


@dataclass(frozen=True)
class ServedVoice:
    """A voice that a model can speak with, by the word for it.

    It is one of the model's own, or one from a file, or the library's, whose id is `voice_id`.
    """

    name: str
    languages: tuple[str, ...]
    description: str
    is_file: bool
    voice_id: str | None = None

    @property
    def is_added(self) -> bool:
        """Whether somebody added it, so that it is not the model's own."""
        return self.is_file or self.voice_id is not None


@dataclass(frozen=True)
class ChosenVoice:
    """What a request's voice means: a preset, a saved voice, one of the library, or none of them.

    `label` is the voice's name for people, None where the model speaks without one.
    """

    name: str | None
    file: Path | None
    label: str | None
    voice_id: str | None = None


@dataclass(frozen=True)
class SavedVoice:
    """A voice that the server was started with."""

    name: str
    file: Path
    engine: str


def saved_voice(name: str, file: Path) -> SavedVoice:
    """A voice that the server was started with. Raises: InvalidValueError: the file is none."""
    return SavedVoice(name, file.resolve(), voice_files.load_voice(file).prompt.engine)


class VoiceNames:
    """The voices that this server has for its models, by the words that requests use."""

    def __init__(
        self, saved: Sequence[SavedVoice], aliases: Mapping[str, str], library: VoiceLibrary
    ) -> None:
        self.library = library
        self._saved = {voice.name.casefold(): voice for voice in saved}
        self._aliases = {name.casefold(): voice for name, voice in aliases.items()}

    def served(self, facts: ModelFacts) -> tuple[ServedVoice, ...]:
        """All voices that a model can speak with now: its own, the saved ones, the library's."""
        return (*self._fixed(facts), *self._of_library(facts))

    def chosen(self, given: str | None, facts: ModelFacts) -> ChosenVoice:
        """What a request's voice means to a model; None means its default one.

        A name that is nothing to the model is an error, never another voice.

        Raises: InvalidValueError: it has no such voice, or needs one and there is none;
            VoiceNotFoundError: `lib:NAME` names none; UnsupportedError: it cannot use the voice.
        """
        if given is None:
            return self._default(facts)
        word = given.casefold()
        fixed = self._fixed(facts)
        by_name = {voice.name.casefold(): voice for voice in fixed}
        alias = self._aliases.get(word, "")
        found = by_name.get(word) or by_name.get(alias.casefold())
        if found is not None:
            return self._chosen(found)
        _check_is_here(facts, word, alias.casefold())
        kept = self._kept(given, word, alias)
        if kept is not None:
            return _usable(kept, facts)
        is_openais = word in OPENAI_VOICES and not alias  # an alias means what it says
        choices = fixed or self._of_library(facts) if is_openais else ()
        if choices:
            return self._chosen(choices[OPENAI_VOICES.index(word) % len(choices)])
        if facts.speaks_without_voice and (is_openais or not word):
            return ChosenVoice(None, None, None)
        raise _no_such_voice(alias or given, self.served(facts), facts)

    def _kept(self, given: str, word: str, alias: str) -> LibraryVoice | None:
        """The library's voice that a word means, itself or as an alias; None for all others.

        OpenAI's names are not its labels: they mean the model's own voices.
        """
        name = alias or given
        if word.startswith(LIBRARY_PREFIX):
            return self.library.find(given)
        if not name or name.casefold() in OPENAI_VOICES:
            return None
        try:
            return self.library.find(name)
        except VoiceNotFoundError:
            return None

    def _fixed(self, facts: ModelFacts) -> tuple[ServedVoice, ...]:
        """The voices that stay while the server runs: the model's own, then the saved ones."""
        own = [
            ServedVoice(preset.name, preset.languages, preset.description, is_file=False)
            for preset in facts.voices
            if not preset.missing
        ]
        taken = {preset.name.casefold() for preset in facts.voices}
        saved = [
            ServedVoice(voice.name, facts.languages, "a saved voice", is_file=True)
            for name, voice in self._saved.items()
            if facts.clones and voice.engine == facts.engine and name not in taken
        ]
        return (*own, *saved)

    def _of_library(self, facts: ModelFacts) -> tuple[ServedVoice, ...]:
        """The library's voices that the model can use, by label."""
        return tuple(
            ServedVoice(
                word, facts.languages, "a voice of the library", is_file=False, voice_id=voice.id
            )
            for voice, word in self._with_words(facts)
            if fit(voice, facts).usable
        )

    def _with_words(self, facts: ModelFacts) -> Iterator[tuple[LibraryVoice, str]]:
        """The library's voices, each with a word that means it and nothing else here."""
        taken = {preset.name.casefold() for preset in facts.voices}
        taken |= {*self._saved, *self._aliases, *OPENAI_VOICES}
        for label, voices in self.library.by_label().items():
            prefix = LIBRARY_PREFIX if label in taken or ":" in label else ""
            for voice in voices:
                yield voice, voice.id if len(voices) > 1 else f"{prefix}{voice.label}"

    def _default(self, facts: ModelFacts) -> ChosenVoice:
        if facts.default_voice is not None:
            return ChosenVoice(None, None, facts.default_voice)  # or the settings' default voice
        if facts.speaks_without_voice:
            return ChosenVoice(None, None, None)
        choices = self.served(facts)
        if choices:
            return self._chosen(choices[0])
        raise _no_such_voice(None, choices, facts)

    def _chosen(self, voice: ServedVoice) -> ChosenVoice:
        if voice.voice_id is not None:
            return ChosenVoice(None, None, self.library.find(voice.voice_id).label, voice.voice_id)
        if voice.is_file:
            return ChosenVoice(None, self._saved[voice.name.casefold()].file, voice.name)
        return ChosenVoice(voice.name, None, voice.name)


def _usable(voice: LibraryVoice, facts: ModelFacts) -> ChosenVoice:
    """The library's voice for a model. Raises: UnsupportedError: that cannot use it."""
    found = fit(voice, facts)
    if not found.usable:
        words = [f"the voice {voice.label!r} cannot be used: {found.says}", found.better]
        raise UnsupportedError(" ".join(filter(None, words)), param="voice")
    return ChosenVoice(None, None, voice.label, voice.id)


def _check_is_here(facts: ModelFacts, *names: str) -> None:
    """Nothing. Raises: InvalidValueError: one of them is a preset whose file is missing."""
    for preset in facts.voices:
        if preset.missing and preset.name.casefold() in names:
            raise InvalidValueError(
                f"the voice {preset.name!r} is not on this machine; {preset.missing}",
                param="voice",
            )


def _no_such_voice(
    given: str | None, choices: Sequence[ServedVoice], facts: ModelFacts
) -> InvalidValueError:
    names = [voice.name for voice in choices]
    given_words = "no voice was given" if given is None else f"there is no voice {given[:_SHOWN]!r}"
    if names:
        shown = ", ".join(names[:_MOST_LISTED]) + (", ..." if len(names) > _MOST_LISTED else "")
        allowed = f"{facts.model!r} has: {shown}; OpenAI's names mean these, in turn"
    elif facts.speaks_without_voice:
        allowed = f"{facts.model!r} speaks without one: leave voice out"
    else:
        allowed = (
            f"{facts.model!r} speaks like a recording: add a voice to the library "
            "(menura voices add NAME FILE, or POST /v1/audio/voices), or start the server with "
            "--voice NAME=FILE.safetensors (a voice saved with tts.voice(clip).save(FILE))"
        )
    return InvalidValueError(
        f"{given_words}; {allowed}.{did_you_mean((given or '')[:_SHOWN], names)}", param="voice"
    )
