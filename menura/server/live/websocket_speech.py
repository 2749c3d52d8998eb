"""One speech of a /v1/stream connection: from its performance's events to the messages."""

import time
from collections.abc import Mapping

from starlette.websockets import WebSocket

from menura.errors import NoAudioError, NothingToSpeakError
from menura.saving import tags_of
from menura.server.border.request_log import RequestNotes
from menura.server.encoding import SpeechEncoder
from menura.server.field_names import OF_STREAM, named_as
from menura.server.live.idle_limit import IdleLimit
from menura.server.live.live_speech import LiveSpeech
from menura.server.models.performance import Chunk, Performance
from menura.server.outcome import outcome, usage, without_effect
from menura.server.routes import ServerParts
from menura.server.speech import Asker, SpeakBody, order_for
from menura.speech import FinishReason, SegmentReport


class StreamedSpeech:
    """A speech on its way to a client; `live` takes its words.

    `ignored` are the fields of its start that had no effect, as far as they are known.
    """

    def __init__(
        self,
        live: LiveSpeech,
        body: SpeakBody,
        ignored: tuple[str, ...],
        socket: WebSocket,
        idle: IdleLimit,
    ) -> None:
        self.live = live
        self._body = body
        self._audio = body.wish
        self._ignored = ignored
        self._socket = socket
        self._idle = idle
        self._performance: Performance | None = None
        self._n_samples = 0

    async def speak(self, parts: ServerParts, asker: Asker, notes: RequestNotes) -> None:
        """Nothing, when all of it was sent; the notes then know of it. Raises: what went wrong."""
        with named_as(OF_STREAM):
            order, ignored = await order_for(parts, self._body, "", asker, words=True)
        self._ignored += ignored
        notes.model = order.model
        try:
            with named_as(OF_STREAM):
                async with await parts.pool.speak(order) as performance:
                    await self._perform(performance, asker, parts, notes)
        finally:
            notes.characters, notes.audio_s = self._n_characters, self._seconds

    async def _perform(
        self, performance: Performance, asker: Asker, parts: ServerParts, notes: RequestNotes
    ) -> None:
        begun = performance.begun
        tags = tags_of(begun.applied, mark=parts.mark)
        encoder = SpeechEncoder(self._audio, begun.sample_rate_hz, tags)
        try:
            await self._tell_started(performance, asker.request_id)
            await self.live.begin(performance)
            if not self.live.has_ended:
                self._idle.allow(parts.limits.stream_idle_s)
            await self._send_audio(performance, encoder, notes)
        except NothingToSpeakError:  # no fault, where words come from a model: others may follow
            finish = FinishReason.STOP
            self.live.cover(len(self.live.text))
            await self.tell_flushed()
        else:
            assert performance.finish is not None
            finish = performance.finish
        finally:
            encoder.discard()
        notes.finish = finish
        await self.tell_done(finish)

    async def tell_flushed(self) -> None:
        """Tell the client which of its flushes are done; nothing before the speech has started."""
        if self._performance is not None:
            for place in self.live.flushed():
                await self._send({"type": "flushed", "end": place})

    async def tell_done(self, finish: FinishReason) -> None:
        """Tell the client that nothing more comes."""
        event: dict[str, object] = {"type": "done", "finish": finish}
        event["usage"] = usage(self._n_characters, self._seconds)
        if self._performance is not None:
            rate_hz = self._audio.rate_for(self._performance.begun.sample_rate_hz)
            event["menura"] = outcome(
                self._performance, rate_hz=rate_hz, seconds=self._seconds, ignored=self._ignored
            ) | {"finish": finish}
        await self._send(event)

    @property
    def _n_characters(self) -> int:
        return len(self.live.text) + len(self._body.instructions or "")

    @property
    def _seconds(self) -> float:
        """The audio that was sent, in seconds."""
        if self._performance is None:
            return 0.0
        return self._n_samples / self._performance.begun.sample_rate_hz

    async def _send_audio(
        self, performance: Performance, encoder: SpeechEncoder, notes: RequestNotes
    ) -> None:
        async for event in performance:
            if isinstance(event, Chunk):
                for piece in encoder.pieces(event.samples):
                    await self._send_bytes(await encoder.write(piece))
                self._n_samples += len(event.samples)
                if notes.first_audio_s is None:
                    notes.first_audio_s = time.perf_counter() - notes.started
            else:
                await self._tell_segment(event.report, performance.begun.sample_rate_hz)
                self.live.cover(event.report.end)
                await self.tell_flushed()
            performance.reader_moved()
            self._idle.touch()
        if not self._n_samples:
            raise NoAudioError("the model gave no audio for this text.")
        await self._send_bytes(await encoder.close())
        self.live.cover(len(self.live.text))
        await self.tell_flushed()

    async def _tell_started(self, performance: Performance, request_id: str) -> None:
        begun = performance.begun
        await self._send({
            "type": "started",
            "request_id": request_id,
            "model": begun.model,
            "voice": begun.voice,
            "seed": begun.seed,
            "response_format": self._audio.format,
            "media_type": self._audio.media_type,
            "sample_rate": self._audio.rate_for(begun.sample_rate_hz),
            "ignored": without_effect(performance, self._ignored),
        })  # fmt: skip
        self._performance = performance
        await self.tell_flushed()

    async def _tell_segment(self, report: SegmentReport, rate_hz: int) -> None:
        await self._send({
            "type": "segment",
            "start": report.start,
            "end": report.end,
            "start_s": round(report.sample_start / rate_hz, 6),
            "end_s": round(report.sample_end / rate_hz, 6),
            "seed": report.seed,
            "finish": report.finish,
        })  # fmt: skip

    async def _send_bytes(self, encoded: bytes) -> None:
        if encoded:
            await self._socket.send_bytes(encoded)

    async def _send(self, event: Mapping[str, object]) -> None:
        await self._socket.send_json(dict(event))
