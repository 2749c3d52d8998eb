"""For those who watch the server: is it alive, may it be sent work, and its numbers."""

from fastapi import Request
from pydantic import BaseModel
from starlette.responses import Response

from menura.server.border import metrics
from menura.server.border.problems import Problem
from menura.server.routes import NO_BODY, Route, Scope, parts_of

# A model in one of these states will speak, but not at once.
_NOT_YET = frozenset({"loading", "restarting", "failing"})


class State(BaseModel):
    """How it stands with the server: `ok` or `ready`."""

    status: str


async def health(_request: Request) -> State:
    """Say that the server is alive."""
    return State(status="ok")


async def ready(request: Request) -> State:
    """Say whether the server can speak now: 503 while its default model cannot, or at its end."""
    parts = parts_of(request)
    if request.app.state.readiness.draining:
        raise Problem(503, "draining", "The server is stopping.")
    states = {model.name: model.state for model in parts.pool.loaded()}
    state = states.get(parts.names.default, "ready")
    if state in _NOT_YET:
        raise Problem(503, str(state), f"The default model is {state}.", retry_after_s=1)
    if parts.pool.fault(parts.names.default) is not None:
        words = "The default model cannot be used; the server's log says why."
        raise Problem(503, "failing", words, retry_after_s=60)
    return State(status="ready")


async def numbers(request: Request) -> Response:
    """Give the numbers as Prometheus reads them."""
    parts = parts_of(request)
    return Response(parts.metrics.page(parts.pool.loaded()), media_type=metrics.MEDIA_TYPE)


ROUTES = (
    Route("/health", ("GET",), None, NO_BODY, health, "Whether the server is alive"),
    Route("/ready", ("GET",), None, NO_BODY, ready, "Whether the server can speak now"),
    Route(
        "/metrics", ("GET",), Scope.ADMIN, NO_BODY, numbers, "Numbers for Prometheus",
        media_types=("text/plain",),
    ),
)  # fmt: skip
