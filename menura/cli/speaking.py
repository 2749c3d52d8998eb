"""The work of `menura say`: text in, audio out, chunk by chunk, so that a book needs no memory.

The audio is made by the user's own server where there is one that would make the same
(`through_server`), else in this process.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from types import TracebackType
from typing import Protocol, Self

from menura import api, saving, settings
from menura.api import TTS
from menura.cli import through_server
from menura.cli.audio_output import STDOUT, Sinks, chosen_target, opened
from menura.cli.pace import Pace
from menura.cli.progress import Progress
from menura.cli.quantities import duration
from menura.cli.reports import (
    Outcome,
    Speaker,
    Spoken,
    Timings,
    doubts_told,
    limits_of,
    warn,
    warn_of,
)
from menura.cli.request import check_reference, request_of
from menura.cli.say import SayFlags
from menura.cli.terminal import check_open, emit_json, is_terminal, note, shortened, visible
from menura.cli.text_input import read_text
from menura.cli.voice_choice import with_model
from menura.errors import InvalidValueError
from menura.server.state_file import Unusable
from menura.speech import AudioChunk, SpeechRequest, Voice
from menura.streams import SpeechStream

_TITLE_CHARACTERS = 80
_LOOKED_AT_CHARACTERS = 1_000  # of a line, which may be a whole book
_log = logging.getLogger(__name__)


class Stream(Outcome, Protocol):
    """The chunks of one speech as they are made, here or elsewhere."""

    @property
    def done(self) -> float:
        """The share that is done, from 0 to 1."""
        ...

    @property
    def sampled_s(self) -> float:
        """About how much audio is made, in seconds."""
        ...

    def moves(self) -> Iterator[AudioChunk | None]:
        """The chunks, and None where there is only progress to look at."""
        ...

    def __enter__(self) -> Self:
        """The stream itself."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Nothing; the work is stopped, if it has not ended."""
        ...


@dataclass(frozen=True)
class _Source:
    """A stream that can be read, its rate, who makes it, and the moment from which on it is made.

    A server's begins with its first audio, so its moment is that of the question.
    """

    stream: Stream
    sample_rate_hz: int
    speaker: Speaker
    made_from: float


def speak(flags: SayFlags) -> None:
    """Nothing; the text is spoken and the answer printed.

    Raises: MenuraError: as `api.load` and `TTS.stream`; no file stands under the final name then.
    """
    began = perf_counter()
    _check(flags)
    text = read_text(flags.text, flags.file)
    target = chosen_target(flags)
    if target.misnamed:
        warn(target.misnamed)
    source = _source(with_model(flags), text)
    loaded = source.made_from
    with source.stream as stream:
        told = warn_of(stream.applied)
        tags = saving.tags_of(stream.applied, mark=_marks(flags), title=title_of(text))
        with opened(target, source.sample_rate_hz, tags) as sinks:
            n_samples, first = _drain(stream, sinks, flags)
    ended = perf_counter()
    warn_of(stream.applied, told)
    for line in limits_of(stream.segments):
        warn(line)
    seconds = n_samples / source.sample_rate_hz
    timings = Timings(
        load_s=loaded - began,
        first_audio_s=first - began,
        total_s=ended - began,
        rtf=(ended - loaded) / seconds if seconds else 0.0,
    )
    path, rate_hz = sinks.path, source.sample_rate_hz
    spoken = Spoken(path, seconds, rate_hz, stream, timings, source.speaker)
    if flags.json:
        emit_json(spoken.as_json())
    elif not flags.quiet:
        note(spoken.line())


def _source(flags: SayFlags, text: str) -> _Source:
    """The server's stream, or that of this process where no server makes it."""
    request = request_of(flags, text)
    asked = perf_counter()
    remote = through_server.opened(flags, request)
    if not isinstance(remote, Unusable):
        stream, address = remote
        speaker = Speaker(f"the server at {address}")
        return _Source(stream, stream.sample_rate_hz, speaker, asked)
    if remote.reason:
        _log.debug("no server is used: %s", remote.reason)
    tts = api.load(
        flags.model, device=flags.device, precision=flags.precision, threads=flags.threads
    )
    with doubts_told():
        request = replace(request, voice=_reference_voice(flags, tts) or request.voice)
        spoken = _stream(tts, request)
    speaker = Speaker(server_not_used=remote.reason)
    return _Source(spoken, tts.spec.sample_rate_hz, speaker, perf_counter())


def _check(flags: SayFlags) -> None:
    check_reference(flags)
    if flags.json:
        check_open("stdout")
    if flags.json and flags.output == STDOUT:
        raise InvalidValueError(
            "--json and -o - both need stdout: write the audio to a file.", param="--json"
        )


def _stream(tts: TTS, request: SpeechRequest) -> SpeechStream:
    return tts.stream(
        request.text,
        voice=request.voice,
        language=request.language,
        instruct=request.instruct,
        seed=request.seed,
        speed=request.speed,
        split=request.split,
        strict=request.strict,
        **request.options,
    )


def title_of(text: str) -> str:
    """The title of a file that speaks the text: its first line with words, cut if it is long."""
    lines = (visible(line[:_LOOKED_AT_CHARACTERS]) for line in text.splitlines())
    return shortened(next(filter(None, lines), ""), _TITLE_CHARACTERS)


def _reference_voice(flags: SayFlags, tts: TTS) -> Voice | None:
    """The voice of --ref, None where it was not given."""
    if flags.ref is None:
        return None
    return tts.voice(flags.ref, transcript=flags.ref_text)


def _marks(flags: SayFlags) -> bool:
    return settings.load({"mark": False if flags.no_mark else None}).mark


def _drain(stream: Stream, sinks: Sinks, flags: SayFlags) -> tuple[int, float]:
    """The number of samples that came, and the moment of the first, after all were written."""
    n_samples, first, made = 0, 0.0, ""
    shown = is_terminal("stderr") and not (flags.quiet or flags.json)
    pace = Pace()
    with Progress("speaking", shown=shown) as progress:
        for chunk in stream.moves():
            if chunk is not None:
                first = first or perf_counter()
                sinks.write(chunk.samples)
                n_samples += len(chunk.samples)
                if n_samples:
                    made = f"{duration(n_samples / chunk.sample_rate_hz)} of audio"
            slowness = pace.slowness(stream.done, stream.sampled_s)
            if slowness and not flags.quiet:
                warn(slowness)
            progress.update(stream.done, 1.0, made)
    return n_samples, first
