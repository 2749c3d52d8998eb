"""A small application with rows of its own: behind the real gate and guards, without any model."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fastapi import FastAPI, Request, WebSocket
from pydantic import BaseModel, ConfigDict, StrictStr
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.testclient import TestClient

from menura.errors import MenuraError, ModelFilesError
from menura.server import docs_page, health, web_page
from menura.server.app import create_app
from menura.server.border import sign_in
from menura.server.border.keys import KeyStore
from menura.server.border.metrics import Metrics
from menura.server.routes import (
    ALL_SCOPES,
    NO_BODY,
    SMALL_JSON,
    Route,
    Scope,
    ServerParts,
    caller_of,
    notes_of,
)
from menura.server.server_settings import ServerSettings

if TYPE_CHECKING:
    from menura.server.models.model_pool import ModelPool
    from menura.server.models.names import Names

ADDRESS = "http://localhost:8000"
WS_ADDRESS = "ws://localhost:8000"
SECRET_WORDS = "the words that nobody may log"


@dataclass
class ShownModel:
    """A model as a pool shows it."""

    name: str = "builtin"
    state: str = "ready"
    rows: int = 3
    queue: int = 5
    rss_bytes: int = 1000
    n_restarts: int = 2


class ShownPool:
    """A pool that only shows its models."""

    def __init__(self) -> None:
        self.models: list[ShownModel] = []
        self.faults: dict[str, MenuraError] = {}

    def fault(self, model: str) -> MenuraError | None:
        return self.faults.get(model)

    def loaded(self) -> list[ShownModel]:
        return self.models


class OneName:
    """The names of a server with one model."""

    default = "builtin"


class EchoBody(BaseModel):
    """A text that comes back."""

    model_config = ConfigDict(extra="allow")

    text: StrictStr


async def echo(request: Request, body: EchoBody) -> Response:
    """Echo."""
    caller = caller_of(request)
    notes = notes_of(request)
    notes.model, notes.characters, notes.finish = "builtin", len(body.text), "stop"
    return JSONResponse({"text": body.text, "owner": caller.owner, "more": body.model_extra})


async def voice_list(request: Request) -> Response:
    """List."""
    return JSONResponse({"voices": []})


class Answer(BaseModel):
    """An answer with a type."""

    words: tuple[str, ...]


async def typed(request: Request) -> Answer:
    """Answer with a type."""
    return Answer(words=("a", "b"))


async def broken(request: Request) -> Response:
    """Fail as a defect does."""
    raise ValueError(SECRET_WORDS)


async def damaged(request: Request) -> Response:
    """Fail as a model with damaged files does."""
    raise ModelFilesError("/somewhere/model.safetensors is damaged.")


async def half(request: Request) -> Response:
    """Fail after the first byte."""

    async def pieces() -> AsyncIterator[bytes]:
        yield b"first"
        raise ValueError(SECRET_WORDS)

    return StreamingResponse(pieces(), media_type="audio/mpeg")


async def talk(websocket: WebSocket) -> None:
    """Say who asks, once."""
    await websocket.accept()
    await websocket.send_json({"owner": caller_of(websocket).owner})
    await websocket.close()


async def broken_talk(websocket: WebSocket) -> None:
    """Fail after the greeting."""
    await websocket.accept()
    raise ValueError(SECRET_WORDS)


ROWS = (
    *web_page.ROUTES,
    *health.ROUTES,
    *sign_in.ROUTES,
    *docs_page.ROUTES,
    Route("/echo", ("POST",), Scope.SPEAK, SMALL_JSON, echo, "Echo"),
    Route("/list", ("GET",), Scope.SPEAK, NO_BODY, voice_list, "List", is_voice_list=True),
    Route("/typed", ("GET",), Scope.SPEAK, NO_BODY, typed, "Typed"),
    Route("/broken", ("GET",), Scope.SPEAK, NO_BODY, broken, "Fail"),
    Route("/damaged", ("GET",), Scope.SPEAK, NO_BODY, damaged, "Fail"),
    Route("/half", ("GET",), Scope.SPEAK, NO_BODY, half, "Fail"),
    Route("/talk", ("WS",), Scope.SPEAK, NO_BODY, talk, "Talk"),
    Route("/broken-talk", ("WS",), Scope.SPEAK, NO_BODY, broken_talk, "Fail"),
)


@dataclass(frozen=True)
class Site:
    """The application, its parts, and a key for each need."""

    app: FastAPI
    parts: ServerParts
    pool: ShownPool
    key: str
    speak_key: str
    voices_key: str

    def client(self, key: str | None = None, **headers: str) -> TestClient:
        """A client on this machine; with a key where one is given."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if key:
            named["authorization"] = f"Bearer {key}"
        return TestClient(self.app, ADDRESS, raise_server_exceptions=False, headers=named)


def site_at(folder: Path, rows: tuple[Route, ...] = ROWS, **settings: object) -> Site:
    """A site whose keys lie in a folder."""
    keys = KeyStore(folder / "keys.json")
    pool = ShownPool()
    parts = ServerParts(
        pool=cast("ModelPool", pool),
        names=cast("Names", OneName()),
        keys=keys,
        limits=ServerSettings.parse(settings),
        metrics=Metrics(),
    )
    return Site(
        create_app(parts, rows),
        parts,
        pool,
        keys.add("all", ALL_SCOPES).key,
        keys.add("speaks", frozenset({Scope.SPEAK})).key,
        keys.add("voices", frozenset({Scope.VOICES})).key,
    )
