"""A speech as an HTTP answer: from a performance's events to encoded bytes or server-sent events.

The answer begins with its first bytes of audio, so what fails before them is an error with its own
status. What fails later cuts the connection without a proper end: half an answer must not look
like a whole one. A client that hangs up ends the work at once, wherever it stands; encoder and
performance are released in every case, for both live inside one block.

A streamed answer: one encoder, its bytes sent as it gives them. `whole`: a file with true lengths
and a Content-Length. As events (each a `data:` line of JSON):

    menura.begun          before the audio, for `f32` alone: applied, sample_rate_hz
    speech.audio.delta    audio: the next bytes in base64
    speech.audio.done     usage, and what came of it: menura {finish, seed, applied, segments ...}
    error                 error: as in an error's answer; the connection is cut after it
"""

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from menura.errors import MenuraError, NoAudioError
from menura.saving import tags_of
from menura.server.border.problems import problem_of
from menura.server.border.request_log import RequestNotes
from menura.server.encoding import FLOATS, AudioWish, SpeechEncoder
from menura.server.field_names import OF_SPEECH, FieldNames, named_as
from menura.server.hang_up import HungUpError, while_connected
from menura.server.models.performance import Chunk, Order, Performance
from menura.server.outcome import in_a_header, outcome, usage, without_effect
from menura.server.routes import notes_of
from menura.speech import FinishReason

# What one event carries at most.
_DELTA_BYTES = 49_152


class Speaker(Protocol):
    """Who speaks orders: the server's pool of models."""

    async def speak(self, order: Order) -> Performance:
        """The order on its way. Raises: MenuraError: it cannot be spoken."""
        ...


@dataclass(frozen=True)
class Speaking:
    """What one answer is to be: the order, the bytes, and the fields that had no effect.

    `names` is what the client calls the fields.
    """

    order: Order
    audio: AudioWish
    as_events: bool = False
    ignored: tuple[str, ...] = ()
    mark: bool = True
    names: FieldNames = field(default_factory=lambda: OF_SPEECH)

    @property
    def n_characters(self) -> int:
        """The code points of the text and the instructions: what goes into the model."""
        return len(self.order.request.text) + len(self.order.request.instruct or "")


