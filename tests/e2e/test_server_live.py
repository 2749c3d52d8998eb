"""Words in and audio out while both go on: /v1/stream and Wyoming, through the whole server.

The clients are PyPI's websockets and the wyoming library's own, on real sockets; the models are
real ones in their own processes.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from wyoming.audio import AudioChunk, AudioStart
from wyoming.client import AsyncTcpClient
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeVoice,
)

from menura.audio.pcm import FloatArray
from menura.server.live import wyoming
from menura.server.live.websocket_wire import PINGS_A_SECOND
from menura.server.routes import Scope
from tests.live_server import free_socket, on_socket
from tests.served_app import Served, served, tone_model
from tests.tone.engine import heard_hz, tone_hz
from tests.unit.audio.reference_decoders import by_av


@dataclass
class Live:
    """A whole server with both doors."""

    server: Served
    web: str
    wyoming_port: int

    def stream(self, key: str | None = None, **headers: str) -> connect:
        """A WebSocket; with the server's key where none is given."""
        given = {"Authorization": f"Bearer {key or self.server.key}", **headers}
        return connect(f"ws://{self.web}/v1/stream", additional_headers=given)

    def home(self) -> AsyncTcpClient:
        return AsyncTcpClient("127.0.0.1", self.wyoming_port, read_timeout=60)

    def rows(self) -> int:
        """How many orders all models have."""
        return sum(model.rows + model.queue for model in self.server.parts.pool.loaded())


@asynccontextmanager
async def live(*models: Path | str, **given: object) -> AsyncIterator[Live]:
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(served(*models, **given))
        sock = stack.enter_context(free_socket())
        await stack.enter_async_context(wyoming.serving(server.parts, sock))
        web = await stack.enter_async_context(on_socket(server.app))
        yield Live(server, web, sock.getsockname()[1])


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def timed() -> None:
        async with asyncio.timeout(120):
            await test()

    asyncio.run(timed())


async def tell(client: ClientConnection, kind: str, **fields: object) -> None:
    await client.send(json.dumps({"type": kind, **fields}))


async def told_until(client: ClientConnection, kind: str) -> tuple[list[dict[str, object]], bytes]:
    """The events up to the one of this kind, and the audio that came with them."""
    events: list[dict[str, object]] = []
    audio = b""
    async for message in client:
        if isinstance(message, bytes):
            audio += message
            continue
        events.append(json.loads(message))
        if events[-1]["type"] == kind:
            break
    return events, audio


async def spoken(client: ClientConnection, *pieces: str, **start: object) -> bytes:
    """The audio of the text in these pieces."""
    await tell(client, "start", **start)
    for piece in pieces:
        await tell(client, "text", text=piece)
    await tell(client, "end")
    events, audio = await told_until(client, "done")
    assert events[-1]["finish"] == "stop"
    return audio


def floats(audio: bytes) -> FloatArray:
    return np.frombuffer(audio, "<f4")


def tones_of(*words: str) -> list[int]:
    """The tones of the words, of two frames each."""
    return [tone_hz(word) for word in words for _ in range(2)]


async def events_until(client: AsyncTcpClient, kind: str) -> list[Event]:
    events = []
    while (event := await client.read_event()) is not None:
        events.append(event)
        if event.type == kind:
            break
    return events


def heard(events: Sequence[Event]) -> list[int]:
    """The tones of a Wyoming peer's audio."""
    chunks = [AudioChunk.from_event(e) for e in events if AudioChunk.is_type(e.type)]
    pcm = b"".join(chunk.audio for chunk in chunks)
    return heard_hz(np.frombuffer(pcm, "<i2").astype(np.float32))


def test_a_stream_speaks_words_that_come_in_pieces(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tone_model(tmp_path)) as at, at.stream() as client:
            await tell(client, "start", response_format="f32", voice="alloy", model="tts-1")
            await tell(client, "text", text="one tw")
            async for message in client:
                if isinstance(message, bytes):
                    break
            await tell(client, "text", text="o three")
            await tell(client, "end")
            events, audio = await told_until(client, "done")
            heard_now = heard_hz(floats(message if isinstance(message, bytes) else b""))
            assert heard_now + heard_hz(floats(audio)) == tones_of("one", "two", "three")
            *_, segment, done = events
            assert (segment["start"], segment["end"]) == (0, 13)
            assert done["usage"] == {"input_tokens": 13, "output_tokens": 60, "total_tokens": 73}

    run(test)


