"""The way into the application: every request is checked, numbered, logged and counted here.

Plain ASGI, so that streams flow through it and a client that leaves is noticed. Every error ends
here: nothing below it reaches the web server, whose own log would show what the error holds.
"""

import logging
import traceback

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from menura.errors import MenuraError
from menura.server.border import request_log
from menura.server.border.exchange import Exchange
from menura.server.border.guards import HeadGuard, preflight
from menura.server.border.metrics import Metrics
from menura.server.border.problems import Problem, failure, problem_of
from menura.server.border.request_book import RequestBook
from menura.server.server_settings import ServerSettings

# What Starlette's router raises, in our words.
_OF_STATUS = {
    404: ("no_such_path", "There is no such path here."),
    405: ("wrong_method", "This path has no such method."),
}
_log = logging.getLogger(__name__)


class Gate:
    """An ASGI application around the server's own."""

    def __init__(
        self, app: ASGIApp, limits: ServerSettings, metrics: Metrics, book: RequestBook
    ) -> None:
        self._app = app
        self._book = book
        self._head = HeadGuard(limits)
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Nothing, after the request was answered, logged and counted."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send)
        self._book.begin()
        try:
            await self._answer(exchange)
        except Exception as error:  # the border: a failure is an answer and a line in the log
            await exchange.refuse(problem_of_failure(error, exchange.notes.request_id))
        finally:
            request_log.write(exchange.notes)
            self._book.end(exchange.notes)
            self._metrics.observe(exchange.notes)

    async def _answer(self, exchange: Exchange) -> None:
        exchange.came_from(self._head.check(exchange.scope))
        allowed = preflight(exchange.scope, exchange.origin)
        if allowed is None:
            await self._app(exchange.scope, exchange.receive, exchange.send)
        else:
            await exchange.answer(Response(status_code=204, headers=allowed))


def problem_of_failure(error: Exception, request_id: str) -> Problem:
    """The problem that an error is to a client; what is the server's own fault goes to the log."""
    while isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # Starlette's, around an error after the answer's first byte
    if isinstance(error, Problem):
        return error
    if isinstance(error, MenuraError):
        problem = problem_of(error, request_id)
        if problem.status_code >= 500:
            _log.warning("request %s: %s: %s", request_id, error.code, error.message)
        return problem
    if isinstance(error, HTTPException):
        code, words = _OF_STATUS.get(error.status_code, ("http", str(error.detail)))
        return Problem(error.status_code, code, words, headers=error.headers)
    # Its words are left out: they may repeat the request's text. Where it happened is enough.
    places = "".join(traceback.format_tb(error.__traceback__))
    _log.error("request %s failed with %s at\n%s", request_id, type(error).__name__, places)
    return failure(request_id)
