"""The page at `/` and its files: each is named here, so that no name in a request is a path."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from fastapi import Request
from starlette.responses import Response

from menura.server.border.problems import Problem
from menura.server.routes import NO_BODY, Route

PAGE_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "object-src 'none'"
)
_MEDIA_TYPES: Mapping[str, str] = {
    "index.html": "text/html",
    "page.css": "text/css",
    "page.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


async def page(_request: Request) -> Response:
    """The page."""
    return _file("index.html")


async def static(name: str) -> Response:
    """One of the page's files."""
    if name not in _MEDIA_TYPES:
        raise Problem(404, "no_such_path", "There is no such path here.")
    return _file(name)


def _file(name: str) -> Response:
    headers = {"content-security-policy": PAGE_POLICY, "cache-control": "no-cache"}
    return Response(_content(name), headers=headers, media_type=_MEDIA_TYPES[name])


@cache
def _content(name: str) -> bytes:
    return (files("menura.webui") / name).read_bytes()


ROUTES = (
    Route("/", ("GET",), None, NO_BODY, page, "The page", ("text/html",), is_documented=False),
    Route(
        "/static/{name}", ("GET",), None, NO_BODY, static, "The page's files",
        tuple(_MEDIA_TYPES.values()), is_documented=False,
    ),
)  # fmt: skip
