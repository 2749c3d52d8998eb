import asyncio
from collections.abc import Awaitable, Callable

import pytest
from starlette.types import Receive, Scope, Send

from menura.server.border.http_wire import HttpWire, uvicorn_options
from menura.server.server_settings import ServerSettings
from tests.unit.server.http_socket import Door, listening

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def ok(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


class Endless:
    """An application that sends until its client is gone; `ended` tells."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        gone = asyncio.ensure_future(receive())
        while not gone.done():
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
            await asyncio.wait([gone], timeout=0)
        self.ended.set()


App = Callable[[Scope, Receive, Send], Awaitable[None]]


def on_socket(test: Callable[[Door], Awaitable[None]], app: App = ok, **settings: object) -> None:
    async def run() -> None:
        async with asyncio.timeout(60), listening(app, ServerSettings.parse(settings)) as door:
            await test(door)

    asyncio.run(run())


def test_requests_follow_each_other_on_one_connection() -> None:
    async def test(door: Door) -> None:
        peer = await door.connect()
        for _ in range(3):
            peer.write(GET)
            assert (await peer.answer()).endswith(b"\r\n\r\nok")

    on_socket(test)


def test_a_head_that_does_not_end_is_told_and_closed() -> None:
    async def test(door: Door) -> None:
        answer = await door.ask(b"GET / HTTP/1.1\r\nHost: loc")
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b'"head_too_slow"' in answer

    on_socket(test, body_s=0.1)


def test_a_connection_that_says_nothing_is_closed() -> None:
    async def test(door: Door) -> None:
        assert (await door.ask(b"")).startswith(b"HTTP/1.1 408 ")

    on_socket(test, body_s=0.1)


def test_a_second_head_that_does_not_end_is_closed_too() -> None:
    async def test(door: Door) -> None:
        peer = await door.connect()
        peer.write(GET)
        await peer.answer()
        peer.write(b"GET / HTTP/1.1\r\nHo")
        assert (await peer.rest()).startswith(b"HTTP/1.1 408 ")

    on_socket(test, body_s=0.1)


@pytest.mark.parametrize(
    "head",
    [b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 1_000_000,
     b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"a: b\r\n" * 10_000,
     b"GET /" + b"a" * 1_000_000],
)  # fmt: skip
def test_an_endless_head_is_refused(head: bytes) -> None:
    async def test(door: Door) -> None:
        peer = await door.connect()
        peer.write(head)
        answer = await peer.reader.read(65_536)
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert b'"headers_too_large"' in answer
        assert b"server: menura" in answer.lower()

    on_socket(test)


@pytest.mark.parametrize(
    "request_bytes",
    [b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n",
     b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
     b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
     b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
     b"GET / HTTP/1.1\r\nHost: a\r\nA\x00: b\r\n\r\n"],
)  # fmt: skip
def test_what_is_no_http_is_refused_in_the_shape_of_every_error(request_bytes: bytes) -> None:
    async def test(door: Door) -> None:
        answer = await door.ask(request_bytes)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b'{"error":{"message":"This is not a request that HTTP knows."' in answer

    on_socket(test)


def test_a_client_that_takes_nothing_is_cut() -> None:
    app = Endless()

    async def test(door: Door) -> None:
        peer = await door.connect()
        peer.write(GET)
        await peer.head()
        await app.ended.wait()

    on_socket(test, app, stall_s=0.1)


def test_too_many_connections_are_told_so() -> None:
    async def test(door: Door) -> None:
        peers = [await door.connect() for _ in range(8)]
        for peer in peers:
            peer.write(GET)
            await peer.answer()
        assert (await door.ask(GET)).startswith(b"HTTP/1.1 503 ")

    on_socket(test, connections=8)


def test_uvicorn_is_told_every_rule() -> None:
    options = uvicorn_options(ServerSettings.parse({"body_s": 3, "stall_s": 4, "connections": 9}))
    kind = options["http"]
    assert issubclass(kind, HttpWire)
    assert (kind.head_s, kind.stall_s, kind.connections_at_most) == (3, 4, 9)
    assert options["access_log"] is False
    assert options["server_header"] is False
    assert options["proxy_headers"] is False
