"""A server's parts and sockets inside a test's own event loop, without processes for models."""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import uvicorn
from starlette.applications import Starlette
from starlette.requests import HTTPConnection
from starlette.routing import WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from menura.server.border.keys import KeyStore
from menura.server.border.metrics import Metrics
from menura.server.border.request_log import RequestNotes
from menura.server.live import websocket
from menura.server.live.websocket_wire import UVICORN_OPTIONS, StreamWire
from menura.server.models.names import Names
from menura.server.routes import ALL_SCOPES, Caller, ServerParts, caller_of
from menura.server.server_settings import ServerSettings
from tests.spoken_orders import SpokenOrders

if TYPE_CHECKING:
    from menura.server.models.model_pool import ModelPool


def parts_with(
    pool: SpokenOrders, folder: Path, limits: Mapping[str, object] | None = None
) -> ServerParts:
    """The parts of a server whose default model is `tone`."""
    model = folder / "tone"
    model.mkdir()
    (model / "tone.json").write_text("{}")
    return ServerParts(
        pool=cast("ModelPool", pool),
        names=Names.at_start([], {}, str(model)),
        keys=KeyStore(folder / "keys.json"),
        limits=ServerSettings.parse(limits or {}),
        metrics=Metrics(),
    )


def stream_app(parts: ServerParts, owner: str = "me") -> ASGIApp:
    """An application that only has /v1/stream, for callers that were let in."""
    inner = Starlette(routes=[WebSocketRoute("/v1/stream", websocket.stream)])
    inner.state.parts = parts
    inner.state.credentials = _LetIn()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        notes = RequestNotes("the-id", "WS", "/v1/stream")
        scope["state"] = {"caller": Caller(owner, ALL_SCOPES, owner), "notes": notes}
        await inner(scope, receive, send)

    return app


class _LetIn:
    """Credentials for callers that were let in."""

    def caller(self, connection: HTTPConnection) -> Caller:
        return caller_of(connection)


def free_socket() -> socket.socket:
    """A socket that listens on a free port of the loopback address."""
    return socket.create_server(("127.0.0.1", 0))


@asynccontextmanager
async def on_socket(
    app: ASGIApp, wire: type[StreamWire] = StreamWire, ping_s: float = 20.0
) -> AsyncIterator[str]:
    """The application behind uvicorn; gives `127.0.0.1:PORT`."""
    config = uvicorn.Config(app, lifespan="off", log_config=None, **UVICORN_OPTIONS)
    config.ws, config.ws_ping_interval, config.ws_ping_timeout = wire, ping_s, ping_s
    server = uvicorn.Server(config)
    with free_socket() as sock:
        host, port = sock.getsockname()
        serving = asyncio.create_task(server.serve(sockets=[sock]))
        try:
            yield f"{host}:{port}"
        finally:
            server.should_exit = True
            await serving
