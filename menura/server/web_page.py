"""The page at `/` and its files: read once into a table, so that no name in a request is a path.

Every file of `menura/webui` with an ending from the table below is served, and none beside. A file
may be kept by a browser, which asks each time whether its `ETag` still holds.
"""

import gzip
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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
# What was recorded or made here is played from the browser's own memory.
_POLICY = f"{PAGE_POLICY}; media-src 'self' blob:"
# The page records a voice; nothing else of the machine is its business.
_PERMISSIONS = "microphone=(self), camera=(), display-capture=(), geolocation=(), payment=()"
_MEDIA_TYPES: Mapping[str, str] = {
    "html": "text/html",
    "css": "text/css",
    "js": "text/javascript",
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "woff2": "font/woff2",
}
_SQUEEZED = frozenset({"html", "css", "js", "json", "svg"})  # the others are so already
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*\.([a-z0-9]+)")
_INDEX = "index.html"


@dataclass(frozen=True)
class PageFile:
    """One file as it is sent: its bytes, the same in gzip where that is smaller, and its tag."""

    content: bytes
    squeezed: bytes | None
    media_type: str
    tag: str

    def answer(self, request: Request) -> Response:
        """The file, or that the browser has it already."""
        squeezed = self.squeezed if _takes_gzip(request) else None
        # Strong tags name the very bytes, and those are others in gzip.
        tag = f'"{self.tag}"' if squeezed is None else f'"{self.tag}-gzip"'
        headers = {
            "etag": tag,
            "cache-control": "no-cache",
            "vary": "accept-encoding",
            "content-security-policy": _POLICY,
            "permissions-policy": _PERMISSIONS,
        }
        if tag in _tags(request):
            return Response(status_code=304, headers=headers)
        if squeezed is None:
            return Response(self.content, headers=headers, media_type=self.media_type)
        headers["content-encoding"] = "gzip"
        return Response(squeezed, headers=headers, media_type=self.media_type)


@cache
def page_files() -> Mapping[str, PageFile]:
    """The page's files by their names; they are read once."""
    found = {}
    for entry in files("menura.webui").iterdir():
        name = _NAME.fullmatch(entry.name)
        if name is not None and name[1] in _MEDIA_TYPES and entry.is_file():
            found[entry.name] = _page_file(entry.read_bytes(), name[1])
    return found


def _page_file(content: bytes, ending: str) -> PageFile:
    squeezed = gzip.compress(content, mtime=0) if ending in _SQUEEZED else None
    if squeezed is not None and len(squeezed) >= len(content):
        squeezed = None
    tag = hashlib.sha256(content).hexdigest()[:32]
    return PageFile(content, squeezed, _MEDIA_TYPES[ending], tag)


async def page(request: Request) -> Response:
    """The page."""
    return page_files()[_INDEX].answer(request)


async def static(request: Request, name: str) -> Response:
    """One of the page's files."""
    found = page_files().get(name)
    if found is None:
        raise Problem(404, "no_such_path", "There is no such path here.")
    return found.answer(request)


def _tags(request: Request) -> frozenset[str]:
    """The tags of what the browser has; a proxy on the way may have made weak ones of them."""
    given = _entries(request.headers.getlist("if-none-match"))
    return frozenset(tag.removeprefix("W/") for tag in given)


def _takes_gzip(request: Request) -> bool:
    """Whether the client reads gzip, which is so only where it says so."""
    for entry in _entries(request.headers.getlist("accept-encoding")):
        coding, _, weight = entry.partition(";")
        if coding.strip().casefold() == "gzip":
            return not re.fullmatch(r"\s*q\s*=\s*0(\.0*)?\s*", weight)
    return False


def _entries(headers: Iterable[str]) -> list[str]:
    return [entry.strip() for header in headers for entry in header.split(",")]


ROUTES = (
    Route("/", ("GET",), None, NO_BODY, page, "The page", ("text/html",), is_documented=False),
    Route(
        "/static/{name}", ("GET",), None, NO_BODY, static, "The page's files",
        tuple(_MEDIA_TYPES.values()), is_documented=False,
    ),
)  # fmt: skip
