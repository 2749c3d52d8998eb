"""The real application with real models in their own processes, called without a socket."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from fastapi import FastAPI

from menura import settings
from menura.server.app import create_app
from menura.server.routes import ServerParts
from menura.server.server_settings import ServerSettings
from menura.server.serving import parts_of
from tests.unit.server.asgi_wire import Wire, post, sent

T = TypeVar("T")


@dataclass(frozen=True)
class Served:
    """A running application and a key for it."""

    app: FastAPI
    parts: ServerParts
    key: str

    @asynccontextmanager
    async def client(self) -> AsyncIterator[httpx.AsyncClient]:
        """A client that has the key; it sees an answer only when that is complete."""
        headers = {"authorization": f"Bearer {self.key}"}
        wire = httpx.ASGITransport(self.app)
        async with httpx.AsyncClient(
            transport=wire, base_url="http://localhost", headers=headers, timeout=120
        ) as client:
            yield client

    def begin(self, path: str, body: Mapping[str, object]) -> "tuple[Wire, asyncio.Task[None]]":
        """A request on its way, whose answer is seen as it comes."""
        wire = Wire(json.dumps(body).encode())
        scope = post(path, {"authorization": f"Bearer {self.key}"})
        return wire, sent(self.app, wire, scope)


@asynccontextmanager
async def served(*models: Path | str, **given: object) -> AsyncIterator[Served]:
    """The application for these models, the first of which is the default one."""
    limits = ServerSettings.parse({"models": "".join(f"{model}\n" for model in models), **given})
    parts = parts_of(limits, settings.load())
    await parts.pool.start()
    try:
        yield Served(create_app(parts), parts, parts.keys.add_for_this_run("test"))
    finally:
        await parts.pool.close()


def tone_model(folder: Path, name: str = "tones") -> Path:
    """The folder of a model of the tone engine."""
    model = folder / name
    model.mkdir(parents=True)
    (model / "tone.json").write_text("{}")
    return model


class Running:
    """An application that runs for many tests, each of which asks it something."""

    def __init__(self, server: Served, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop

    def ask(self, ask: Callable[[Served], Awaitable[T]]) -> T:
        """What the server was asked for."""

        async def run() -> T:
            return await ask(self._server)

        return self._loop.run_until_complete(run())


@contextmanager
def running(folder: Path, **given: object) -> Iterator[Running]:
    """The application whose default model is one of the tone engine, for as long as the block."""
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as runner:
        patch.setenv("MENURA_HOME", str(folder / "home"))
        patch.setenv("HF_HUB_CACHE", str(folder / "hub"))
        application = served(tone_model(folder), **given)
        server = runner.run(application.__aenter__())
        try:
            yield Running(server, runner.get_loop())
        finally:
            runner.run(application.__aexit__(None, None, None))
