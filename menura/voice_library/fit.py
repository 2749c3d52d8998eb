"""Whether a model can speak with a voice, in which way, and what is missing: told without loading.

What an engine wants of a recording it says itself (`ReferenceRules`); nothing here knows an engine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from menura import languages
from menura.catalogue import CLONE, models_that
from menura.engines.contract import PresetVoice, ReferenceRules, TranscriptUse
from menura.voice_library import prompts
from menura.voice_library.folders import LibraryVoice
from menura.voice_library.record import ClipRecord, SourceKind

PRESET = "preset"


class Need(StrEnum):
    """What a voice lacks for a model: what is said in its recording, a shorter or another
    recording, the engine that made it, the file of a preset, a model that clones, its language.
    """

    TRANSCRIPT = "transcript"
    TRIM = "trim"
    RECORDING = "recording"
    ENGINE = "engine"
    VOICE_FILE = "voice_file"
    MODEL_CANNOT_CLONE = "model_cannot_clone"
    LANGUAGE = "language"


@dataclass(frozen=True)
class Fit:
    """How a voice and a model go together.

    `usable`: a request would be spoken, in the `way` named (the voice's mode, or "preset").
    `missing` is what stands between the voice and its best there, so a usable voice may have some
    too. `says` is a sentence for people; `better` another with advice, or empty.
    """

    model: str
    usable: bool
    way: str
    says: str
    missing: tuple[Need, ...] = ()
    better: str = ""


class Facts(Protocol):
    """The parts of an `EngineSpec`, or of the server's facts of a model, that decide."""

    @property
    def engine(self) -> str:
        """The engine's name."""
        ...

    @property
    def model(self) -> str:
        """The model's name."""
        ...

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that it speaks."""
        ...

    @property
    def voices(self) -> tuple[PresetVoice, ...]:
        """Its own voices."""
        ...

    @property
    def clones(self) -> bool:
        """Whether it can speak like a recording."""
        ...

    @property
    def fingerprint(self) -> str:
        """What names the weights that voices belong to."""
        ...

    @property
    def reference(self) -> ReferenceRules | None:
        """What a recording must be."""
        ...


def fit(voice: LibraryVoice, facts: Facts) -> Fit:
    """How the voice and the model go together, from what is known of both."""
    if (preset := _own_preset(voice, facts)) is not None:
        return _as_preset(preset, facts)
    if not facts.clones:
        able = ", ".join(model.name for model in models_that(CLONE))
        says = f"{facts.model} cannot speak like a recording; these models can: {able}."
        return Fit(facts.model, False, "", says, (Need.MODEL_CANNOT_CLONE,))
    if not voice.record.clips:
        return _by_prompt(voice, facts)
    return _by_recording(voice, voice.record.clips[0], facts)


def _own_preset(voice: LibraryVoice, facts: Facts) -> PresetVoice | None:
    """The model's own voice that this voice was made from; None for all other voices."""
    source = voice.record.source
    is_from_here = source.kind == SourceKind.PRESET and source.model == facts.model
    names = [
        preset for preset in facts.voices if preset.name.casefold() == source.preset.casefold()
    ]
    return names[0] if is_from_here and names else None


def _as_preset(preset: PresetVoice, facts: Facts) -> Fit:
    if preset.missing:
        says = f"its file is not on this machine; {preset.missing}"
        return Fit(facts.model, False, "", f"{facts.model}: {says}.", (Need.VOICE_FILE,))
    says = f"{facts.model} speaks with it as its own voice {preset.name!r}."
    return Fit(facts.model, True, PRESET, says)


def _by_prompt(voice: LibraryVoice, facts: Facts) -> Fit:
    """The fit of a voice without a recording: only the weights that made it can use it."""
    modes = [
        made.prompt.mode
        for _, made in prompts.all_of(voice)
        if made.prompt.engine == facts.engine and made.prompt.fingerprint == facts.fingerprint
    ]
    if not modes:
        says = (
            f"the voice has no recording, only what other weights than those of {facts.model} "
            "made of one."
        )
        better = "Make the voice from its recording, and every model that clones can use it."
        return Fit(facts.model, False, "", says, (Need.ENGINE,), better)
    says = f"{facts.model} speaks with what it once made of the recording."
    return Fit(facts.model, True, modes[0], says, *_of_language(voice, facts))


def _by_recording(voice: LibraryVoice, clip: ClipRecord, facts: Facts) -> Fit:
    rules = facts.reference
    if rules is None:
        says = f"{facts.model} speaks like its recording."
        return Fit(facts.model, True, "", says, *_of_language(voice, facts))
    has_transcript = bool(clip.transcript and clip.transcript.strip())
    if (need := _hindrance(clip, rules, has_transcript=has_transcript)) is not None:
        return Fit(
            facts.model, False, "", f"{facts.model} cannot use it yet: {need[1]}.", (need[0],)
        )
    findings = _shortcomings(clip, rules, has_transcript=has_transcript)
    missing, advice = _of_language(voice, facts)
    way = rules.way(has_transcript=has_transcript)
    is_read = has_transcript and rules.transcript is not TranscriptUse.UNUSED
    of_what = "recording and what is said in it" if is_read else "recording"
    return Fit(
        facts.model,
        True,
        way,
        f"{facts.model} speaks with it, from its {of_what} ({way}).",
        (*(need for need, _ in findings), *missing),
        " ".join([*(said for _, said in findings), *([advice] if advice else [])]),
    )


def _hindrance(
    clip: ClipRecord, rules: ReferenceRules, *, has_transcript: bool
) -> tuple[Need, str] | None:
    """What makes a recording unusable, with its words; None if nothing does."""
    if clip.seconds < rules.shortest_s:
        least = f"the recording has {clip.seconds:.2f} s and it needs {rules.shortest_s:.2f}"
        return Need.RECORDING, f"{least}; give {rules.best}"
    if clip.seconds > rules.longest_s:
        most = f"the recording has {clip.seconds:.0f} s and it takes {rules.longest_s:.0f}"
        return Need.TRIM, f"{most}; cut it to {rules.best}, at a pause"
    if not rules.way(has_transcript=has_transcript):
        return Need.TRANSCRIPT, "it needs to know what is said in the recording; give its text"
    return None


def _shortcomings(
    clip: ClipRecord, rules: ReferenceRules, *, has_transcript: bool
) -> Sequence[tuple[Need, str]]:
    """What would make a usable recording better, each with its words."""
    found: list[tuple[Need, str]] = []
    if rules.transcript is not TranscriptUse.UNUSED and not has_transcript:
        advice = (
            "Say what is spoken in the recording (its transcript): the voice comes closer, and "
            "short texts end as they should."
        )
        found.append((Need.TRANSCRIPT, advice))
    if clip.seconds > rules.good_s[1]:
        advice = (
            f"The recording has {clip.seconds:.0f} s: cut it to {rules.best}, at a pause, or words "
            "may break off."
        )
        found.append((Need.TRIM, advice))
    if clip.seconds < rules.good_s[0]:
        advice = f"The recording has only {clip.seconds:.1f} s: {rules.best} carry a voice better."
        found.append((Need.RECORDING, advice))
    return found


def _of_language(voice: LibraryVoice, facts: Facts) -> tuple[tuple[Need, ...], str]:
    """What is missing where the model does not speak the voice's language, with advice."""
    given = voice.record.language
    if not given or not facts.languages:
        return (), ""
    name = languages.name_of(given.casefold()) or given.casefold()
    if name in facts.languages:
        return (), ""
    spoken = ", ".join(facts.languages)
    return (Need.LANGUAGE,), f"The recording is in {name}; {facts.model} speaks {spoken}."
