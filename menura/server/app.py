"""The application: the rows of all resources joined, each behind its guard, all behind the gate."""

from typing import Any, get_type_hints

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import WebSocketRoute

from menura import __version__
from menura.server import (
    catalogue,
    conversion,
    docs_page,
    elevenlabs,
    health,
    plans,
    speech,
    status,
    web_page,
)
from menura.server.border import error_answers, sign_in
from menura.server.border.credentials import Credentials
from menura.server.border.gate import Gate
from menura.server.border.json_body import StrictRequest
from menura.server.border.problems import ErrorBody
from menura.server.border.row_guard import Readiness, RowGuard
from menura.server.live import websocket
from menura.server.routes import FORM, JSON, Route, ServerParts
from menura.server.store import store_routes
from menura.server.voices import consent_routes, making_routes, resources

ROUTES: tuple[Route, ...] = (
    *web_page.ROUTES,
    *health.ROUTES,
    *sign_in.ROUTES,
    *speech.ROUTES,
    *plans.ROUTES,
    *conversion.ROUTES,
    *catalogue.ROUTES,
    *making_routes.ROUTES,
    *resources.ROUTES,
    *consent_routes.ROUTES,
    *store_routes.ROUTES,
    *status.ROUTES,
    *elevenlabs.ROUTES,
    *websocket.ROUTES,
    *docs_page.ROUTES,
)
"""Everything that the server answers. What is not here is not served."""

_SECURITY: list[dict[str, list[str]]] = [{"bearer": []}, {"xi-api-key": []}, {"cookie": []}]
_SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer"},
    "xi-api-key": {"type": "apiKey", "in": "header", "name": "xi-api-key"},
}


class StrictRoute(APIRoute):
    """A route whose JSON body is read strictly."""

    def get_route_handler(self) -> Any:
        """FastAPI's own handler, which gets a strict request."""
        answer = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await answer(StrictRequest(request.scope, request.receive))

        return strictly


def create_app(parts: ServerParts, rows: tuple[Route, ...] = ROUTES) -> FastAPI:
    """The application, which can be called without a socket. Setting
    `app.state.readiness.draining` makes it take no more work on.

    Raises: InvalidValueError: the settings are wrong, or not safe.
    """
    parts.limits.check()
    web_page.page_files()  # read now, so that no request waits for it
    # FastAPI's own pages are off: every path is a row.
    app = FastAPI(
        title="Menura",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.parts = parts
    app.state.readiness = readiness = Readiness()
    app.state.credentials = credentials = Credentials(parts.keys, parts.limits, parts.metrics)
    for row in rows:
        _add(app, row)
        route = app.routes[-1]
        assert isinstance(route, (APIRoute, WebSocketRoute))
        route.app = RowGuard(route.app, row, credentials, parts.limits, readiness)
    error_answers.install(app, credentials)
    app.add_middleware(Gate, limits=parts.limits, metrics=parts.metrics, book=parts.book)
    _describe_keys(app, credentials.cookie)
    return app


def _add(app: FastAPI, row: Route) -> None:
    if row.methods == ("WS",):
        app.add_api_websocket_route(row.path, row.handler)
        return
    makes_response = issubclass(get_type_hints(row.handler)["return"], Response)
    app.router.add_api_route(
        row.path,
        row.handler,
        methods=list(row.methods),
        summary=row.summary,
        # What a handler gives that is no answer yet becomes JSON, as its type says.
        response_class=Response if makes_response else JSONResponse,
        responses={
            200: _good_answer(row) if makes_response else {},
            "4XX": {"model": ErrorBody, "description": "Something is wrong with the request."},
            "5XX": {"model": ErrorBody, "description": "The server cannot do it, or not now."},
        },
        include_in_schema=row.is_documented,
        openapi_extra=_more_words(row),
        route_class_override=StrictRoute,
    )


def _more_words(row: Route) -> dict[str, Any]:
    """What the document says of a row beside what FastAPI sees: its keys, and its form."""
    words: dict[str, Any] = {} if row.scope is None else {"security": _SECURITY}
    content: dict[str, Any] = {}
    if row.form is not None:
        content = {FORM: {"schema": row.form.model_json_schema()}}
    elif row.body.is_streamed:
        content = {name: _content(name) for name in row.body.media_types}
    if content:
        words["requestBody"] = {"required": True, "content": content}
    return words


def _good_answer(row: Route) -> dict[str, Any]:
    return {"content": {name: _content(name) for name in row.media_types}}


def _content(media_type: str) -> dict[str, Any]:
    text = {"type": "string"}
    if media_type == JSON:
        return {"schema": {"type": "object"}}
    if media_type == "text/event-stream":  # each of its events, as OpenAPI 3.2 has it
        return {
            "itemSchema": {"type": "object", "required": ["data"], "properties": {"data": text}}
        }
    is_text = media_type.startswith("text/")
    return {"schema": text if is_text else {**text, "format": "binary"}}


def _describe_keys(app: FastAPI, cookie: str) -> None:
    """Nothing, after the application's OpenAPI document says how a key is given."""
    written = app.openapi
    schemes = {**_SCHEMES, "cookie": {"type": "apiKey", "in": "cookie", "name": cookie}}

    def openapi() -> dict[str, Any]:
        document = written()
        document.setdefault("components", {})["securitySchemes"] = schemes
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to add to it
