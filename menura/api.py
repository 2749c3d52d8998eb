"""The one door to Menura: load a model, then speak, stream, or make a voice."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType

from menura import model_choice, saving, settings, voice_files
from menura.engines.contract import (
    Capability,
    Delivery,
    Engine,
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
from menura.voice_library.labels import LIBRARY_PREFIX
from menura.voice_library.library import VoiceLibrary
from menura.voice_library.ready import ReadyVoices, planned_voice
from menura.voice_library.requests import resolved


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
    model = chosen.default_model if name_or_folder is None else name_or_folder
    engine_class, found = model_choice.found(model)
    arguments = LoadArguments(
        device=chosen.device,
        precision=chosen.precision,
        threads=chosen.threads,
        extra={**found.arguments, **engine_arguments},
    )
    engine, unheeded = model_choice.loaded(engine_class, found.folder, arguments, chosen)
    return TTS(engine, chosen, unheeded)


def describe(name_or_folder: str | os.PathLike[str] | None = None) -> EngineSpec:
    """What a model is and can do, without loading its weights. Raises: as `load`."""
    chosen = settings.load().default_model if name_or_folder is None else name_or_folder
    engine_class, found = model_choice.found(chosen)
    return engine_class.describe(found.folder, found.arguments)


def preview(
    request: SpeechRequest,
    spec: EngineSpec,
    chosen: settings.Settings | None = None,
    *,
    words: bool = False,
    library: VoiceLibrary | None = None,
) -> SpeechPlan:
    """How a request would be spoken by the model that `describe` gave. Raises: as `TTS.speak`.

    A voice of the library is not made for it: the plan shows it, and cannot be spoken.
    """
    chosen = chosen or settings.load()
    library = library or VoiceLibrary()
    request = _with_default_voice(request, spec, chosen, library)
    made = partial(planned_voice, library, spec=spec)
    found = resolved(request, spec, library, made)
    return found.told(plan(found.request, spec, pauses_of(chosen), words=words))


def _with_default_voice(
    request: SpeechRequest, spec: EngineSpec, chosen: settings.Settings, library: VoiceLibrary
) -> SpeechRequest:
    """The request with the settings' default voice, where it is this model's."""
    if not isinstance(request, SpeechRequest):
        raise InvalidValueError(f"a request must be a SpeechRequest, not {request!r:.60}.")
    if request.voice is not None or not chosen.default_voice or spec.model != chosen.default_model:
        return request
    presets = {preset.name.casefold() for preset in spec.voices}
    if chosen.default_voice.casefold() not in presets and not library.has(chosen.default_voice):
        raise SettingsError(
            f"{chosen.sources['default_voice']}: default_voice {chosen.default_voice!r} is not one "
            f"of {spec.model!r}: {spec.voice_choices()}; nor is it in the voice library.",
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
        self._ready = ReadyVoices(VoiceLibrary())

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

        `lib:NAME` is a voice of the library, which has its own transcript and consent. `consent` is
        kept with the voice: what the speaker agreed to, in words.

        Raises: UnsupportedError: the model cannot clone; UnreadableAudioError; AudioTooLargeError;
            VoiceNotFoundError; InvalidValueError: samples without `rate_hz`.
        """
        if isinstance(clip, str) and clip.startswith(LIBRARY_PREFIX):
            return self._ready.voice(self._ready.library.find(clip), self, mode)
        if not self.spec.clones:
            raise UnsupportedError(
                f"{self.spec.model!r} cannot speak like a recording." + who_can(Capability.CLONE),
                param="voice",
                needs=Capability.CLONE,
            )
        recording = reference(clip, transcript, rate_hz)
        label = Path(clip).stem if isinstance(clip, (str, os.PathLike)) else "clip"
        origin = voice_files.origin_of(recording.samples, consent)
        with self.loop.lock:
            prompt = self.engine.encode_voice(recording, mode)
        return Voice(label, prompt, origin, writer=voice_files.save)

    def plan(self, request: SpeechRequest, *, words: bool = False) -> SpeechPlan:
        """How a request would be spoken, without speaking it. Raises: as `speak`.

        With `words`, its text comes later, in pieces. A voice of the library is made ready for it.
        """
        library = self._ready.library
        request = _with_default_voice(request, self.spec, self.settings, library)
        made = partial(self._ready.voice, maker=self)
        found = resolved(request, self.spec, library, made)
        planned = plan(found.request, self.spec, pauses_of(self.settings), words=words)
        return found.told(planned)

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
