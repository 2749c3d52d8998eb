"""What FastAPI and Starlette raise, as answers in OpenAI's shape."""

from typing import TYPE_CHECKING

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Receive, Scope, Send

from menura.errors import MenuraError
from menura.server.border.gate import problem_of_failure
from menura.server.border.problems import Problem, problem_of_fields
from menura.server.routes import notes_of

if TYPE_CHECKING:
    from menura.server.border.credentials import Credentials


def install(app: FastAPI, credentials: "Credentials") -> None:
    """Nothing, after every error that a route may raise has its answer.

    Without a key, a path that does not exist is answered as one that does: which ones there are
    is nobody's business.
    """

    async def no_route(connection: HTTPConnection, error: Exception) -> Response:
        problem = problem_of_failure(error, notes_of(connection).request_id)
        if problem.status_code == 405:
            problem.headers = {"allow": _methods_of(connection)}
        try:
            if problem.status_code in (404, 405):
                credentials.caller(connection)
        except Problem as unknown:
            problem = unknown
        return _answer(connection, problem)

    async def failed(connection: HTTPConnection, error: Exception) -> Response:
        return _answer(connection, problem_of_failure(error, notes_of(connection).request_id))

    async def invalid(connection: HTTPConnection, error: Exception) -> Response:
        errors = error.errors() if isinstance(error, RequestValidationError) else []
        return _answer(connection, problem_of_fields(errors))

    app.router.default = no_such_path
    app.add_exception_handler(HTTPException, no_route)
    app.add_exception_handler(Problem, failed)
    app.add_exception_handler(MenuraError, failed)
    app.add_exception_handler(RequestValidationError, invalid)


async def no_such_path(_scope: Scope, _receive: Receive, _send: Send) -> None:
    """Where a path leads that no row has, of WebSockets too. Raises: HTTPException (404)."""
    raise HTTPException(404)


def _methods_of(connection: HTTPConnection) -> str:
    """All methods of a path; its rows are several, and the framework knows only the first.

    A path that is a row of its own (`/v1/voices/check`) is not also the name in another one.
    """
    routes = [route for route in connection.app.routes if isinstance(route, APIRoute)]
    matching = [r for r in routes if r.matches(connection.scope)[0] is not Match.NONE]
    literal = [route for route in matching if "{" not in route.path]
    methods = {method for route in literal or matching for method in route.methods or ()}
    return ", ".join(sorted(methods | ({"HEAD"} if "GET" in methods else set())))


def _answer(connection: HTTPConnection, problem: Problem) -> Response:
    notes_of(connection).error = problem.code
    return problem.answer()
