"""The user's words as frozen data, and what comes back: requests, references, voices, audio.

Shapes: n samples of one channel, T model frames, Q codebooks, C latent channels.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from menura import languages
from menura.errors import (
    InvalidValueError,
    MenuraError,
    ModelNotFoundError,
    UnsupportedError,
    did_you_mean,
)

if TYPE_CHECKING:
    from menura.engines.contract import EngineSpec, VoicePrompt
    from menura.options import Options

FloatArray = NDArray[np.float32]
Frames = NDArray[np.int64] | NDArray[np.float32]

SLOWEST, FASTEST = 0.25, 4.0
MAX_SEED = 2**63 - 1


class FinishReason(StrEnum):
    """Why a segment ended: by itself, at a limit, closed by the caller, or by an error."""

    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"
    ERROR = "error"


@dataclass(frozen=True, eq=False)
class Reference:
    """A recording to speak like: samples [n] at their rate, with what is said in it if known."""

    samples: FloatArray
    sample_rate_hz: int
    transcript: str | None = None


@dataclass(frozen=True)
class Origin:
    """Where a voice comes from; each part is empty where it is not known.

    `clip_sha256`: of the clip's samples. `consent`: what its speaker agreed to. `made_on`: the day.
    """

    clip_sha256: str = ""
    consent: str = ""
    made_on: str = ""


@dataclass(frozen=True, eq=False)
class Voice:
    """A voice made from a recording: a label for people, and what one engine made of the clip."""

    label: str
    prompt: "VoicePrompt"
    origin: Origin = Origin()
    writer: "Callable[[Voice, Path], None] | None" = field(default=None, repr=False)

    @property
    def codes(self) -> NDArray[np.int64] | None:
        """The reference's codes [T, Q], or None where the voice has none."""
        codes = self.prompt.arrays.get("codes")
        return None if codes is None else codes.astype(np.int64, copy=False)

    @property
    def embedding(self) -> FloatArray | None:
        """The speaker embedding [D], or None where the voice has none."""
        embedding = self.prompt.arrays.get("embedding")
        return None if embedding is None else embedding.astype(np.float32, copy=False)

    def save(self, path: str | Path) -> Path:
        """The path, after the voice was written there; `menura.load_voice` reads it.

        Raises: InvalidValueError: the path does not end in .safetensors; OutputError.
        """
        if self.writer is None:
            raise MenuraError("this Voice was not made by a TTS: save it with menura.voices.save.")
        self.writer(self, Path(path))
        return Path(path)


@dataclass(frozen=True)
class SpeechRequest:
    """One text to be spoken, as the user asked for it. `options` are the engine's own."""

    text: str
    voice: str | Voice | None = None
    language: str | None = None
    instruct: str | None = None
    seed: int | None = None
    speed: float = 1.0
    split: bool = True
    strict: bool = True
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Spoken:
    """The segment before: its text, and the frames [T, Q] or [T, C] that it was spoken with."""

    text: str
    frames: Frames


@dataclass(frozen=True)
class Manner:
    """How a text is to be spoken, checked against a model: all that a prompt needs but the text.

    `voice` is a preset's name, an encoded reference, or None for a model that speaks without one.
    `speed` is the part of the user's speed that the model does itself. `ignored` holds what the
    model cannot do and the user allowed to be left out. `before` is given where a segment is to go
    on from the one before it.
    """

    voice: "str | VoicePrompt | None"
    voice_label: str | None
    language: str | None
    instruct: str | None
    speed: float
    options: "Options"
    ignored: Mapping[str, str]
    before: Spoken | None = None


@dataclass(frozen=True, eq=False)
class AudioChunk:
    """A piece of audio as it is made: samples [n]; `is_final` marks the last of its segment."""

    samples: FloatArray
    sample_rate_hz: int
    segment: int
    is_final: bool


@dataclass(frozen=True)
class SegmentReport:
    """One segment of a speech: its place in the text (code points) and in the samples.

    `reason` says in words why it ended at a limit, where the model knows. `trimmed_s` is what was
    left out after the end of the speech.
    """

    text: str
    start: int
    end: int
    sample_start: int
    sample_end: int
    seed: int
    finish: FinishReason
    reason: str = ""
    trimmed_s: float = 0.0


@dataclass(frozen=True, eq=False)
class Speech:
    """A finished speech: samples [n], the model's own frames, and how each part came about.

    `frames` are codes int64 [T, Q] or latents float32 [T, C]; None where the model has none.
    `applied` says what was really used. `error` is set where a part failed (`speak_many` only).
    """

    samples: FloatArray
    sample_rate_hz: int
    frames: Frames | None
    segments: tuple[SegmentReport, ...]
    finish: FinishReason
    applied: dict[str, object]
    error: MenuraError | None = None
    writer: "Callable[[Speech, Path], None] | None" = field(default=None, repr=False, compare=False)

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return len(self.samples) / self.sample_rate_hz

    def save(self, path: str | Path) -> Path:
        """The path, after the audio was written there in the format of its ending.

        Raises: InvalidValueError: the ending names no format; OutputError: it cannot be written.
        """
        if self.writer is None:
            raise MenuraError(
                "this Speech was not made by a TTS, so it has no encoder to save with."
            )
        self.writer(self, Path(path))
        return Path(path)


