"""The Wyoming server on real sockets, by the library's own client; the models are scripted."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.error import Error
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.tts import (
    Synthesize,
    SynthesizeChunk,
    SynthesizeStart,
    SynthesizeStop,
    SynthesizeStopped,
    SynthesizeVoice,
)

from menura.errors import BusyError
from menura.server.live import wyoming
from menura.server.live.wyoming import WyomingServer
from menura.server.live.wyoming_reader import MAX_DATA_BYTES, MAX_LINE_BYTES
from menura.server.models.pool_limits import ReaderLimits
from tests.live_server import free_socket, parts_with
from tests.spoken_orders import RATE_HZ, WORD_SAMPLES, SpokenOrders, level_of


@dataclass
class Live:
    """A server, what it was told to speak, and how to connect."""

    server: WyomingServer
    pool: SpokenOrders
    port: int

    def client(self) -> AsyncTcpClient:
        return AsyncTcpClient("127.0.0.1", self.port, read_timeout=20)


@asynccontextmanager
async def live(
    folder: Path, limits: Mapping[str, object] | None = None, pool: SpokenOrders | None = None
) -> AsyncIterator[Live]:
    pool = pool or SpokenOrders()
    with free_socket() as sock:
        async with wyoming.serving(parts_with(pool, folder, limits), sock) as server:
            yield Live(server, pool, sock.getsockname()[1])


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def timed() -> None:
        async with asyncio.timeout(30):
            await test()

    asyncio.run(timed())


async def events_until(client: AsyncTcpClient, kind: str) -> list[Event]:
    """The events up to the one of this kind; up to the end of the connection where none comes."""
    events = []
    while (event := await client.read_event()) is not None:
        events.append(event)
        if event.type == kind:
            break
    return events


def words_heard(events: list[Event]) -> list[float]:
    """The level of each word in the audio of the events."""
    audio = b"".join(AudioChunk.from_event(e).audio for e in events if AudioChunk.is_type(e.type))
    first = [audio[start : start + 2] for start in range(0, len(audio), 2 * WORD_SAMPLES)]
    return [int.from_bytes(sample, "little", signed=True) / 32768 for sample in first]


def levels(*words: str) -> list[float]:
    return [level_of(word) for word in words]


async def refused(at: Live, *sent: Event) -> Error:
    """The error that the events are answered with; then the connection is closed."""
    async with at.client() as client:
        for event in sent:
            await client.write_event(event)
        *_, last = await events_until(client, "error")
        assert await client.read_event() is None
    return Error.from_event(last)


def test_describe_is_answered_with_the_voices(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await client.write_event(Describe().event())
            [event] = await events_until(client, "info")
        [program] = Info.from_event(event).tts
        assert [voice.name for voice in program.voices] == ["low", "high"]

    run(test)


def test_synthesize_is_spoken_as_16_bit_audio_with_times(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            voice = SynthesizeVoice(name="high")
            await client.write_event(Synthesize("A bcd.", voice).event())
            events = await events_until(client, "audio-stop")
        assert AudioStart.from_event(events[0]) == AudioStart(RATE_HZ, 2, 1, timestamp=0)
        chunks = [AudioChunk.from_event(event) for event in events[1:-1]]
        assert [(c.rate, c.width, c.channels, c.timestamp) for c in chunks] == [
            (RATE_HZ, 2, 1, 0), (RATE_HZ, 2, 1, 100),
        ]  # fmt: skip
        assert AudioStop.from_event(events[-1]).timestamp == 200
        assert words_heard(events) == levels("A", "bcd")
        [order] = at.pool.orders
        assert (order.request.voice, order.words, order.stream) == ("high", False, True)
        assert order.owner == "wyoming:127.0.0.1"

    run(test)


def test_text_in_chunks_is_spoken_before_its_end_and_only_once(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await client.write_event(SynthesizeStart().event())
            await client.write_event(SynthesizeChunk("One t").event())
            await client.write_event(SynthesizeChunk("wo. Th").event())
            early = [await client.read_event() for _ in range(3)]
            assert words_heard([e for e in early if e]) == levels("One", "two")
            await client.write_event(SynthesizeChunk("ree").event())
            await client.write_event(Synthesize("One two. Three").event())
            await client.write_event(SynthesizeStop().event())
            late = await events_until(client, "synthesize-stopped")
        assert words_heard(late) == levels("Three")
        assert [event.type for event in late[-2:]] == ["audio-stop", "synthesize-stopped"]
        assert sum(event.type == "audio-start" for event in [*early, *late] if event) == 1
        assert len(at.pool.orders) == 1

    run(test)


def test_a_stream_with_only_the_plain_synthesize_speaks_that(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            for event in (
                SynthesizeStart(),
                SynthesizeChunk(""),
                Synthesize("Abc"),
                SynthesizeStop(),
            ):
                await client.write_event(event.event())
            events = await events_until(client, "synthesize-stopped")
        assert words_heard(events) == levels("Abc")
        assert SynthesizeStopped.is_type(events[-1].type)

    run(test)


def test_several_requests_on_one_connection_are_spoken_in_turn(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await client.write_event(Synthesize("a").event())
            await client.write_event(Synthesize("bb").event())
            first = await events_until(client, "audio-stop")
            second = await events_until(client, "audio-stop")
        assert (words_heard(first), words_heard(second)) == (levels("a"), levels("bb"))

    run(test)


def test_connections_do_not_wait_for_one_another(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as stuck, at.client() as other:
            await stuck.write_event(Synthesize("STAY").event())
            await other.write_event(Synthesize("a").event())
            assert words_heard(await events_until(other, "audio-stop")) == levels("a")

    run(test)


def test_a_ping_is_answered_and_an_unknown_event_is_dropped(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await client.write_event(Event("transcribe", {"x": 1}, b"\x00" * 1000))
            await client.write_event(Ping("hello").event())
            event = await client.read_event()
            assert event is not None
            assert Pong.from_event(event) == Pong("hello")

    run(test)


@pytest.mark.parametrize("sent", ["STAY", "ENDLESS", "a ENDLESS"])
def test_a_closed_connection_cancels_what_is_spoken_for_it(sent: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at:
            async with at.client() as client:
                await client.write_event(Synthesize(sent).event())
                await at.pool.has_orders.wait()
            await at.pool.has_cancelled.wait()
            assert at.pool.cancelled == at.pool.orders

    run(test)


def test_an_error_is_told_and_the_connection_closed(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at:
            error = await refused(at, Synthesize("x", SynthesizeVoice(name="nobody")).event())
            assert error.code == "invalid_value"
            assert "nobody" in error.text
            assert "low, high" in error.text
            error = await refused(at, Synthesize("abc NAN").event())
            assert error.code == "numerics"
            assert "path" not in error.text
            at.pool.refusal = BusyError("all is taken.", retry_after_s=1)
            assert (await refused(at, Synthesize("a").event())).code == "busy"

    run(test)


@pytest.mark.parametrize(
    "sent",
    [
        [Event("synthesize", {})],
        [Event("synthesize", {"text": 5})],
        [Event("synthesize", {"text": "a", "voice": "low"})],
        [Event("synthesize", {"text": "a", "voice": {"name": 5}})],
        [Event("synthesize", {"text": "<speak>a</speak>", "text_format": "ssml"})],
        [Event("synthesize-chunk", {"text": "a"})],
        [Event("synthesize-stop")],
        [Event("synthesize-start"), Event("synthesize-start")],
        [Event("synthesize", {"text": "a" * 5000})],
        [Event("synthesize", {"text": "STAY"})] * 9,
    ],
)
def test_events_out_of_order_or_of_a_wrong_kind_are_refused(
    sent: list[Event], tmp_path: Path
) -> None:
    async def test() -> None:
        async with live(tmp_path) as at:
            assert (await refused(at, *sent)).code == "invalid_value"

    run(test)


def test_chunks_without_end_are_cut_and_cancelled(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path, {"stream_characters": 1000}) as at:
            chunk = SynthesizeChunk("a" * 100).event()
            error = await refused(at, SynthesizeStart().event(), *[chunk] * 11)
            assert "over 1,000 characters" in error.text
            assert at.pool.cancelled == at.pool.orders

    run(test)


@pytest.mark.parametrize(
    "sent",
    [
        b'{"type": "synthesize", "data_length": 1000000000000}\n',
        b'{"type": "synthesize", "data_length": %d}\n' % (MAX_DATA_BYTES + 1),
        b'{"type": "synthesize", "payload_length": 1000000000000}\n',
        b'{"type": "synthesize", "data_length": -1}\n',
        b'{"type": "synthesize", "payload_length": -1}\n',
        b"x" * (2 * MAX_LINE_BYTES),
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"[" * 50_000 + b"\n",
        b"\x00\xff" * 100 + b"\n",
    ],
)
def test_a_peer_that_breaks_the_protocol_is_closed_and_others_go_on(
    sent: bytes, tmp_path: Path
) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as other:
            await other.write_event(SynthesizeStart().event())
            reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
            writer.write(sent)
            answer = json.loads(await reader.readline())
            assert answer["type"] == "error"
            await reader.read()
            writer.close()
            await other.write_event(SynthesizeChunk("abc").event())
            await other.write_event(SynthesizeStop().event())
            assert words_heard(await events_until(other, "synthesize-stopped")) == levels("abc")

    run(test)


def test_more_connections_than_allowed_are_refused(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path, {"wyoming_connections": 2}) as at:
            async with at.client() as one, at.client() as two:
                for client in (one, two):
                    await client.write_event(Ping().event())
                    await client.read_event()
                async with at.client() as three:
                    [event] = await events_until(three, "nothing")
                    assert Error.from_event(event).code == "overloaded"
            async with at.client() as four:
                event = await asked_until_answered(four)
                assert Pong.is_type(event.type)

    run(test)


async def asked_until_answered(client: AsyncTcpClient) -> Event:
    await client.write_event(Ping().event())
    event = await client.read_event()
    assert event is not None
    return event


def test_a_stream_without_words_is_cut_after_a_while(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path, {"stream_idle_s": 1}) as at, at.client() as client:
            await client.write_event(SynthesizeStart().event())
            assert await client.read_event() is None
            assert at.pool.cancelled == at.pool.orders

    run(test)


def test_a_peer_that_takes_nothing_is_cut_and_its_speech_cancelled(tmp_path: Path) -> None:
    async def test() -> None:
        pool = SpokenOrders(limits=ReaderLimits(stall_s=0.2))
        async with live(tmp_path, pool=pool) as at:
            reader, writer = await asyncio.open_connection("127.0.0.1", at.port, limit=1)
            writer.write(b'{"type": "synthesize", "data": {"text": "ENDLESS"}}\n')
            await pool.has_cancelled.wait()
            assert pool.cancelled == pool.orders
            writer.close()
            assert reader

    run(test)


def test_draining_finishes_what_is_spoken_and_takes_nothing_new(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client, at.client() as idle:
            assert Pong.is_type((await asked_until_answered(idle)).type)
            await client.write_event(SynthesizeStart().event())
            await client.write_event(SynthesizeChunk("abc. ").event())
            await client.read_event()
            draining = asyncio.create_task(at.server.drain(20))
            assert await idle.read_event() is None
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", at.port)
            await client.write_event(SynthesizeChunk("de").event())
            await client.write_event(SynthesizeStop().event())
            events = await events_until(client, "synthesize-stopped")
            assert words_heard(events) == levels("abc", "de")
            await draining

    run(test)


def test_closing_in_the_middle_of_a_speech_is_no_failure(tmp_path: Path) -> None:
    async def test() -> None:
        failures: list[object] = []
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: failures.append(context))
        async with live(tmp_path) as at, at.client() as client:
            await client.write_event(Synthesize("STAY").event())
            await at.pool.has_orders.wait()
            await at.server.close()
            await asyncio.sleep(0)
        assert failures == []

    run(test)


def test_draining_does_not_wait_longer_than_it_may(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await client.write_event(Synthesize("STAY").event())
            await at.pool.has_orders.wait()
            await at.server.drain(0)
            assert at.pool.cancelled == []
        assert at.pool.cancelled == at.pool.orders

    run(test)
