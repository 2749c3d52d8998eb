"""Text to speech for Home Assistant and its devices, by the Wyoming protocol over TCP.

    describe                            -> info (the voices with their languages)
    synthesize (text, voice)            -> audio-start, audio-chunk ..., audio-stop
    synthesize-start (voice), then synthesize-chunk (text) ..., synthesize-stop
                                        -> the same, as soon as words can be spoken,
                                           then synthesize-stopped
    ping                                -> pong

Audio is s16le, mono, at the model's own rate. Between synthesize-start and -stop a plain synthesize
comes with the whole text, for servers that cannot stream: it is spoken only where no chunk came.
Several synthesize on one connection are spoken one after the other. A failure is an `error` event,
and then the connection is closed: most clients wait for audio-stop and do not look at errors.
Closing the connection cancels what is spoken for it. Unknown events are dropped, as the protocol
asks. The protocol has no key, so whoever reaches the port may speak.

The library's `AsyncTcpServer` is not used: its parser believes every length, it counts no
connections, and stopping it does not wait for what is spoken.
"""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from wyoming.error import Error
from wyoming.event import Eventable, async_write_event
from wyoming.info import Describe
from wyoming.ping import Ping, Pong

from menura.errors import MenuraError
from menura.server.border.problems import Problem, problem_of
from menura.server.first_error import first_error
from menura.server.live.wyoming_reader import MAX_LINE_BYTES, read_event
from menura.server.live.wyoming_speeches import WyomingSpeeches
from menura.server.live.wyoming_voices import WyomingVoices
from menura.server.routes import ServerParts
from menura.server.speech import Asker

# A peer that has begun an event must send the rest of it within this time.
_EVENT_LIMIT_S = 20.0
# What is said to a peer before its connection is closed may take this long.
_LAST_WORDS_S = 5.0


@asynccontextmanager
async def serving(parts: ServerParts, sock: socket.socket) -> AsyncIterator["WyomingServer"]:
    """The server on a bound socket, for as long as the block runs; then all is cut."""
    server = WyomingServer(parts)
    listener = await asyncio.start_server(server.take, sock=sock, limit=MAX_LINE_BYTES)
    server.attach(listener)
    looking = asyncio.create_task(server.voices.info())  # so that the first peer need not wait
    try:
        yield server
    finally:
        looking.cancel()
        await server.close()


class WyomingServer:
    """The connections of all Wyoming peers."""

    def __init__(self, parts: ServerParts) -> None:
        self._parts = parts
        self.voices = WyomingVoices(parts.names, parts.pool)
        self._listener: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[object], _Connection] = {}

    def attach(self, listener: asyncio.Server) -> None:
        """Note what is to be closed when no more connections are taken."""
        self._listener = listener

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Nothing, when the new connection has ended."""
        task = asyncio.current_task()
        assert task is not None
        connection = _Connection(self._parts, self.voices, reader, writer)
        if len(self._connections) >= self._parts.limits.wyoming_connections:
            await connection.refuse(_TOO_MANY)
            return
        self._connections[task] = connection
        try:
            await connection.run()
        except asyncio.CancelledError:
            pass  # by `close`, and asyncio would log it as a failure (Python 3.11)
        finally:
            del self._connections[task]

    async def drain(self, limit_s: float) -> None:
        """Take no more connections and no more work; nothing, when all is spoken or time is up."""
        self._stop_listening()
        for connection in self._connections.values():
            connection.drain()
        if self._connections:
            await asyncio.wait(list(self._connections), timeout=limit_s)

    async def close(self) -> None:
        """Cut all connections."""
        self._stop_listening()
        self.voices.close()
        tasks = list(self._connections)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _stop_listening(self) -> None:
        if self._listener is not None:
            self._listener.close()


_TOO_MANY = Problem(503, "overloaded", "There are too many connections: try again later.")


class _Connection:
    """One peer: this side reads its events; `WyomingSpeeches` speaks."""

    def __init__(
        self,
        parts: ServerParts,
        voices: WyomingVoices,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._voices = voices
        self._reader = reader
        self._writer = writer
        self._stall_s = parts.limits.stall_s
        self._id = secrets.token_hex(8)
        address = writer.get_extra_info("peername")
        asker = Asker(f"wyoming:{address[0] if address else 'local'}", self._id)
        self._speeches = WyomingSpeeches(parts, voices, asker, self._send)

    async def run(self) -> None:
        """Nothing, when the peer has gone, was refused, or has nothing more to do."""
        try:
            async with asyncio.TaskGroup() as tasks:
                speaker = tasks.create_task(self._speak())
                await self._listen()
                speaker.cancel()
        except* (Problem, MenuraError) as group:
            await self.refuse(first_error(group))
        except* (EOFError, OSError):
            pass  # the peer went away in the middle of an event, or took nothing
        finally:
            await self._hang_up()

    def drain(self) -> None:
        """Take no more work, and end when all is spoken."""
        self._speeches.drain()

    async def refuse(self, error: BaseException) -> None:
        """Say what is wrong, if the peer still listens, and close."""
        if isinstance(error, MenuraError):
            error = problem_of(error, self._id)
        assert isinstance(error, Problem)
        with suppress(OSError):
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._send(Error(text=error.message, code=error.code))
        await self._hang_up()

    async def _speak(self) -> None:
        """Nothing, when no more work is taken and all is spoken; then the connection is closed."""
        await self._speeches.speak_all()
        self._writer.close()

    async def _listen(self) -> None:
        """Nothing, when the peer has closed its side."""
        while True:
            async with self._speeches.idle.watching():
                first = await self._reader.read(1)
            if not first:
                return
            event = await read_event(self._reader, first, _EVENT_LIMIT_S)
            if Describe.is_type(event.type):
                await self._send(await self._voices.info())
            elif Ping.is_type(event.type):
                text = event.data.get("text")
                await self._send(Pong(text if isinstance(text, str) else None))
            else:
                await self._speeches.take(event)

    async def _send(self, what: Eventable) -> None:
        """Send an event. Raises: OSError: the peer has gone, or takes nothing."""
        async with asyncio.timeout(self._stall_s):
            await async_write_event(what.event(), self._writer)

    async def _hang_up(self) -> None:
        """Close the connection; what the peer does not take soon is dropped."""
        self._writer.close()
        try:
            async with asyncio.timeout(_LAST_WORDS_S):
                await self._writer.wait_closed()
        except OSError:
            self._writer.transport.abort()
        except asyncio.CancelledError:
            self._writer.transport.abort()
            raise
