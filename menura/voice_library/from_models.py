"""Making a voice with a model: drawn from a description, or from one of its presets.

The take becomes the voice's clip, so the voice stays the same from then on: for a whole book, and
on every model that speaks like a recording.
"""

from dataclasses import replace
from typing import Protocol

from menura import languages
from menura.engines.contract import Capability, EngineSpec
from menura.errors import InvalidValueError, UnsupportedError
from menura.planning import who_can
from menura.speech import Speech
from menura.voice_library.making import clip_of, prepared_take, refuse
from menura.voice_library.new_voice import NewVoice
from menura.voice_library.record import SourceKind, VoiceSource
from menura.voice_library.samples import sample_text


class Speaker(Protocol):
    """A model that speaks: a `menura.TTS`."""

    @property
    def spec(self) -> EngineSpec:
        """What the model is and can do."""
        ...

    def speak(
        self,
        text: str,
        *,
        voice: str | None = None,
        language: str | None = None,
        instruct: str | None = None,
        seed: int | None = None,
        split: bool = True,
    ) -> Speech:
        """The whole speech."""
        ...


def drawn(
    tts: Speaker,
    description: str,
    label: str,
    *,
    text: str | None = None,
    language: str | None = None,
    seed: int | None = None,
) -> NewVoice:
    """A voice drawn from a description; another seed gives another one.

    Raises: UnsupportedError: the model draws no voices; InvalidValueError: there is no description;
        RecordingError: the take cannot be cloned; as `speak`.
    """
    if Capability.DESIGN not in tts.spec.capabilities:
        raise UnsupportedError(
            f"{tts.spec.model!r} cannot draw a voice from a description."
            + who_can(Capability.DESIGN),
            param="description",
            needs=Capability.DESIGN,
        )
    described = description.strip()
    if not described:
        raise InvalidValueError(
            "the description is empty: say in words what the voice is like, such as 'An old man, "
            "hoarse and slow'.",
            param="description",
        )
    said = text or sample_text(language)
    take = tts.speak(said, instruct=described, language=language, seed=seed, split=False)
    source = VoiceSource(SourceKind.DESIGN, tts.spec.model, described, seed=_seed_of(take))
    return _of_take(take, said, NewVoice(label, (), source, language=_name_of(language)))


def of_preset(
    tts: Speaker,
    preset: str,
    label: str,
    *,
    text: str | None = None,
    language: str | None = None,
    seed: int | None = None,
) -> NewVoice:
    """A preset voice to keep: on its model it is the preset, on others its clip is spoken like.

    Raises: InvalidValueError: there is no such preset; RecordingError: the take cannot be cloned;
        as `speak`.
    """
    known = {found.name.casefold(): found for found in tts.spec.voices}
    found = known.get(preset.casefold())
    if found is None:
        raise InvalidValueError(
            f"preset {preset!r} is not one of {tts.spec.model!r}: {tts.spec.voice_choices()}.",
            param="preset",
        )
    own_language = language or next(iter(found.languages), None)
    said = text or sample_text(own_language)
    take = tts.speak(said, voice=found.name, language=language, seed=seed, split=False)
    source = VoiceSource(SourceKind.PRESET, tts.spec.model, preset=found.name, seed=_seed_of(take))
    return _of_take(take, said, NewVoice(label, (), source, language=_name_of(own_language)))


def _of_take(take: Speech, said: str, voice: NewVoice) -> NewVoice:
    """The voice with a model's take as its clip. Raises: RecordingError."""
    prepared = prepared_take(take.samples, take.sample_rate_hz, said)
    refuse(prepared, anyway=True)  # the model was told what to say
    return replace(voice, clips=(clip_of(prepared),))


def _seed_of(take: Speech) -> int | None:
    seed = take.applied.get("seed")
    return seed if isinstance(seed, int) else None


def _name_of(language: str | None) -> str | None:
    """The language as records keep it; None for one that the model alone knows, as a dialect."""
    return languages.name_of(language) if language and languages.is_known(language) else None
