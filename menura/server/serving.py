"""The server's life: bind, start, tell, serve, drain, end.

The sockets are bound before anything else, so that a port in use is known at once. When the first
signal comes (`Serving.stop`), no new work is taken, what is being spoken may end within `drain_s`,
and then everything closes. Nothing here imports torch: models live in child processes.
"""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

import uvicorn
from fastapi import FastAPI

from menura.errors import InvalidValueError, MenuraError
from menura.server import state_file
from menura.server.app import create_app
from menura.server.border import http_wire, request_log
from menura.server.border.keys import KeyStore, key_file
from menura.server.border.metrics import Metrics
from menura.server.encoding import load_ffmpeg
from menura.server.live import websocket_wire, wyoming
from menura.server.models.model_pool import Launch, ModelPool
from menura.server.models.names import Names
from menura.server.models.pool_limits import PoolLimits, ReaderLimits
from menura.server.routes import ServerParts
from menura.server.server_settings import ServerSettings
from menura.server.state_file import ServerState
from menura.server.store.jobs import StoreJobs
from menura.server.voices import uploads
from menura.settings import Settings

_Address = tuple[int, int, int, str, tuple[object, ...]]
_BACKLOG = 512
# What is left of the connections once nothing is spoken any more: goodbyes.
_GOODBYE_S = 2
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # how to reach a server there


@dataclass(frozen=True)
class Ready:
    """What whoever started the server must know; `new_key` if the first one was made just now."""

    address: str
    models: tuple[str, ...]
    wyoming_address: str | None = None
    new_key: str | None = None


class Serving:
    """One run of the server in this process."""

    def __init__(self, limits: ServerSettings, chosen: Settings) -> None:
        """Check the settings. Raises: InvalidValueError: one is wrong, or is not safe."""
        limits.check()
        self._limits = limits
        self._chosen = chosen
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping = asyncio.Event()

    def run(self, tell: Callable[[Ready], None]) -> None:
        """Nothing, when the server has ended; `tell` is called once, when it is ready.

        Raises: MenuraError: the address cannot be listened on, or a model or voice is not there.
        """
        asyncio.run(self._run(tell))

    def stop(self) -> None:
        """Nothing; the run ends soon. It may be called from a signal's handler."""
        if self._loop is None:
            self._stopping.set()
        else:
            self._loop.call_soon_threadsafe(self._stopping.set)

    async def _run(self, tell: Callable[[Ready], None]) -> None:
        self._loop = asyncio.get_running_loop()
        limits = self._limits
        async with AsyncExitStack() as stack:
            web = stack.enter_context(listening(limits.host, limits.port, "--port"))
            parts = parts_of(limits, self._chosen)
            request_log.set_up(limits.log_format)
            uploads.sweep()
            stack.push_async_callback(parts.pool.close)
            stack.push_async_callback(parts.jobs.close)
            await parts.pool.start()
            home = await self._wyoming(parts, stack)
            app = create_app(parts)
            task = await stack.enter_async_context(_answering(app, web, limits))
            state = self._state(parts, address_of(web))
            new_key = parts.keys.first_key() if limits.asks_for_keys else None
            with state_file.published(state):
                if limits.preload:
                    parts.pool.preload(parts.names.default)
                with ExitStack() as unsaid:
                    if new_key is not None:  # one that could not be shown is none
                        unsaid.callback(parts.keys.remove, new_key.record.id)
                    tell(
                        Ready(
                            address=state.address,
                            models=parts.names.models(),
                            wyoming_address=None if home is None else home.address,
                            new_key=None if new_key is None else new_key.key,
                        )
                    )
                    unsaid.pop_all()
                self._loop.run_in_executor(None, load_ffmpeg)
                await _first(self._stopping.wait(), task)
            app.state.readiness.draining = True
            at_home = [] if home is None else [home.server.drain(limits.drain_s)]
            await asyncio.gather(parts.pool.drain(limits.drain_s), *at_home)
            await parts.pool.close()  # what still speaks is told so, before its line is cut

    async def _wyoming(self, parts: ServerParts, stack: AsyncExitStack) -> "_Home | None":
        """The server for Home Assistant, where one is wanted."""
        limits = self._limits
        if limits.wyoming_port is None:
            return None
        found = stack.enter_context(
            listening(limits.wyoming_host, limits.wyoming_port, "--wyoming")
        )
        server = await stack.enter_async_context(wyoming.serving(parts, found))
        return _Home(server, address_of(found, "tcp"))

    def _state(self, parts: ServerParts, address: str) -> ServerState:
        folders = parts.names.folders()
        return ServerState(
            address=address,
            key=parts.keys.add_for_this_run("menura say"),
            models={name: str(folder) for name, folder in folders.items()},
            settings=state_file.speech_settings(self._chosen),
            max_characters=self._limits.max_characters,
        )