def test_flushes_split_a_stream_and_audio_follows_each(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tone_model(tmp_path)) as at, at.stream() as client:
            await tell(client, "start", response_format="f32")
            audio = b""
            for text in ("one ", "two ", "three"):
                await tell(client, "text", text=text)
                await tell(client, "flush")
                audio += (await told_until(client, "flushed"))[1]
            await tell(client, "end")
            events, rest = await told_until(client, "done")
            assert heard_hz(floats(audio)) == tones_of("one", "two", "three")
            assert rest == b""
            assert events[-1]["finish"] == "stop"

    run(test)


def test_a_stream_has_the_bytes_of_every_format(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tone_model(tmp_path)) as at, at.stream() as client:
            for name in ("flac", "wav"):
                audio = await spoken(client, "one ", "two", response_format=name)
                assert heard_hz(by_av(audio).samples) == tones_of("one", "two")
            for name in ("mp3", "opus", "aac"):
                audio = await spoken(client, "one ", "two", response_format=name)
                decoded = by_av(audio, "mp3" if name == "mp3" else None)
                assert decoded.samples.size / decoded.rate_hz >= 0.39
            pcm = await spoken(client, "one ", "two", response_format="pcm")
            assert len(pcm) == 2 * 24_000 * 4 // 10

    run(test)


def test_speeches_follow_one_another_and_a_cancelled_one_frees_its_row(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tone_model(tmp_path), rows=1) as at, at.stream() as client:
            await tell(client, "start", response_format="f32")
            await tell(client, "text", text="ENDLESS ")
            await client.recv()
            await tell(client, "cancel")
            events, _ = await told_until(client, "done")
            assert events[-1]["finish"] == "cancelled"
            audio = await spoken(client, "one two", response_format="f32")
            assert heard_hz(floats(audio)) == tones_of("one", "two")

    run(test)


def test_silent_streams_and_slow_readers_hold_nobody_up(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tone_model(tmp_path), rows=1, buffer_s=1) as at, AsyncExitStack() as stack:
            for _ in range(4):
                silent = await stack.enter_async_context(at.stream())
                await tell(silent, "start")
                await told_until(silent, "started")
            text = " ".join(f"This is the sentence {number}." for number in range(150))
            body = {"input": text, "response_format": "wav"}
            slow = [at.server.begin("/v1/audio/speech", body) for _ in range(3)]
            for wire, _ in slow:
                wire.reads.clear()
            async with at.stream() as client:
                assert await spoken(client, "one")
            async with at.server.client() as other:
                answer = await other.post("/v1/audio/speech", json={"input": "two"})
            assert answer.status_code == 200
            for wire, task in slow:
                assert not task.done()
                wire.hang_up()
                await task

    run(test)


def test_streams_at_the_same_time_hear_only_their_own_words(tmp_path: Path) -> None:
    async def one(at: Live, word: str) -> list[int]:
        async with at.stream() as client:
            return heard_hz(floats(await spoken(client, f"{word} ", word, response_format="f32")))

    async def test() -> None:
        async with live(tone_model(tmp_path)) as at:
            words = [f"word{number}" for number in range(6)]
            all_heard = await asyncio.gather(*(one(at, word) for word in words))
            assert all_heard == [tones_of(word, word) for word in words]

    run(test)


def test_a_failing_word_is_told_and_the_next_stream_speaks(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tone_model(tmp_path)) as at:
            async with at.stream() as client:
                await tell(client, "start")
                await tell(client, "text", text="one FAIL ")
                events, _ = await told_until(client, "error")
                with pytest.raises(ConnectionClosed):
                    await client.recv()
                assert (events[-1]["type"], client.close_code) == ("error", 1011)
            async with at.stream() as client:
                assert await spoken(client, "one")

    run(test)


