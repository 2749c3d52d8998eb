"""The application behind our HTTP protocol on a real socket, and a client that writes raw bytes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from menura.server.border import http_wire
from menura.server.server_settings import ServerSettings


@asynccontextmanager
async def listening(app: ASGIApp, limits: ServerSettings) -> AsyncIterator["Door"]:
    """Where the application listens while the block runs."""
    options = http_wire.uvicorn_options(limits)
    config = uvicorn.Config(app, lifespan="off", ws="none", **options)
    config.load()
    state = ServerState()
    kind: type[http_wire.HttpWire] = options["http"]
    server = await asyncio.get_running_loop().create_server(
        lambda: kind(config, state, {}), "127.0.0.1", 0
    )
    door = Door(server.sockets[0].getsockname()[1])
    try:
        yield door
    finally:
        server.close()
        for peer in door.peers:
            peer.writer.close()
        for connection in list(state.connections):
            connection.transport.abort()
        await server.wait_closed()
        await asyncio.gather(*state.tasks)


@dataclass(frozen=True)
class Door:
    """A port on this machine, and the clients that connected."""

    port: int
    peers: "list[Peer]" = field(default_factory=list)

    async def connect(self) -> "Peer":
        """A new connection."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.peers.append(Peer(reader, writer))
        return self.peers[-1]

    async def ask(self, request: bytes) -> bytes:
        """Everything that came back until the server closed, to bytes sent at once."""
        peer = await self.connect()
        peer.write(request)
        return await peer.rest()

    async def first(self, request: bytes) -> bytes:
        """What came back first, to bytes sent at once; nothing where the server closed."""
        peer = await self.connect()
        peer.write(request)
        try:
            return await peer.reader.read(4096)
        except ConnectionResetError:
            return b""


@dataclass(frozen=True)
class Peer:
    """A client's end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def write(self, request: bytes) -> None:
        """Nothing; the bytes are on their way."""
        self.writer.write(request)

    async def head(self) -> bytes:
        """The next answer's head."""
        return await self.reader.readuntil(b"\r\n\r\n")

    async def answer(self) -> bytes:
        """The next answer with a length."""
        head = await self.head()
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        return head + await self.reader.readexactly(length)

    async def rest(self) -> bytes:
        """What comes until the server closes the connection."""
        try:
            return await self.reader.read()
        except ConnectionResetError:
            return b""
