"""The guard of one route: no handler runs before its scope, its body's size and kind were checked.

It wraps the handler itself, so that no way of writing a path leads around it.
"""

import asyncio
from dataclasses import dataclass

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from menura.server.border.credentials import Credentials, check_scope
from menura.server.border.problems import Problem
from menura.server.routes import Caller, Route, notes_of
from menura.server.server_settings import ServerSettings

# A streamed body may be large: as long as it comes as fast as this, it is waited for.
_SLOWEST_BYTES_PER_S = 128 * 1024
_NOBODY = Caller("", frozenset(), "nobody")


@dataclass
class Readiness:
    """Whether the server still takes work on; once it is stopping, it does not."""

    draining: bool = False


class RowGuard:
    """An ASGI application: a route's handler behind the rules of its row."""

    def __init__(
        self,
        app: ASGIApp,
        row: Route,
        credentials: Credentials,
        limits: ServerSettings,
        readiness: Readiness,
    ) -> None:
        self.row = row
        self._app = app
        self._credentials = credentials
        self._limits = limits
        self._readiness = readiness
        self._is_open = row.is_voice_list and limits.open_voice_list
        self._is_work = row.scope is not None and row.methods != ("GET",)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Nothing, after the handler answered. Raises: Problem: it may not run."""
        connection = HTTPConnection(scope)
        notes = notes_of(connection)
        notes.route = self.row.path
        caller = self._caller(connection)
        notes.key = caller.key_id
        scope["state"]["caller"] = caller
        if self._is_work and self._readiness.draining:
            raise Problem(503, "draining", "The server is stopping.", retry_after_s=5)
        if scope["type"] == "http":
            receive = await self._with_body(connection, receive)
        await self._app(scope, receive, send)

    def _caller(self, connection: HTTPConnection) -> Caller:
        if self.row.scope is None:
            return _NOBODY
        try:
            caller = self._credentials.caller(connection)
            check_scope(caller, self.row.scope)
        except Problem:
            if not self._is_open:
                raise
            return _NOBODY
        return caller

    async def _with_body(self, connection: HTTPConnection, receive: Receive) -> Receive:
        """A `receive` that gives the whole body at once, after it came within size and time.

        A streamed body comes in pieces, each of which is measured when the handler takes it.
        """
        limits, rule = self._limits, self.row.body
        largest = rule.largest(limits.max_characters, limits.max_upload_bytes)
        self._check_kind(connection)
        if _declared_bytes(connection) > largest:
            raise _too_large(largest)
        if rule.is_streamed:
            return _counted(receive, largest, limits.body_s)
        try:
            async with asyncio.timeout(limits.body_s):
                body = await _read(receive, largest)
        except TimeoutError:
            raise _too_slow(limits.body_s) from None
        return _replay(body, receive)

    def _check_kind(self, connection: HTTPConnection) -> None:
        allowed = self.row.body.media_types
        given = connection.headers.get("content-type", "").partition(";")[0].strip().casefold()
        is_none = self.row.body.is_optional and not given and not has_body(connection)
        if allowed and given not in allowed and not is_none:
            raise Problem(
                415,
                "wrong_content_type",
                f"The content type must be {' or '.join(allowed)}.",
                param="content-type",
            )
        if connection.headers.get("content-encoding", "identity").casefold() != "identity":
            raise Problem(
                415,
                "wrong_content_encoding",
                "A compressed body is not read: send it as it is.",
                param="content-encoding",
            )


def has_body(connection: HTTPConnection) -> bool:
    """Whether a body comes with the request."""
    return "transfer-encoding" in connection.headers or _declared_bytes(connection) > 0


def _declared_bytes(connection: HTTPConnection) -> int:
    length = connection.headers.get("content-length", "0")[:19]
    return int(length) if length.isascii() and length.isdigit() else 0


async def _read(receive: Receive, largest: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "body_cut", "The body ended before it was whole.")
        body += message.get("body", b"")
        if len(body) > largest:
            raise _too_large(largest)
        if not message.get("more_body", False):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body first and then what comes after it: the client's leaving."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return waiting.pop() if waiting else await receive()

    return replayed


def _counted(receive: Receive, largest: int, body_s: float) -> Receive:
    """A `receive` that gives the body as it comes, and a Problem once it is too large or slow."""
    give_up_at = asyncio.get_running_loop().time() + body_s
    n_bytes, is_whole = 0, False

    async def counted() -> Message:
        nonlocal n_bytes, is_whole
        if is_whole:
            return await receive()  # the client's leaving
        try:
            async with asyncio.timeout_at(give_up_at + n_bytes / _SLOWEST_BYTES_PER_S):
                message = await receive()
        except TimeoutError:
            raise _too_slow(body_s + n_bytes / _SLOWEST_BYTES_PER_S) from None
        if message["type"] == "http.disconnect":
            raise Problem(400, "body_cut", "The body ended before it was whole.")
        n_bytes += len(message.get("body", b""))
        is_whole = not message.get("more_body", False)
        if n_bytes > largest:
            raise _too_large(largest)
        return message

    return counted


def _too_slow(body_s: float) -> Problem:
    return Problem(408, "body_too_slow", f"The body did not arrive within {body_s:g} s.")


def _too_large(largest: int) -> Problem:
    words = f"at most {largest} bytes are taken here" if largest else "none is taken here"
    return Problem(413, "body_too_large", f"The body is too large: {words}.")
