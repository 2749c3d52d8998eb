"""A request whose voice stands in the library: which voice it means, and what the voice adds.

A model's own voices win; `lib:NAME` means the library alone. Where the request does not say how to
speak, the voice's defaults do, as far as the model knows them; what is really used is told.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from menura import languages
from menura.engines.contract import Capability, EngineSpec
from menura.errors import InvalidValueError, VoiceNotFoundError, did_you_mean
from menura.planning import SpeechPlan
from menura.speech import FASTEST, SLOWEST, SpeechRequest, Voice
from menura.voice_library.folders import LibraryVoice
from menura.voice_library.labels import LIBRARY_PREFIX, enumerated, folded
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.ready import stand_in
from menura.voice_library.record import SourceKind, VoiceDefaults

_SHOWN = 60  # characters of a given word in an error


@dataclass(frozen=True)
class Filled:
    """A request with a voice's defaults, which ones were used, and which are nothing to the model.

    `left_out`: name -> why.
    """

    request: SpeechRequest
    used: Mapping[str, object]
    left_out: Mapping[str, str]


@dataclass(frozen=True)
class Resolved:
    """A request that a model can be asked, and what is told of the library's voice behind it."""

    request: SpeechRequest
    label: str | None = None
    applied: Mapping[str, object] = field(default_factory=dict)

    def told(self, planned: SpeechPlan) -> SpeechPlan:
        """The request's plan, with what is told of the voice."""
        if self.label is None:
            return planned
        manner = replace(planned.manner, voice_label=self.label)
        return replace(planned, manner=manner, applied={**planned.applied, **self.applied})


def resolved(
    request: SpeechRequest,
    spec: EngineSpec,
    library: VoiceLibrary,
    made: Callable[[LibraryVoice], Voice],
) -> Resolved:
    """The request as the model takes it; `made` gives what an engine makes of a library's voice.

    Raises: VoiceNotFoundError: the name is nobody's; InvalidValueError: it is several voices'; as
        `made`.
    """
    voice = meant(request.voice, spec, library)
    if voice is None:
        return Resolved(request)
    preset = preset_behind(voice, spec)
    filled = with_defaults(request, voice.record.defaults, spec)
    if preset is not None:
        spoken: str | Voice = preset
    else:  # a model that cannot clone refuses it, in its own words, before anything is read
        spoken = made(voice) if spec.clones else stand_in(voice, spec)
    applied: dict[str, object] = {"voice": voice.label, "voice_id": voice.id}
    told = {**filled.used, **({"left_out": dict(filled.left_out)} if filled.left_out else {})}
    if told:
        applied["voice_defaults"] = told
    return Resolved(replace(filled.request, voice=spoken), voice.label, applied)


def meant(
    given: str | Voice | None, spec: EngineSpec, library: VoiceLibrary
) -> LibraryVoice | None:
    """The library's voice that a request's voice means, or None where it means none of them.

    Raises: VoiceNotFoundError: the name is nobody's; InvalidValueError: it is several voices'.
    """
    if not isinstance(given, str) or not given:
        return None
    if given[: len(LIBRARY_PREFIX)].casefold() == LIBRARY_PREFIX:
        return library.find(given)
    presets = {preset.name.casefold() for preset in spec.voices}
    if given.casefold() in presets:
        return None
    try:
        return library.find(given)
    except VoiceNotFoundError:
        raise _nobody(given, spec, library) from None


def _nobody(given: str, spec: EngineSpec, library: VoiceLibrary) -> VoiceNotFoundError:
    """The error for a word that is no voice's name: what there is instead, in plain words."""
    labels = [voice.label for voice in library.voices()]
    presets = [preset.name for preset in spec.voices]
    draws = Capability.DESIGN in spec.capabilities
    of_model = spec.voice_choices() if draws else enumerated(presets)
    if spec.clones and not presets:
        of_model += " of its own: it speaks like a recording (tts.voice(clip), --ref FILE)"
    word = given[:_SHOWN]
    return VoiceNotFoundError(
        f"there is no voice {word!r} in the voice library or in {spec.model!r}; the library has "
        f"{enumerated(labels)}, and the model has {of_model}."
        + (_broken(word, library) or did_you_mean(word, [*presets, *labels]))
        + " `menura voices list` shows them.",
        param="voice",
    )


def _broken(given: str, library: VoiceLibrary) -> str:
    """What lies in the library under the name and is no voice, with the reason; empty if nothing.

    Somebody who dropped a recording there must not wonder why it is not heard (report 34).
    """
    word = folded(given[:_SHOWN])
    for entry in library.broken():
        if word in (folded(entry.name), folded(Path(entry.name).stem)):
            return f" {entry.name!r} lies there, but {entry.reason}"
    return ""


def preset_behind(voice: LibraryVoice, spec: EngineSpec) -> str | None:
    """The model's own voice that the library's was made from; None for all others.

    On any other model the voice speaks by its clip.
    """
    source = voice.record.source
    if source.kind != SourceKind.PRESET or source.model != spec.model:
        return None
    names = [preset.name for preset in spec.voices if not preset.missing]
    return next((name for name in names if name.casefold() == source.preset.casefold()), None)


def with_defaults(request: SpeechRequest, defaults: VoiceDefaults, spec: EngineSpec) -> Filled:
    """The request with the voice's defaults where it says nothing itself."""
    used: dict[str, object] = {}
    left_out: dict[str, str] = {}
    if request.language is None and defaults.language:
        if _knows_language(defaults.language, spec):
            used["language"] = defaults.language
        else:
            left_out["language"] = f"{spec.model!r} does not speak {defaults.language!r}"
    if request.instruct is None and defaults.instruct:
        if spec.takes_instructions:
            used["instruct"] = defaults.instruct
        else:
            left_out["instruct"] = f"{spec.model!r} takes no instructions"
    options = _options(request, defaults, spec, left_out)
    filled = replace(request, **used, options={**options, **request.options})  # type: ignore[arg-type]
    if options:
        used["options"] = options
    if defaults.speed != 1.0 and type(request.speed) in (int, float):
        used["speed"] = min(max(request.speed * defaults.speed, SLOWEST), FASTEST)
        filled = replace(filled, speed=used["speed"])  # type: ignore[arg-type]
    return Filled(filled, used, left_out)


def _knows_language(given: str, spec: EngineSpec) -> bool:
    folded = given.casefold()
    return folded in spec.languages or languages.name_of(folded) in spec.languages


def _options(
    request: SpeechRequest, defaults: VoiceDefaults, spec: EngineSpec, left_out: dict[str, str]
) -> dict[str, object]:
    """The voice's options that the request does not give and the model knows."""
    facts = {entry.name: entry for entry in spec.options.facts()}
    used: dict[str, object] = {}
    for name, value in defaults.options.items():
        if name in request.options:
            continue
        if name not in facts:
            left_out[name] = f"{name!r} is not an option of {spec.model!r}"
            continue
        try:
            facts[name].check(value)
        except InvalidValueError as error:
            left_out[name] = error.message
        else:
            used[name] = value
    return used
