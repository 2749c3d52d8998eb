"""What one Wyoming peer asks to be spoken, and the events that carry the audio back."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass, replace

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.event import Event, Eventable
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from menura.audio.pcm import FloatArray, S16Array, checked, to_s16
from menura.errors import InvalidValueError, NoAudioError, OverloadedError
from menura.server.border.request_log import RequestNotes
from menura.server.live.idle_limit import IdleLimit
from menura.server.live.live_notes import noted
from menura.server.live.live_speech import LiveSpeech
from menura.server.live.wyoming_voices import WyomingVoices
from menura.server.models.performance import Chunk, Performance
from menura.server.routes import ServerParts
from menura.server.speech import Asker, SpeakBody, check_length, order_for

# What one peer may have asked for and not heard yet.
_MAX_WAITING = 8
# A connection without work is kept for peers that come back to it.
_IDLE_S = 600.0
# Samples in one audio-chunk: satellites have small buffers.
_PIECE = 4096

_Send = Callable[[Eventable], Awaitable[None]]


class WyomingSpeeches:
    """The speeches of one connection, spoken one after the other."""

    def __init__(
        self,
        parts: ServerParts,
        voices: WyomingVoices,
        asker: Asker,
        send: _Send,
    ) -> None:
        self.idle = IdleLimit(_IDLE_S)
        self._parts = parts
        self._voices = voices
        self._asker = asker
        self._send = send
        self._n_spoken = 0
        self._n_under_way = 0
        self._is_draining = False
        self._stream: LiveSpeech | None = None
        self._waiting: asyncio.Queue[_Asked | None] = asyncio.Queue()

    async def take(self, event: Event) -> None:
        """Do what the event asks for; one that is not about speaking is dropped.

        Raises: InvalidValueError: something is wrong with it, or there is too much work.
        """
        if SynthesizeStart.is_type(event.type):
            self._start(event)
        elif SynthesizeChunk.is_type(event.type):
            await self._open_stream().say(_text_of(event))
        elif SynthesizeStop.is_type(event.type):
            stream, self._stream = self._open_stream(), None
            await stream.end()
        elif Synthesize.is_type(event.type):
            await self._synthesize(event)
        self._set_idle()

    def drain(self) -> None:
        """Take no more work; `speak_all` then ends when all is spoken."""
        self._is_draining = True
        self._waiting.put_nowait(None)

    async def speak_all(self) -> None:
        """Nothing, when no more work is taken and all is spoken. Raises: what went wrong in one."""
        while (asked := await self._waiting.get()) is not None:
            self._n_spoken += 1
            request_id = f"{self._asker.request_id}-{self._n_spoken}"
            asker = replace(self._asker, request_id=request_id)
            with noted(self._parts.metrics, request_id, "wyoming", "wyoming") as notes:
                await self._speak(asked, asker, notes)
            self._n_under_way -= 1
            self._set_idle()

    def _start(self, event: Event) -> None:
        if self._stream is not None:
            raise InvalidValueError("synthesize-start came twice without a synthesize-stop.")
        self._stream = LiveSpeech(self._parts.limits.stream_characters)
        self._put(_Asked(_voice_of(event), "", self._stream))

    async def _synthesize(self, event: Event) -> None:
        text = _text_of(event)
        if self._stream is None:
            check_length(text, self._parts.limits.max_characters, "text")
            self._put(_Asked(_voice_of(event), text))
        elif not self._stream.text:
            await self._stream.say(text)

    def _put(self, asked: "_Asked") -> None:
        """Put it behind what was asked for before."""
        if self._is_draining:
            raise OverloadedError("the server is stopping.", retry_after_s=5)
        if self._n_under_way >= _MAX_WAITING:
            raise InvalidValueError(f"more than {_MAX_WAITING} requests wait on this connection.")
        self._n_under_way += 1
        self._waiting.put_nowait(asked)

    def _open_stream(self) -> LiveSpeech:
        if self._stream is None:
            raise InvalidValueError("synthesize-start must come first.")
        return self._stream

    def _set_idle(self) -> None:
        """Let a peer that owes us words wait less long than one that does not; none that waits."""
        if self._stream is not None and self._stream.has_begun:
            self.idle.allow(self._parts.limits.stream_idle_s)
        else:
            self.idle.allow(None if self._n_under_way else _IDLE_S)

    async def _speak(self, asked: "_Asked", asker: Asker, notes: RequestNotes) -> None:
        chosen = self._voices.chosen(asked.voice)
        body = SpeakBody.model_validate(asdict(chosen))
        words = asked.stream is not None
        order, _ = await order_for(self._parts, body, asked.text, asker, words=words)
        notes.model = order.model
        try:
            async with await self._parts.pool.speak(order) as performance:
                if asked.stream is not None:
                    await asked.stream.begin(performance)
                    self._set_idle()
                await self._perform(performance, notes)
                if asked.stream is not None:
                    await self._send(SynthesizeStopped())
        finally:
            notes.characters = len(asked.text if asked.stream is None else asked.stream.text)

    async def _perform(self, performance: Performance, notes: RequestNotes) -> None:
        rate_hz, n_samples = performance.begun.sample_rate_hz, 0
        async for event in performance:
            if not isinstance(event, Chunk):
                continue
            if notes.first_audio_s is None:
                notes.first_audio_s = time.perf_counter() - notes.started
                await self._send(AudioStart(rate_hz, 2, 1, timestamp=0))
            for piece in _pieces(event.samples):
                at_ms = n_samples * 1000 // rate_hz
                await self._send(AudioChunk(rate_hz, 2, 1, piece.tobytes(), timestamp=at_ms))
                n_samples += len(piece)
                notes.bytes_out += piece.nbytes
                performance.reader_moved()
                self.idle.touch()
        if not n_samples:
            raise NoAudioError("the model gave no audio for this text.")
        assert performance.finish is not None
        notes.audio_s, notes.finish = n_samples / rate_hz, performance.finish
        await self._send(AudioStop(timestamp=n_samples * 1000 // rate_hz))


@dataclass(frozen=True)
class _Asked:
    """One speech that was asked for: its text, or the stream of its words."""

    voice: SynthesizeVoice | None
    text: str
    stream: LiveSpeech | None = None


def _pieces(samples: FloatArray) -> Iterator[S16Array]:
    """The samples [n] as 16-bit numbers, in pieces. Raises: NumericsError."""
    whole = to_s16(checked(samples))
    for start in range(0, len(whole), _PIECE):
        yield whole[start : start + _PIECE]


def _text_of(event: Event) -> str:
    text = event.data.get("text")
    if not isinstance(text, str):
        raise InvalidValueError(f"{event.type} needs a text.", param="text")
    _check_is_plain(event)
    return text


def _voice_of(event: Event) -> SynthesizeVoice | None:
    """The voice that the event names, None where it names none."""
    _check_is_plain(event)
    voice = event.data.get("voice")
    if voice is None:
        return None
    if not isinstance(voice, dict):
        raise InvalidValueError("voice must be an object with a name.", param="voice")
    for name, value in voice.items():
        if value is not None and not isinstance(value, str):
            raise InvalidValueError(f"{name} of a voice must be a text.", param="voice")
    return SynthesizeVoice.from_dict({n: v for n, v in voice.items() if v is not None})


def _check_is_plain(event: Event) -> None:
    if event.data.get("text_format") not in (None, "text"):
        raise InvalidValueError("only plain text can be spoken, no SSML.", param="text_format")
