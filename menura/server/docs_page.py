"""The API's own page, /docs, which works without a network: Swagger UI from an installed package.

The package `fastapi_offline` brings Swagger UI's files; its page is not used, since it needs
scripts inside the HTML, which the content security policy here forbids.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from fastapi import Request
from starlette.responses import JSONResponse, Response

from menura.server.border.problems import Problem
from menura.server.routes import JSON, NO_BODY, Route, Scope
from menura.server.web_page import PAGE_POLICY

# Swagger UI draws its icons from data: addresses.
_POLICY = f"{PAGE_POLICY}; img-src 'self' data:"
_PAGE = b"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Menura: the API</title>
<link rel="icon" href="/static/icon.svg">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<script src="/docs/swagger-ui-bundle.js" defer></script>
<script src="/docs/start.js" defer></script>
</head>
<body><div id="api"></div></body>
</html>
"""
_START = b"""SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  presets: [SwaggerUIBundle.presets.apis],
});
"""
_VENDORED: Mapping[str, str] = {
    "swagger-ui.css": "text/css",
    "swagger-ui-bundle.js": "text/javascript",
}


async def openapi(request: Request) -> Response:
    """The OpenAPI document."""
    return JSONResponse(request.app.openapi())


async def docs(_request: Request) -> Response:
    """The API's page."""
    return _part(_PAGE, "text/html")


async def docs_file(name: str) -> Response:
    """One of the files of the API's page."""
    if name == "start.js":
        return _part(_START, "text/javascript")
    if name not in _VENDORED:
        raise Problem(404, "no_such_path", "There is no such path here.")
    return _part(_vendored(name), _VENDORED[name])


def _part(content: bytes, media_type: str) -> Response:
    headers = {"content-security-policy": _POLICY, "cache-control": "no-cache"}
    return Response(content, headers=headers, media_type=media_type)


@cache
def _vendored(name: str) -> bytes:
    return (files("fastapi_offline") / "static" / name).read_bytes()


ROUTES = (
    Route(
        "/openapi.json", ("GET",), Scope.ADMIN, NO_BODY, openapi, "This document", (JSON,),
        is_documented=False,
    ),
    Route(
        "/docs", ("GET",), Scope.ADMIN, NO_BODY, docs, "This page", ("text/html",),
        is_documented=False,
    ),
    Route(
        "/docs/{name}", ("GET",), Scope.ADMIN, NO_BODY, docs_file, "This page's files",
        ("text/css", "text/javascript"), is_documented=False,
    ),
)  # fmt: skip
