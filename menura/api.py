"""The one door to Menura: load a model, then speak, stream, or make a voice."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from menura import catalogue, models, saving, settings, voices
from menura.engines import registry
from menura.engines.contract import (
    Capability,
    Delivery,
    Engine,
    EngineClass,
    EngineSpec,
    LoadArguments,
    PresetVoice,
)
from menura.errors import InvalidValueError, SettingsError, UnsupportedError
from menura.model_loop import ModelLoop
from menura.planning import SpeechPlan, plan, who_can
from menura.references import Clip, reference
from menura.runtime.scheduler import Jobs
from menura.speech import Speech, SpeechRequest, Voice
from menura.streams import SpeechStream, check_is_words, checked_words, first_frame_on
from menura.takes import Take
from menura.text.plan import Pauses


def load(
    name_or_folder: str | os.PathLike[str] | None = None,
    *,
    device: str | None = None,
    precision: str | None = None,
    threads: int | None = None,
    **engine_arguments: object,
) -> "TTS":
    """The loaded model: the built-in voice, or the one of this name, hub id or folder.

    Arguments that are None come from the settings, whose own defaults are `auto`. Nothing is
    downloaded.

    Raises: ModelNotFoundError: it is not on this machine (the message names the command that
        brings it); EngineNotInstalledError; ModelFilesError; InvalidValueError; SettingsError.
    """
    flags = {"device": device, "precision": precision, "threads": threads}
    chosen = settings.load(flags)
    engine_class, found = _find(chosen.default_model if name_or_folder is None else name_or_folder)
    arguments = LoadArguments(
        device=chosen.device,
        precision=chosen.precision,
        threads=chosen.threads,
        extra={**found.arguments, **engine_arguments},
    )
    engine, unheeded = _loaded(engine_class, found.folder, arguments, chosen)
    return TTS(engine, chosen, unheeded)


def _loaded(
    engine_class: EngineClass,
    folder: Path | None,
    arguments: LoadArguments,
    chosen: settings.Settings,
) -> tuple[Engine, dict[str, str]]:
    """The engine, and the settings that it cannot heed: a wish for the models that can.

    What was asked for this very model is strict. Raises: UnsupportedError.
    """
    unheeded: dict[str, str] = {}
    while True:
        try:
            return engine_class.load(folder, arguments), unheeded
        except UnsupportedError as error:
            param = error.param or ""
            asked = chosen.sources.get(param, "flag") == "flag"
            if asked or param in unheeded or param not in ("device", "precision"):
                raise
            unheeded[param] = error.message
            device = "auto" if param == "device" else arguments.device
            precision = "auto" if param == "precision" else arguments.precision
            arguments = replace(arguments, device=device, precision=precision)


def describe(name_or_folder: str | os.PathLike[str] | None = None) -> EngineSpec:
    """What a model is and can do, without loading its weights. Raises: as `load`."""
    chosen = settings.load().default_model if name_or_folder is None else name_or_folder
    engine_class, found = _find(chosen)
    return engine_class.describe(found.folder, found.arguments)


def _find(name_or_folder: str | os.PathLike[str]) -> tuple[EngineClass, models.ResolvedModel]:
    """The model on this machine and the class that loads it; the engine is asked for first."""
    if not isinstance(name_or_folder, (str, os.PathLike)) or not os.fspath(name_or_folder):
        raise InvalidValueError(
            f"the model must be a name or a folder, not {name_or_folder!r}; leave it out for the "
            "default model.",
            param="model",
        )
    known = catalogue.lookup(os.fspath(name_or_folder))
    if known is not None:
        registry.engine_class(known.engine)  # nobody should pull gigabytes to learn that it lacks
    found = models.resolve(name_or_folder)
    if found.known is not None or found.folder is None:
        name = found.known.engine if found.known is not None else found.name
    else:
        name = registry.recognise(found.folder)
    return registry.engine_class(name), found


def preview(
    request: SpeechRequest,
    spec: EngineSpec,
    chosen: settings.Settings | None = None,
    *,
    words: bool = False,
) -> SpeechPlan:
    """How a request would be spoken by the model that `describe` gave. Raises: as `TTS.speak`."""
    chosen = chosen or settings.load()
    request = _with_default_voice(request, spec, chosen)
    return plan(request, spec, pauses_of(chosen), words=words)


def _with_default_voice(
    request: SpeechRequest, spec: EngineSpec, chosen: settings.Settings
) -> SpeechRequest:
    """The request with the settings' default voice, where it is this model's."""
    if not isinstance(request, SpeechRequest):
        raise InvalidValueError(f"a request must be a SpeechRequest, not {request!r:.60}.")
    if request.voice is not None or not chosen.default_voice or spec.model != chosen.default_model:
        return request
    if chosen.default_voice.casefold() not in {preset.name.casefold() for preset in spec.voices}:
        raise SettingsError(
            f"{chosen.sources['default_voice']}: default_voice {chosen.default_voice!r} is not one "
            f"of {spec.model!r}: {spec.voice_choices()}.",
            param="default_voice",
        )
    return replace(request, voice=chosen.default_voice)


class TTS:
    """A loaded model. Several threads may use it; they take turns, step by step.

    `loop` is for the desk, which speaks for many at once.
    """

    def __init__(
        self,
        engine: Engine,
        chosen: settings.Settings,
        unheeded: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.engine = engine
        self.settings = chosen
        self.loop = ModelLoop(engine, unheeded)

    @property
    def spec(self) -> EngineSpec:
        """What the model is and can do."""
        return self.engine.spec

    def voices(self) -> tuple[PresetVoice, ...]:
        """The model's preset voices with their languages."""
        return self.spec.voices

    def voice(
        self,
        clip: Clip,
        *,
        transcript: str | None = None,
        mode: str = "auto",
        rate_hz: int | None = None,
        consent: str = "",
    ) -> Voice:
        """A voice that speaks like the clip: a file, its bytes, a Reference, or samples [n].

        `consent` is kept with the voice: what the speaker agreed to, in words.

        Raises: UnsupportedError: the model cannot clone; UnreadableAudioError; AudioTooLargeError;
            InvalidValueError: samples without `rate_hz`.
        """
        if not self.spec.clones:
            raise UnsupportedError(
                f"{self.spec.model!r} cannot speak like a recording." + who_can(Capability.CLONE),
                param="voice",
                needs=Capability.CLONE,
            )
        recording = reference(clip, transcript, rate_hz)
        label = Path(clip).stem if isinstance(clip, (str, os.PathLike)) else "clip"
        origin = voices.origin_of(recording.samples, consent)
        with self.loop.lock:
            prompt = self.engine.encode_voice(recording, mode)
        return Voice(label, prompt, origin, writer=voices.save)

    def plan(self, request: SpeechRequest, *, words: bool = False) -> SpeechPlan:
        """How a request would be spoken, without speaking it. Raises: as `speak`.

        With `words`, its text comes later, in pieces.
        """
        return preview(request, self.spec, self.settings, words=words)

    def speak(  # noqa: PLR0913 - the public keywords
        self,
        text: str,
        *,
        voice: str | Voice | None = None,
        language: str | None = None,
        instruct: str | None = None,
        seed: int | None = None,
        speed: float = 1.0,
        split: bool = True,
        strict: bool = True,
        **options: object,
    ) -> Speech:
        """The whole speech. `options` are the engine's own (`tts.spec.options.facts()`).

        Raises: NothingToSpeakError; InvalidValueError; UnsupportedError; NumericsError.
        """
        request = SpeechRequest(
            text, voice, language, instruct, seed, speed, split, strict, options
        )
        [speech] = self.speak_many([request])
        if speech.error is not None:
            raise speech.error
        return speech

    def stream(  # noqa: PLR0913 - the public keywords
        self,
        text: str | Iterable[str],
        *,
        voice: str | Voice | None = None,
        language: str | None = None,
        instruct: str | None = None,
        seed: int | None = None,
        speed: float = 1.0,
        split: bool = True,
        strict: bool = True,
        **options: object,
    ) -> SpeechStream:
        """The speech's chunks as they are made; the same samples as `speak`.

        A text that comes in pieces, such as a language model's words, is spoken while it comes by
        the models that can. Closing the stream stops the work at once.

        Raises: as `speak`; what fails later is raised from the stream.
        """
        whole = text if isinstance(text, str) else ""
        request = SpeechRequest(
            whole, voice, language, instruct, seed, speed, split, strict, options
        )
        if isinstance(text, str):
            return self._stream(self.plan(request), None)
        check_is_words(text)
        if not self.spec.streams_text:
            raise UnsupportedError(
                f"{self.spec.model!r} needs the whole text before it speaks: join the pieces first."
                + who_can(Capability.STREAM_TEXT),
                param="text",
                needs=Capability.STREAM_TEXT,
            )
        return self._stream(self.plan(request, words=True), checked_words(text, self.spec))

    def speak_many(self, requests: Sequence[SpeechRequest]) -> list[Speech]:
        """A speech for each request, in their order; they run together as rows of one decoder.

        Every request is checked before the first is spoken. One that fails while it is spoken has
        `error` set; the others are not touched by it.

        Raises: as `speak`, for what is wrong with a request before it is spoken.
        """
        plans = [self.plan(request) for request in requests]
        takes = [Take(planned, self.spec, keep=True) for planned in plans]
        jobs = Jobs(ahead=self.spec.segments_ahead)
        for planned, take in zip(plans, takes, strict=True):
            segments = self.loop.jobs_of(planned, take, Delivery())
            jobs.submit(segments, in_turn=planned.goes_on)
        for delivered in self.loop.run(jobs, sum(len(planned.segments) for planned in plans)):
            takes[delivered.request].add(delivered)
        writer = partial(saving.save, mark=self.settings.mark)
        return [take.speech(writer) for take in takes]

    def _stream(self, planned: SpeechPlan, words: Iterator[str] | None) -> SpeechStream:
        take = Take(planned, self.spec, keep=False)
        segments = self.loop.jobs_of(planned, take, first_frame_on(planned))
        jobs = Jobs(ahead=self.spec.segments_ahead)
        heard = None if words is None else take.hear(words)
        jobs.submit(segments, heard, in_turn=planned.goes_on)
        # One row: segments that run beside the one that is heard would make it late.
        return SpeechStream(take, self.loop.run(jobs, 1))


def pauses_of(chosen: settings.Settings) -> Pauses:
    """The pauses between segments, from the settings."""
    return Pauses(chosen.clause_pause_s, chosen.sentence_pause_s, chosen.paragraph_pause_s)