@dataclass(frozen=True)
class _Home:
    """What serves Home Assistant, and where."""

    server: wyoming.WyomingServer
    address: str


class _Server(uvicorn.Server):
    """uvicorn's server, which tells when it listens and leaves the signals to the process."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Nothing, when connections are taken."""
        await super().startup(sockets)
        self.listening.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Nothing is captured."""
        yield


def parts_of(limits: ServerSettings, chosen: Settings) -> ServerParts:
    """What the handlers work with. Raises: MenuraError: a model or a voice is not there."""
    names = Names.at_start(
        models=limits.model_names,
        voices=limits.voice_files,
        default_model=next(iter(limits.model_names), chosen.default_model),
        model_aliases=limits.model_alias_map,
        voice_aliases=limits.voice_alias_map,
    )
    launch = Launch(chosen.device, chosen.precision, chosen.threads)
    pool = ModelPool(names, pool_limits(limits), launch)
    return ServerParts(
        pool=pool,
        names=names,
        keys=KeyStore(key_file()),
        limits=limits,
        metrics=Metrics(),
        mark=chosen.mark,
        chosen=chosen,
        jobs=StoreJobs(names.look_again),
    )


def pool_limits(limits: ServerSettings) -> PoolLimits:
    """The bounds of the models, from the server's settings."""
    return PoolLimits(
        queue=limits.queue,
        per_owner=limits.per_key,
        queue_s=limits.queue_s,
        rows=limits.rows,
        parked=limits.parked,
        idle_s=limits.idle_s,
        max_models=limits.max_models,
        load_s=limits.load_s,
        hang_s=limits.hang_s,
        reader=ReaderLimits(
            buffer_s=limits.buffer_s,
            full_s=limits.full_s,
            request_s=limits.request_s,
            stall_s=limits.stall_s,
            pause_s=limits.pause_s,
        ),
    )


@asynccontextmanager
async def _answering(
    app: FastAPI, sock: socket.socket, limits: ServerSettings
) -> AsyncIterator[asyncio.Task[None]]:
    """The task that answers HTTP on the socket, which listens; it has ended afterwards."""
    config = uvicorn.Config(
        app,
        loop="asyncio",
        lifespan="off",
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_GOODBYE_S,
        **http_wire.uvicorn_options(limits),
        **websocket_wire.UVICORN_OPTIONS,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[sock]))
    try:
        await _first(server.listening.wait(), task)
        yield task
    finally:
        server.should_exit = True
        await task


async def _first(event: Coroutine[None, None, object], task: asyncio.Task[None]) -> None:
    """Nothing, when the event came or the task ended."""
    waiting = asyncio.create_task(event)
    await asyncio.wait({waiting, task}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()


@contextmanager
def listening(host: str, port: int, flag: str) -> Iterator[socket.socket]:
    """A bound socket, which is closed afterwards. Port 0 takes a free one.

    Raises: InvalidValueError: the address is not this machine's; MenuraError: the port is in use.
    """
    try:
        family, kind, protocol, _, address = _addresses(host, port)[0]
    except OSError as error:
        raise InvalidValueError(
            f"the host {host!r} is not known ({error.strerror}): give an address of this machine, "
            "such as 127.0.0.1.",
            param="--host",
        ) from error
    with socket.socket(family, kind, protocol) as sock:
        if os.name == "posix":  # elsewhere it would let two programs share a port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind(address)
            sock.listen(_BACKLOG)
        except OSError as error:
            raise _not_bound(error, host, port, flag) from error
        sock.setblocking(False)
        yield sock


def _addresses(host: str, port: int) -> list[_Address]:
    """Where to listen, an address of IPv4 first: `localhost` means that to most clients."""
    found = socket.getaddrinfo(
        host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    return sorted(found, key=lambda entry: entry[0] != socket.AF_INET)


def _not_bound(error: OSError, host: str, port: int, flag: str) -> MenuraError:
    if error.errno == errno.EADDRINUSE:
        return MenuraError(
            f"port {port} of {host} is in use: another program listens there, perhaps another "
            f"`menura serve`. Give another one with {flag}, or {flag} 0 for one that is free.",
            param=flag,
        )
    if error.errno == errno.EACCES:
        return MenuraError(f"port {port} needs more rights: give one from 1024 on.", param=flag)
    reason = error.strerror or str(error)
    return InvalidValueError(f"{host} port {port} cannot be listened on: {reason}.", param="--host")


def address_of(sock: socket.socket, scheme: str = "http") -> str:
    """How a program on this machine reaches the socket."""
    host, port = sock.getsockname()[:2]
    host = _EVERY_ADDRESS.get(host, host)
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
