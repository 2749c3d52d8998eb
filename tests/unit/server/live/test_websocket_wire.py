"""What a WebSocket peer may do to the server: frames, pings, fragments, and taking nothing."""

import asyncio
import base64
import os
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from menura.server.live import websocket_wire
from menura.server.live.websocket_wire import (
    MAX_FRAGMENTS,
    MAX_MESSAGE_BYTES,
    PINGS_A_SECOND,
    StreamWire,
)
from tests.live_server import on_socket

CONTINUED, TEXT, PING, FINAL, MASKED = 0x0, 0x1, 0x9, 0x80, 0x80


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that sends every text back."""
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"]})


async def flood(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that sends more than any buffer holds, for a second at most."""
    await receive()
    await send({"type": "websocket.accept"})
    with suppress(TimeoutError):
        async with asyncio.timeout(0.2):
            while True:
                await send({"type": "websocket.send", "bytes": bytes(1_000_000)})


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def timed() -> None:
        async with asyncio.timeout(30):
            await test()

    asyncio.run(timed())


@asynccontextmanager
async def raw_connection(
    address: str,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection after its handshake, for bytes that no client library sends."""
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    key = base64.b64encode(os.urandom(16)).decode()
    lines = ["GET / HTTP/1.1", f"Host: {address}", "Upgrade: websocket", "Connection: Upgrade",
             f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13"]  # fmt: skip
    writer.write("\r\n".join([*lines, "", ""]).encode())
    assert b" 101 " in await reader.readline()
    await reader.readuntil(b"\r\n\r\n")
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def frame(opcode: int, payload: bytes = b"") -> bytes:
    """A short masked frame; its mask is zero."""
    return bytes([opcode, MASKED | len(payload)]) + bytes(4) + payload


async def close_code(reader: asyncio.StreamReader) -> int:
    """The code of the close frame at the end of the connection."""
    sent = await reader.read()
    at = sent.rindex(b"\x88")
    code: int = struct.unpack("!H", sent[at + 2 : at + 4])[0]
    return code


def test_a_message_of_the_largest_size_is_taken_and_a_larger_one_closes() -> None:
    async def test() -> None:
        async with on_socket(echo) as address, connect(f"ws://{address}", max_size=None) as client:
            await client.send("x" * MAX_MESSAGE_BYTES)
            assert len(await client.recv()) == MAX_MESSAGE_BYTES
            await client.send("x" * (MAX_MESSAGE_BYTES + 1))
            with pytest.raises(ConnectionClosed):
                await client.recv()
            assert client.close_code == 1009

    run(test)


def test_a_frame_that_claims_100_mb_closes_before_it_comes() -> None:
    async def test() -> None:
        async with on_socket(echo) as address, raw_connection(address) as (reader, writer):
            writer.write(bytes([FINAL | TEXT, MASKED | 127]) + struct.pack("!Q", 10**8) + bytes(4))
            assert await close_code(reader) == 1009

    run(test)


def test_no_message_is_compressed() -> None:
    async def test() -> None:
        async with on_socket(echo) as address, connect(f"ws://{address}") as client:
            assert client.protocol.extensions == []

    run(test)


def test_a_few_pings_are_answered() -> None:
    async def test() -> None:
        async with on_socket(echo) as address, connect(f"ws://{address}") as client:
            for _ in range(PINGS_A_SECOND):
                await (await client.ping())

    run(test)


def test_a_flood_of_pings_closes() -> None:
    async def test() -> None:
        async with on_socket(echo) as address, raw_connection(address) as (reader, writer):
            writer.write(frame(FINAL | PING, b"?") * (3 * PINGS_A_SECOND + 1))
            assert await close_code(reader) == 1008

    run(test)


def test_a_peer_that_is_only_half_there_is_closed() -> None:
    async def test() -> None:
        async with on_socket(echo, ping_s=0.05) as address, raw_connection(address) as (reader, _):
            assert await close_code(reader) == 1011

    run(test)


def test_a_message_in_many_empty_fragments_closes() -> None:
    async def test() -> None:
        async with on_socket(echo) as address, raw_connection(address) as (reader, writer):
            writer.write(frame(TEXT, b"a") + frame(CONTINUED) * (MAX_FRAGMENTS + 1))
            assert await close_code(reader) == 1008

    run(test)


def test_a_message_in_some_fragments_is_one() -> None:
    async def test() -> None:
        async with on_socket(echo) as address, raw_connection(address) as (reader, writer):
            writer.write(frame(TEXT, b"a") + frame(CONTINUED, b"b") + frame(FINAL, b"c"))
            assert await reader.readexactly(5) == bytes([FINAL | TEXT, 3]) + b"abc"

    run(test)


def test_a_peer_that_takes_nothing_is_cut_when_the_application_has_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(websocket_wire, "CUT_AFTER_S", 0.0)

    async def test() -> None:
        lost = asyncio.Event()

        class Watched(StreamWire):
            def connection_lost(self, exc: Exception | None) -> None:
                super().connection_lost(exc)
                lost.set()

        async with on_socket(flood, Watched) as address, raw_connection(address):
            await lost.wait()

    run(test)