def test_the_built_in_voice_speaks_a_stream_sentence_by_sentence() -> None:
    async def test() -> None:
        async with live("builtin") as at, at.stream() as client:
            await tell(client, "start")
            await tell(client, "text", text="This is the first of two sentences. And now the re")
            events, first = await told_until(client, "segment")
            assert (events[-1]["start"], events[-1]["end"]) == (0, 36)
            assert len(first) > 10_000
            await tell(client, "text", text="st of it.")
            await tell(client, "end")
            events, _ = await told_until(client, "done")
            assert (events[0]["start"], events[0]["end"]) == (36, 59)

    run(test)


async def refusal(at: Live, key: str | None = None, **headers: str) -> tuple[int, str]:
    """The status and the code of the error that a WebSocket is refused with."""
    with pytest.raises(InvalidStatus) as caught:
        await at.stream(key, **headers)
    answer = caught.value.response
    return answer.status_code, json.loads(answer.body or b"")["error"]["code"]


def test_a_stream_needs_a_key_its_own_host_and_no_foreign_page(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tone_model(tmp_path)) as at:
            assert await refusal(at, key="wrong") == (401, "wrong_key")
            assert await refusal(at, Origin="https://evil.example") == (403, "origin_not_allowed")
            assert await refusal(at, Origin="null") == (403, "origin_not_allowed")
            assert await refusal(at, Origin="http://127.0.0.1:1") == (403, "origin_not_allowed")
            with pytest.raises(InvalidStatus) as caught:
                await connect(f"ws://{at.web}/v1/stream")
            assert caught.value.response.status_code == 401
            with pytest.raises(InvalidStatus) as caught:
                await connect(f"ws://{at.web}/v1/stream?api_key={at.server.key}")
            assert caught.value.response.status_code == 400
            port = at.web.partition(":")[2]
            with pytest.raises(InvalidStatus) as caught:
                await connect(f"ws://evil.example:{port}/v1/stream", host="127.0.0.1")
            assert caught.value.response.status_code == 421
            async with at.stream(Origin=f"http://{at.web}") as client:
                assert await spoken(client, "one")
            assert at.rows() == 0

    run(test)


def test_a_key_that_was_removed_begins_no_more_speeches(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tone_model(tmp_path)) as at:
            made = at.server.parts.keys.add("agent", frozenset({Scope.SPEAK}))
            async with at.stream(made.key) as client:
                assert await spoken(client, "one")
                at.server.parts.keys.remove(made.record.id)
                await tell(client, "start")
                events, _ = await told_until(client, "error")
                error = events[-1]["error"]
                assert isinstance(error, dict)
                assert error["code"] == "wrong_key"
                await client.wait_closed()
                assert client.close_code == 1008

    run(test)


def test_a_foreign_page_cannot_use_the_cookie_of_ours(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tone_model(tmp_path)) as at:
            credentials = at.server.app.state.credentials
            _, cookie = credentials.sign_in(_Nobody(), at.server.key)
            address, headers = (
                f"ws://{at.web}/v1/stream",
                {"Cookie": f"{credentials.cookie}={cookie}"},
            )
            own = {**headers, "Origin": f"http://{at.web}"}
            async with connect(address, additional_headers=own) as client:
                assert await spoken(client, "one")
            for origin in ({"Origin": "https://evil.example"}, {}):
                with pytest.raises(InvalidStatus) as caught:
                    await connect(address, additional_headers={**headers, **origin})
                assert caught.value.response.status_code in (401, 403)

    run(test)


class _Nobody:
    """A connection without an address."""

    client = None


async def sent_and_answered(client: ClientConnection, message: str) -> None:
    await client.send(message)
    await client.recv()


async def pinged_and_answered(client: ClientConnection, times: int) -> None:
    for _ in range(times):
        await client.ping()
    await client.recv()


