"""/v1/stream on real sockets, by PyPI's websockets; the models are scripted."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from menura.errors import BusyError
from menura.server.models.pool_limits import ReaderLimits
from tests.live_server import on_socket, parts_with, stream_app
from tests.spoken_orders import WORD_SAMPLES, SpokenOrders, level_of

# Not resampled, and every sample as it was: words can be told from one another.
FLOATS = {"response_format": "f32"}


@dataclass
class Live:
    """A server, and what it was told to speak."""

    pool: SpokenOrders
    address: str

    def client(self) -> connect:
        return connect(f"ws://{self.address}/v1/stream", compression=None)


@asynccontextmanager
async def live(
    folder: Path, limits: Mapping[str, object] | None = None, pool: SpokenOrders | None = None
) -> AsyncIterator[Live]:
    pool = pool or SpokenOrders()
    async with on_socket(stream_app(parts_with(pool, folder, limits))) as address:
        yield Live(pool, address)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def timed() -> None:
        async with asyncio.timeout(30):
            await test()

    asyncio.run(timed())


async def tell(client: ClientConnection, kind: str, **fields: object) -> None:
    await client.send(json.dumps({"type": kind, **fields}))


@dataclass
class Told:
    """What the server sent: the events, and the bytes before each of them."""

    events: list[dict[str, object]]
    audio: bytes

    @property
    def kinds(self) -> list[object]:
        return [event["type"] for event in self.events]

    @property
    def levels(self) -> list[float]:
        return [float(level) for level in np.frombuffer(self.audio, "<f4")[::WORD_SAMPLES]]


async def told_until(client: ClientConnection, kind: str) -> Told:
    """What the server sends up to the event of this kind."""
    told = Told([], b"")
    async for message in client:
        if isinstance(message, bytes):
            told.audio += message
            continue
        told.events.append(json.loads(message))
        if told.events[-1]["type"] == kind:
            break
    return told


def levels(*words: str) -> list[float]:
    return [level_of(word) for word in words]


def test_words_in_pieces_become_one_speech(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await tell(client, "start", voice="high", seed=3, response_format="f32", unknown=1)
            for text in ("One t", "wo. ", "Three"):
                await tell(client, "text", text=text)
            await tell(client, "end")
            told = await told_until(client, "done")
        assert told.kinds == ["started", "segment", "segment", "done"]
        assert told.levels == levels("One", "two", "Three")
        started, first, second, done = told.events
        assert started == {
            "type": "started", "request_id": "the-id-1", "model": "tone", "voice": "high",
            "seed": 7, "response_format": "f32", "media_type": "application/octet-stream",
            "sample_rate": 8000, "ignored": ["unknown"],
        }  # fmt: skip
        assert first == {
            "type": "segment", "start": 0, "end": 8, "start_s": 0.0, "end_s": 0.2, "seed": 7,
            "finish": "stop",
        }  # fmt: skip
        assert (second["start"], second["end"]) == (8, 14)
        assert (done["finish"], done["usage"]) == (
            "stop", {"input_tokens": 14, "output_tokens": 30, "total_tokens": 44},
        )  # fmt: skip
        assert isinstance(done["menura"], dict)
        assert (done["menura"]["seconds"], len(done["menura"]["segments"])) == (0.3, 2)
        [order] = at.pool.orders
        assert (order.request.seed, order.words, order.owner) == (3, True, "me")

    run(test)


@pytest.mark.parametrize("text", ["", " ..."])
def test_words_without_anything_to_speak_are_a_speech_without_audio(
    text: str, tmp_path: Path
) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            for kind, fields in (("start", FLOATS), ("text", {"text": text}), ("flush", {})):
                await tell(client, kind, **fields)
            await tell(client, "end")
            told = await told_until(client, "done")
            assert (told.kinds, told.audio) == (["started", "flushed", "done"], b"")
            done = told.events[-1]
            assert (done["finish"], done["usage"]) == (
                "stop", {"input_tokens": len(text), "output_tokens": 0, "total_tokens": len(text)},
            )  # fmt: skip
            await tell(client, "start", **FLOATS)  # the connection stands
            await tell(client, "text", text="One.")
            await tell(client, "end")
            assert (await told_until(client, "done")).levels == levels("One")

    run(test)


@pytest.mark.parametrize("given", [{"response_format": None}, {"speed": None, "options": None}])
def test_a_null_is_as_good_as_not_given(given: dict[str, object], tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await tell(client, "start", **given)
            assert (await told_until(client, "started")).events[0]["response_format"] == "pcm"

    run(test)


def test_audio_comes_while_words_are_open(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await tell(client, "start", **FLOATS)
            await tell(client, "text", text="One. Tw")
            told = await told_until(client, "segment")
            assert told.levels == levels("One")

    run(test)


def test_the_audio_is_pcm_at_24_khz_where_no_format_is_named(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await tell(client, "start")
            await tell(client, "text", text="One two.")
            await tell(client, "end")
            told = await told_until(client, "done")
        assert (told.events[0]["sample_rate"], told.events[0]["response_format"]) == (24000, "pcm")
        assert len(told.audio) == 2 * 3 * 2 * WORD_SAMPLES

    run(test)


def test_a_speech_is_one_file_over_all_its_segments(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await tell(client, "start", response_format="wav")
            await tell(client, "text", text="One. Two. Three.")
            await tell(client, "end")
            told = await told_until(client, "done")
        assert told.audio.startswith(b"RIFF")
        assert told.audio.count(b"RIFF") == told.audio.count(b"data") == 1

    run(test)


def test_a_flush_speaks_what_is_there_and_says_when_it_is_done(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await tell(client, "start", **FLOATS)
            await tell(client, "flush")
            await tell(client, "text", text="One two")
            await tell(client, "flush")
            told = await told_until(client, "segment")
            assert told.levels == levels("One", "two")
            assert {"type": "flushed", "end": 0} in told.events
            told = await told_until(client, "flushed")
            assert told.events == [{"type": "flushed", "end": 7}]
            await tell(client, "text", text=" three")
            await tell(client, "end")
            assert (await told_until(client, "done")).levels == levels("three")

    run(test)


@pytest.mark.parametrize("text", ["STAY", "ENDLESS. ", ""])
def test_cancel_drops_the_speech_and_another_may_follow(text: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await tell(client, "start", **FLOATS)
            await tell(client, "text", text=text)
            await told_until(client, "started")
            await tell(client, "cancel")
            done = (await told_until(client, "done")).events[-1]
            assert done["finish"] == "cancelled"
            assert at.pool.cancelled == at.pool.orders
            await tell(client, "cancel")
            await tell(client, "start", **FLOATS)
            await tell(client, "text", text="abc")
            await tell(client, "end")
            told = await told_until(client, "done")
            assert (told.kinds, told.levels) == (["started", "segment", "done"], levels("abc"))

    run(test)


def test_an_order_that_waits_for_its_turn_can_be_cancelled(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            at.pool.gate.clear()
            await tell(client, "start")
            await tell(client, "text", text="a")
            await at.pool.has_orders.wait()
            await tell(client, "cancel")
            told = await told_until(client, "done")
            [done] = told.events
            assert (done["finish"], "menura" in done) == ("cancelled", False)

    run(test)


@pytest.mark.parametrize("text", ["STAY", "ENDLESS."])
def test_a_closed_connection_cancels_its_speech(text: str, tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at:
            async with at.client() as client:
                await tell(client, "start", **FLOATS)
                await tell(client, "text", text=text)
                await told_until(client, "started")
                if text != "STAY":
                    await client.recv()
            await at.pool.has_cancelled.wait()
            assert at.pool.cancelled == at.pool.orders

    run(test)


def test_a_connection_that_is_cut_without_a_word_cancels_its_speech(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            await tell(client, "start", **FLOATS)
            await told_until(client, "started")
            client.transport.abort()
            await at.pool.has_cancelled.wait()

    run(test)


def test_a_speech_can_be_cancelled_before_it_begins(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at, at.client() as client:
            for _ in range(3):
                await tell(client, "start", **FLOATS)
                await tell(client, "cancel")
            for _ in range(3):
                done = (await told_until(client, "done")).events[-1]
                assert done["finish"] == "cancelled"
            await tell(client, "start", **FLOATS)
            await tell(client, "text", text="abc")
            await tell(client, "end")
            assert (await told_until(client, "done")).levels == levels("abc")

    run(test)


def test_a_client_that_takes_nothing_is_cut_and_its_speech_cancelled(tmp_path: Path) -> None:
    async def test() -> None:
        pool = SpokenOrders(limits=ReaderLimits(stall_s=0.2))
        async with live(tmp_path, pool=pool) as at, at.client() as client:
            await tell(client, "start", **FLOATS)
            await tell(client, "text", text="ENDLESS.")
            await pool.has_cancelled.wait()
            assert pool.cancelled == pool.orders
            client.transport.abort()

    run(test)


async def refused(at: Live, *sent: str | bytes) -> tuple[dict[str, object], int]:
    """The error that the messages are answered with, and the code of the close after it."""
    async with at.client() as client:
        for message in sent:
            await client.send(message)
        told = await told_until(client, "error")
        with pytest.raises(ConnectionClosed):
            await client.recv()
        assert client.close_code is not None
        error = told.events[-1]["error"]
    assert isinstance(error, dict)
    assert set(error) == {"message", "type", "param", "code"}
    return error, client.close_code


START = '{"type": "start"}'


@pytest.mark.parametrize(
    ("sent", "param"),
    [
        (["no json"], None),
        ([b"bytes"], None),
        (['{"type": "other"}'], "type"),
        (['{"type": "text", "text": "a"}'], "type"),
        (['{"type": "flush"}'], "type"),
        ([START, START], None),
        ([START, '{"type": "end"}', '{"type": "text", "text": "a"}'], None),
        (['{"type": "start", "voice": "nobody"}'], "voice"),
        (['{"type": "start", "response_format": "midi"}'], "response_format"),
        (['{"type": "start", "speed": 9}'], "speed"),
        (['{"type": "start", "seed": -1}'], "seed"),
        ([START, '{"type": "text", "text": "%s"}' % ("a" * 101)], "text"),
    ],
)  # fmt: skip
def test_mistakes_are_told_and_close_the_connection(
    sent: list[str | bytes], param: str | None, tmp_path: Path
) -> None:
    async def test() -> None:
        async with live(tmp_path, {"stream_characters": 100}) as at:
            error, code = await refused(at, *sent)
            assert (error["type"], error["param"], code) == ("invalid_request_error", param, 1008)

    run(test)


def test_an_unknown_model_is_not_found_and_nothing_is_spoken(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at:
            error, code = await refused(at, '{"type": "start", "model": "../../etc/passwd"}')
            assert (error["code"], error["type"], code) == (
                "model_not_found", "not_found_error", 1008,
            )  # fmt: skip
            assert at.pool.orders == []

    run(test)


@pytest.mark.parametrize(
    ("word", "kind", "code"), [("NAN", "server_error", 1011), ("DIE", "overloaded_error", 1013)]
)
def test_a_failure_in_the_middle_comes_after_its_audio(
    word: str, kind: str, code: int, tmp_path: Path
) -> None:
    async def test() -> None:
        async with live(tmp_path) as at:
            text = json.dumps({"type": "text", "text": f"abc. {word}."})
            error, closed_with = await refused(at, START, text)
            assert (error["type"], closed_with) == (kind, code)
            assert "path" not in str(error["message"])

    run(test)


def test_no_room_is_told_with_its_own_code(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path) as at:
            at.pool.refusal = BusyError("all is taken.", retry_after_s=1)
            error, code = await refused(at, START)
            assert (error["type"], error["code"], code) == ("rate_limit_error", "busy", 1013)

    run(test)


def test_more_sessions_than_a_key_may_have_are_refused_before_they_stand(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path, {"stream_sessions_per_key": 2}) as at:
            one, two = await at.client(), await at.client()
            with pytest.raises(InvalidStatus) as caught:
                await at.client()
            answer = caught.value.response
            assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
            assert json.loads(answer.body or b"")["error"]["code"] == "busy"
            await one.close()
            async with at.client() as three:
                await tell(three, "start")
                await told_until(three, "started")
            await two.close()

    run(test)


def test_more_sessions_than_the_server_takes_are_refused(tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path, {"stream_sessions": 1}) as at, at.client():
            with pytest.raises(InvalidStatus) as caught:
                await at.client()
            assert caught.value.response.status_code == 503

    run(test)


@pytest.mark.parametrize("sent", [[], [START]])
def test_a_silent_client_is_closed(sent: list[str], tmp_path: Path) -> None:
    async def test() -> None:
        async with live(tmp_path, {"stream_idle_s": 1}) as at:
            error, code = await refused(at, *sent)
            assert (error["code"], code) == ("idle", 1008)
            assert at.pool.cancelled == at.pool.orders

    run(test)