class SpeechAnswer(Response):
    """The answer to one order. Nothing is spoken before it is called with a connection."""

    def __init__(self, speaker: Speaker, speaking: Speaking) -> None:
        super().__init__(media_type=speaking.audio.media_type)
        self._speaker = speaker
        self._speaking = speaking

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Nothing, when the answer was sent or the client hung up.

        Raises: MenuraError: it failed. After its first bytes (`http.response.start` was sent) no
            status can say so: whoever called this must cut the connection.
        """
        notes = notes_of(HTTPConnection(scope))
        notes.characters = self._speaking.n_characters
        speaking = _as_known_by(scope["http_version"], self._speaking)
        outlet = _outlet(speaking, send, notes)
        try:
            async with while_connected(receive):
                await self._answer(speaking, outlet)
        except HungUpError:
            notes.finish = notes.finish or FinishReason.CANCELLED  # it may have had all of it
        except MenuraError:
            notes.finish = FinishReason.ERROR
            raise

    async def _answer(self, speaking: Speaking, outlet: "_Outlet") -> None:
        with named_as(speaking.names):
            performance = await self._speaker.speak(speaking.order)
        async with performance:
            begun = performance.begun
            tags = tags_of(begun.applied, mark=speaking.mark)
            encoder = SpeechEncoder(speaking.audio, begun.sample_rate_hz, tags)
            outlet.attach(performance, encoder)
            try:
                with named_as(speaking.names):
                    await _speak(performance, encoder, outlet)
            except MenuraError as error:
                await outlet.fail(error)
                raise
            finally:
                encoder.discard()


async def _speak(performance: Performance, encoder: SpeechEncoder, outlet: "_Outlet") -> None:
    """Nothing, when all of the performance went through the encoder into the outlet.

    Raises: NoAudioError: there was nothing to hear; MenuraError: it did not come to its end.
    """
    async for event in performance:
        if isinstance(event, Chunk):
            outlet.hear(len(event.samples))
            for piece in encoder.pieces(event.samples):
                await outlet.give(await encoder.write(piece))
    if performance.finish not in (FinishReason.STOP, FinishReason.LENGTH):
        raise MenuraError(f"the speech ended before its end: {performance.finish}.")
    if not outlet.n_samples:
        raise NoAudioError("the model gave no audio for this text.")
    await outlet.give(await encoder.close())
    await outlet.end()


def _as_known_by(http_version: str, speaking: Speaking) -> Speaking:
    """The same, as a whole file for HTTP/1.0, where only a length can show that audio is missing.

    Proxies ask so unless they are told otherwise. Events have an end of their own.
    """
    if http_version != "1.0" or speaking.as_events:
        return speaking
    return replace(speaking, audio=replace(speaking.audio, whole=True))


def _outlet(speaking: Speaking, send: Send, notes: RequestNotes) -> "_Outlet":
    kind = _EventOutlet if speaking.as_events else _Outlet
    return kind(speaking, send, notes)


class _Outlet:
    """Where the bytes leave: plain. The answer's head goes out with the first of them."""

    def __init__(self, speaking: Speaking, send: Send, notes: RequestNotes) -> None:
        self.has_begun = False
        self.n_samples = 0
        self._speaking = speaking
        self._send = send
        self._notes = notes
        self._performance: Performance | None = None
        self._since = 0.0
        self._rate_hz = 0

    def attach(self, performance: Performance, encoder: SpeechEncoder) -> None:
        """Note whose bytes will come."""
        self._performance = performance
        self._since = time.perf_counter()
        self._rate_hz = encoder.rate_hz
        self._notes.model = performance.begun.model

    def hear(self, n_samples: int) -> None:
        """Note that so many more samples of speech have come."""
        if not self.n_samples and n_samples:
            self._notes.first_audio_s = time.perf_counter() - self._notes.started
        self.n_samples += n_samples
        self._notes.audio_s = self.seconds
        self._notes.speaking_s = time.perf_counter() - self._since

    @property
    def seconds(self) -> float:
        """The audio so far, in seconds."""
        return self.n_samples / self.performance.begun.sample_rate_hz

    @property
    def performance(self) -> Performance:
        """What is spoken."""
        assert self._performance is not None, "nothing was spoken yet"
        return self._performance

    async def give(self, encoded: bytes) -> None:
        """Send the bytes, if there are any."""
        if not encoded:
            return
        if not self.has_begun:
            await self._begin({"content-length": str(len(encoded))} if self._is_file else {})
        await self._body(encoded)

    async def end(self) -> None:
        """End the answer as a complete one."""
        self._notes.finish = str(self.performance.finish)
        await self._message({"type": "http.response.body", "body": b"", "more_body": False})

    async def fail(self, error: MenuraError) -> None:
        """Say that it failed, if the answer has begun and there is a way to say it."""

    @property
    def _is_file(self) -> bool:
        return self._speaking.audio.whole

    @property
    def _media_type(self) -> str:
        return self._speaking.audio.media_type

    async def _begin(self, more: Mapping[str, str]) -> None:
        headers = {"content-type": self._media_type, **self._facts(), **more}
        if not self._is_file:
            headers["x-accel-buffering"] = "no"  # or nginx would collect a stream into a file
        raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
        # Set before the message goes: after an interrupted send nobody knows what the client has.
        self.has_begun = True
        await self._message({"type": "http.response.start", "status": 200, "headers": raw})

    async def _body(self, encoded: bytes) -> None:
        await self._message({"type": "http.response.body", "body": encoded, "more_body": True})

    async def _message(self, message: Message) -> None:
        """Send a message; a client that takes one now and then is slow, but it is there."""
        await self._send(message)
        self.performance.reader_moved()

    def _facts(self) -> dict[str, str]:
        """The headers that say what is really spoken, as far as it is known now."""
        begun = self.performance.begun
        facts = {
            "x-sample-rate": str(self._rate_hz),
            "x-seed": str(begun.seed),
            "x-model": in_a_header([begun.model]),
        }
        if begun.voice:
            facts["x-voice"] = in_a_header([begun.voice])
        if unheeded := without_effect(self.performance, self._speaking.ignored):
            facts["x-menura-ignored"] = in_a_header(unheeded)
        if self.performance.finish is not None and self._is_file:
            facts["x-finish"] = str(self.performance.finish)
        return facts


class _EventOutlet(_Outlet):
    """Where the bytes leave as server-sent events."""

    @property
    def _is_file(self) -> bool:
        return False

    @property
    def _media_type(self) -> str:
        return "text/event-stream"

    async def _begin(self, more: Mapping[str, str]) -> None:
        await super()._begin(more)
        if self._speaking.audio.format == FLOATS:
            begun = self.performance.begun
            event = {"type": "menura.begun", "applied": dict(begun.applied)}
            await self._event(event | {"sample_rate_hz": begun.sample_rate_hz})

    async def _body(self, encoded: bytes) -> None:
        for start in range(0, len(encoded), _DELTA_BYTES):
            audio = base64.b64encode(encoded[start : start + _DELTA_BYTES])
            # As _event would write it, without a copy of the audio as text.
            event = b'data: {"type": "speech.audio.delta", "audio": "' + audio + b'"}\n\n'
            await super()._body(event)

    async def end(self) -> None:
        """Tell the usage and what came of it, and end the answer."""
        used = usage(self._speaking.n_characters, self.seconds)
        came = outcome(
            self.performance,
            rate_hz=self._rate_hz,
            seconds=self.seconds,
            ignored=self._speaking.ignored,
        )
        await self._event({"type": "speech.audio.done", "usage": used, "menura": came})
        await super().end()

    async def fail(self, error: MenuraError) -> None:
        """Send the error as the last event, if the answer has begun."""
        if self.has_begun:
            problem = problem_of(error, self._speaking.order.request_id)
            await self._event({"type": "error", **problem.body.model_dump()})

    async def _event(self, event: Mapping[str, object]) -> None:
        await super()._body(f"data: {json.dumps(event)}\n\n".encode())
