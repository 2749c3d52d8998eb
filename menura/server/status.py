"""/v1/status*: how the server is, for who runs it: its models, its requests, its settings.

A request is told as the log has it: without its text, its audio, its query or its key.
"""

import time

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from menura import __version__
from menura.runtime.devices import available_bytes
from menura.server.routes import NO_BODY, Route, Scope, ServerParts, parts_of
from menura.server.store.shelf import ShelfModel
from menura.server.store.store_routes import StoreModel


class RequestCounts(BaseModel):
    """How many requests are under way, this one too, and how many have begun since the start."""

    live: int
    total: int


class MemoryState(BaseModel):
    """The machine's memory."""

    available_bytes: int | None = Field(description="null: nobody tells.")


class SettingEntry(BaseModel):
    """One setting: `source` is default, flag, a variable, or the file."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    value: JsonValue
    source: str
    help: str


class Status(BaseModel):
    """How the server is."""

    version: str
    uptime_s: float
    models: tuple[StoreModel, ...]
    requests: RequestCounts
    memory: MemoryState
    device: str = Field(description="Where the default model runs, or would.")
    settings: tuple[SettingEntry, ...]


class RequestLine(BaseModel):
    """One request that has ended; what is not known is null. `at`: its end's unix time."""

    id: str
    at: float
    method: str
    route: str
    status: int
    ms: float
    key: str | None
    model: str | None
    characters: int | None
    audio_s: float | None
    first_audio_s: float | None
    speaking_s: float | None
    finish: str | None
    error: str | None


class RequestLines(BaseModel):
    """The last requests, the newest first; what was only read, and went well, is not kept."""

    object: str = "list"
    data: tuple[RequestLine, ...]


async def status(request: Request) -> Status:
    """Tell how the server is."""
    parts = parts_of(request)
    models = await parts.shelf.models()
    shown = (*parts.chosen.shown(), *parts.limits.shown("server."))
    return Status(
        version=__version__,
        uptime_s=round(time.monotonic() - parts.started, 1),
        models=tuple(map(StoreModel.model_validate, models)),
        requests=RequestCounts(live=parts.book.n_live, total=parts.book.n_total),
        memory=MemoryState(available_bytes=available_bytes()),
        device=_device(parts, models),
        settings=tuple(map(SettingEntry.model_validate, shown)),
    )


def _device(parts: ServerParts, models: tuple[ShelfModel, ...]) -> str:
    devices = (model.device for model in models if model.is_default and model.device)
    return next(devices, parts.chosen.device)


async def last_requests(request: Request) -> RequestLines:
    """Tell of the last requests."""
    return RequestLines(data=tuple(map(_line, parts_of(request).book.last())))


def _line(line: dict[str, object]) -> RequestLine:
    known = {name: line.get(name) for name in RequestLine.model_fields}
    seconds = line["seconds"]
    assert isinstance(seconds, float)
    known |= {"id": line["request_id"], "ms": round(1000 * seconds, 1)}
    return RequestLine.model_validate(known)


ROUTES = (
    Route("/v1/status", ("GET",), Scope.ADMIN, NO_BODY, status, "How the server is"),
    Route("/v1/status/requests", ("GET",), Scope.ADMIN, NO_BODY, last_requests,
          "The last requests"),
)  # fmt: skip