def validate(request: SpeechRequest, spec: "EngineSpec") -> Manner:
    """The request's manner, checked against what the model can do.

    Raises: InvalidValueError: a value is wrong for any model, or a name is unknown;
        UnsupportedError: this model cannot do it (with `strict=False` such a field is left out
        and listed in `ignored`).
    """
    if not isinstance(request.text, str):
        raise InvalidValueError(
            f"text must be a str, not {type(request.text).__name__}.", param="text"
        )
    for param in ("language", "instruct"):
        if not isinstance(getattr(request, param), (str, NoneType)):
            kind = type(getattr(request, param)).__name__
            raise InvalidValueError(f"{param} must be a str, not {kind}.", param=param)
    check_seed(request.seed)
    ignored: dict[str, str] = {}
    voice, label = _voice(request.voice, spec)
    return Manner(
        voice=voice,
        voice_label=label,
        language=_language(request, spec, ignored),
        instruct=_instruct(request, spec, ignored),
        speed=_native_speed(request.speed, spec),
        options=spec.options.parse(_known_options(request, spec, ignored)),
        ignored=ignored,
    )


def check_seed(seed: object) -> None:
    """Nothing, or InvalidValueError where the seed is not None or from 0 to 2^63 - 1."""
    if seed is None:
        return
    number = int(seed) if isinstance(seed, (int, np.integer)) else -1
    if isinstance(seed, bool) or not 0 <= number <= MAX_SEED:
        raise InvalidValueError(
            f"seed={seed!r} is not allowed: it must be a whole number from 0 to 2^63 - 1.",
            param="seed",
        )


def _native_speed(speed: object, spec: "EngineSpec") -> float:
    number = float(speed) if isinstance(speed, (int, float, np.integer, np.floating)) else math.nan
    if isinstance(speed, bool) or not SLOWEST <= number <= FASTEST:
        raise InvalidValueError(
            f"speed={speed!r} is not allowed: it must be a number from {SLOWEST} to {FASTEST}.",
            param="speed",
        )
    slowest, fastest = spec.native_speed
    return min(max(number, slowest), fastest)


def _voice(
    voice: str | Voice | None, spec: "EngineSpec"
) -> "tuple[str | VoicePrompt | None, str | None]":
    if isinstance(voice, Voice):
        if voice.prompt.engine != spec.engine:
            raise UnsupportedError(
                f"the voice {voice.label!r} was made by the engine {voice.prompt.engine!r} and "
                f"{spec.model!r} runs on {spec.engine!r}: make it again with tts.voice(clip).",
                param="voice",
            )
        if not spec.clones:
            raise UnsupportedError(
                f"{spec.model!r} cannot speak like a recording; its own voices are: "
                f"{spec.voice_choices()}.",
                param="voice",
                needs="clone",
            )
        if spec.fingerprint and voice.prompt.fingerprint != spec.fingerprint:
            raise UnsupportedError(
                f"the voice {voice.label!r} was made with other weights than {spec.model!r} has: "
                "make it again with tts.voice(clip).",
                param="voice",
            )
        return voice.prompt, voice.label
    if voice == "" and spec.speaks_without_voice:
        return None, None
    if voice is None:
        if spec.default_voice is None and not spec.speaks_without_voice:
            raise InvalidValueError(
                f"{spec.model!r} needs a voice: {spec.voice_choices()}.", param="voice"
            )
        return spec.default_voice, spec.default_voice
    names = {preset.name.casefold(): preset.name for preset in spec.voices}
    if not isinstance(voice, str) or voice.casefold() not in names:
        raise InvalidValueError(
            f"voice {voice!r} is not one of this model's: {spec.voice_choices()}."
            + did_you_mean(str(voice), names.values()),
            param="voice",
        )
    name = names[voice.casefold()]
    missing = next(preset.missing for preset in spec.voices if preset.name == name)
    if missing:
        raise ModelNotFoundError(
            f"the voice {name!r} is not on this machine; {missing}", param="voice"
        )
    return name, name


def _language(request: SpeechRequest, spec: "EngineSpec", ignored: dict[str, str]) -> str | None:
    if request.language is None or request.language.casefold() == "auto":
        return None
    given = request.language.casefold()
    name = given if given in spec.languages else languages.name_of(given)
    if name in spec.languages:
        return name
    allowed = ", ".join(spec.languages)
    message = f"language {request.language!r} is not one of this model's: {allowed}."
    if name not in languages.LANGUAGES.values():
        raise InvalidValueError(message + did_you_mean(given, spec.languages), param="language")
    _leave_out("language", message, name, request, ignored)
    return None


def _instruct(request: SpeechRequest, spec: "EngineSpec", ignored: dict[str, str]) -> str | None:
    if not request.instruct or spec.takes_instructions:
        return request.instruct
    message = f"{spec.model!r} takes no instructions (instruct), so it cannot follow this one."
    _leave_out("instruct", message, "instruct", request, ignored)
    return None


def _known_options(
    request: SpeechRequest, spec: "EngineSpec", ignored: dict[str, str]
) -> Mapping[str, object]:
    if request.strict:
        return request.options
    known = {facts.name for facts in spec.options.facts()}
    ignored.update(
        {n: f"{n!r} is not an option of this model" for n in request.options.keys() - known}
    )
    return {name: value for name, value in request.options.items() if name in known}


def _leave_out(
    param: str, message: str, needs: str, request: SpeechRequest, ignored: dict[str, str]
) -> None:
    if request.strict:
        raise UnsupportedError(message, param=param, needs=needs)
    ignored[param] = message
