"""Library voices as a loaded model speaks with them: each made once, then kept.

kept in memory  ->  kept in the voice's folder  ->  made of its recording now, and kept in both
"""

from dataclasses import replace
from typing import Protocol

from menura.engines.contract import EngineSpec, VoicePrompt
from menura.errors import UnsupportedError
from menura.runtime.recently_used import RecentlyUsed
from menura.speech import Reference, Voice
from menura.voice_library import prompts
from menura.voice_library.folders import LibraryVoice
from menura.voice_library.library import VoiceLibrary

_KEPT = 32


class Maker(Protocol):
    """Who makes voices of recordings: a loaded model (`menura.TTS`)."""

    @property
    def spec(self) -> EngineSpec:
        """What the model is and can do."""
        ...

    def voice(self, clip: Reference, *, mode: str = "auto", consent: str = "") -> Voice:
        """A voice that speaks like the clip."""
        ...


def voice_for(
    library: VoiceLibrary, voice: LibraryVoice, maker: Maker, mode: str = "auto"
) -> Voice:
    """The library's voice for a model: what was kept of it, else made now and kept.

    Raises: UnsupportedError: the model cannot clone, or the voice has no recording and was made by
        other weights; VoiceNotFoundError: it is gone; InvalidValueError: its clip is damaged.
    """
    kept = library.cached_prompt(voice, maker.spec, mode)
    if kept is not None:
        return kept
    _check_has_clip(voice, maker.spec)
    consent = voice.record.consent.text if voice.record.consent is not None else ""
    made = maker.voice(library.reference(voice), mode=mode, consent=consent)
    made = replace(made, label=voice.label)
    library.keep_prompt(voice, made, mode)
    return made


class ReadyVoices:
    """The library's voices that a model spoke with last."""

    def __init__(self, library: VoiceLibrary) -> None:
        self.library = library
        self._kept: RecentlyUsed[tuple[str, str, str], Voice] = RecentlyUsed(_KEPT)

    def voice(self, voice: LibraryVoice, maker: Maker, mode: str = "auto") -> Voice:
        """The library's voice for the model. Raises: as `voice_for`."""
        key = (voice.id, prompts.made_of(voice.record), mode)
        found = self._kept.get(key) or voice_for(self.library, voice, maker, mode)
        self._kept.keep(key, found)
        return replace(found, label=voice.label)


def planned_voice(library: VoiceLibrary, voice: LibraryVoice, spec: EngineSpec) -> Voice:
    """What a plan needs of the voice where no model is loaded. Raises: UnsupportedError."""
    if not voice.record.clips and library.cached_prompt(voice, spec) is None:
        _check_has_clip(voice, spec)
    return stand_in(voice, spec)


def stand_in(voice: LibraryVoice, spec: EngineSpec) -> Voice:
    """A voice in the model's own form that holds nothing to speak with."""
    transcript = voice.record.clips[0].transcript if voice.record.clips else None
    prompt = VoicePrompt(spec.engine, spec.fingerprint, "auto", {}, transcript)
    return Voice(voice.label, prompt)


def _check_has_clip(voice: LibraryVoice, spec: EngineSpec) -> None:
    """Nothing. Raises: UnsupportedError: the voice came without a recording."""
    if not voice.record.clips:
        raise UnsupportedError(
            f"the voice {voice.label!r} has no recording, and other weights than those of "
            f"{spec.model!r} made what is kept of it: `menura voices fit {voice.id}` shows "
            "which model can use it.",
            param="voice",
        )