def test_a_huge_frame_a_flood_of_pings_and_many_sockets_harm_nobody(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tone_model(tmp_path), stream_sessions_per_key=4) as at:
            async with at.stream() as other:
                await tell(other, "start", response_format="f32")
                async with at.stream() as client:
                    with pytest.raises(ConnectionClosed):
                        await sent_and_answered(client, "x" * 100_000_000)
                    assert client.close_code in (1006, 1009)
                async with at.stream() as client:
                    with pytest.raises(ConnectionClosed):
                        await pinged_and_answered(client, 3 * PINGS_A_SECOND + 1)
                    assert client.close_code in (1006, 1008)  # who still writes may not read it
                many = await asyncio.gather(
                    *(at.stream() for _ in range(60)), return_exceptions=True
                )
                stand = [each for each in many if isinstance(each, ClientConnection)]
                assert len(stand) <= 3
                assert all(isinstance(each, (ClientConnection, InvalidStatus)) for each in many)
                for each in stand:
                    await each.close()
                await tell(other, "text", text="one two")
                await tell(other, "end")
                _, audio = await told_until(other, "done")
                assert heard_hz(floats(audio)) == tones_of("one", "two")
            assert at.rows() == 0

    run(test)


async def voices_of(peer: AsyncTcpClient) -> dict[str, list[str]]:
    """The voices that the peer is told of, with their languages."""
    await peer.write_event(Describe().event())
    [event] = await events_until(peer, "info")
    return {voice.name: voice.languages for voice in Info.from_event(event).tts[0].voices}


def test_home_assistant_reads_the_voices_and_hears_its_text(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            live(tone_model(tmp_path), tone_model(tmp_path, "choir")) as at,
            at.home() as peer,
        ):
            voices = await voices_of(peer)
            while (
                "choir:low" not in voices
            ):  # nobody waits long for a model that is not looked at yet
                voices = await voices_of(peer)
            assert voices["low"] == voices["choir:low"] == ["en"]
            assert voices["high"] == ["zh"]
            for voice in (SynthesizeVoice("high"), SynthesizeVoice("choir:low"), None):
                await peer.write_event(Synthesize("one two", voice).event())
                events = await events_until(peer, "audio-stop")
                assert AudioStart.from_event(events[0]) == AudioStart(8000, 2, 1, timestamp=0)
                assert heard(events) == tones_of("one", "two")

    run(test)


def test_home_assistant_streams_a_text_and_hears_it_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tone_model(tmp_path)) as at, at.home() as peer:
            await peer.write_event(SynthesizeStart().event())
            await peer.write_event(SynthesizeChunk("one two th").event())
            early = await events_until(peer, "audio-chunk")
            await peer.write_event(SynthesizeChunk("ree").event())
            await peer.write_event(Synthesize("one two three").event())
            await peer.write_event(SynthesizeStop().event())
            late = await events_until(peer, "synthesize-stopped")
            assert heard([*early, *late]) == tones_of("one", "two", "three")
            assert [event.type for event in late[-2:]] == ["audio-stop", "synthesize-stopped"]

    run(test)


def test_peers_at_the_same_time_hear_only_their_own_words(tmp_path: Path) -> None:
    async def one(at: Live, word: str) -> list[int]:
        async with at.home() as peer:
            await peer.write_event(Synthesize(f"{word} {word}").event())
            return heard(await events_until(peer, "audio-stop"))

    async def test() -> None:
        async with live(tone_model(tmp_path)) as at:
            words = [f"word{number}" for number in range(6)]
            assert await asyncio.gather(*(one(at, word) for word in words)) == [
                tones_of(word, word) for word in words
            ]

    run(test)


def test_peers_that_leave_or_break_the_protocol_free_their_rows(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tone_model(tmp_path), rows=1) as at:
            for sent in (b"", b'{"type": "x", "data_length": 99999999999}\n', b"\xff\n"):
                async with at.home() as peer:
                    await peer.write_event(Synthesize("ENDLESS").event())
                    await events_until(peer, "audio-chunk")
                    assert peer._writer is not None
                    peer._writer.write(sent)
            async with at.home() as peer:
                await peer.write_event(Synthesize("one").event())
                assert heard(await events_until(peer, "audio-stop")) == tones_of("one")

    run(test)
