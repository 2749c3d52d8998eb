"""One request and its answer on the wire: what every answer carries, and how one ends badly.

An answer that fails after its first byte is cut: it ends without an end, so that no client takes
it for whole. An answer that goes out before the request was read whole closes the connection, but
reads on for a moment, since a client that still sends would never see it otherwise.
"""

import asyncio
import re
import secrets
from contextlib import suppress

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from menura.server.border.guards import Origin
from menura.server.border.keys import PREFIX
from menura.server.border.problems import Problem
from menura.server.border.request_log import RequestNotes
from menura.server.border.row_guard import has_body

_LINGER_BYTES = 16 * 1024 * 1024
_LINGER_S = 2.0
_GIVEN_ID = re.compile(rf"(?!.*{PREFIX})[A-Za-z0-9_-]{{1,64}}")  # a key is no id
_UNSENDABLE = re.compile(rb"[\x00\n\v\f\r]|\A\s|\s\Z")  # as h11 has it
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_STARTS = ("http.response.start", "websocket.http.response.start", "websocket.accept")
_BODIES = ("http.response.body", "websocket.http.response.body")
_ALWAYS = {
    "server": "menura",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}
_UNLESS_SET = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}


class Exchange:
    """The request as the application sees it, and the way back to the client."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._is_websocket = scope["type"] == "websocket"
        self._receive = receive
        self._send = send
        self._is_head = scope.get("method") == "HEAD"
        self._has_unread_body = not self._is_websocket and has_body(HTTPConnection(scope))
        self.has_started = False
        self._is_open_websocket = False
        self.origin = Origin()
        self.notes = RequestNotes(_request_id(scope), _method(scope))
        state = {**scope.get("state", {}), "notes": self.notes, "origin": self.origin}
        self.scope: Scope = {**scope, "state": state}
        if self._is_head:
            self.scope["method"] = "GET"

    def came_from(self, origin: Origin) -> None:
        """Nothing; what comes after knows where the request came from."""
        self.origin = self.scope["state"]["origin"] = origin

    async def receive(self) -> Message:
        """The next message of the client's."""
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._has_unread_body = False
        elif message["type"] in ("http.disconnect", "websocket.disconnect"):
            self._has_unread_body = self._is_open_websocket = False
        return message

    async def send(self, message: Message) -> None:
        """Nothing, after a message went to the client with what every answer carries."""
        kind = message["type"]
        if kind in _STARTS:
            message = self._started(message)
        elif kind in _BODIES:
            await self._send_body(message)
            return
        elif kind == "websocket.send":
            self.notes.bytes_out += len(message.get("bytes") or message.get("text") or "")
        elif kind == "websocket.close":
            self.has_started, self._is_open_websocket = True, False
            self.notes.status = self.notes.status or 403
        await self._send(message)

    async def answer(self, response: Response) -> None:
        """Nothing, after the whole answer went out."""
        await response(self.scope, self.receive, self.send)

    async def refuse(self, problem: Problem) -> None:
        """Nothing, after the client was told what is wrong, or was cut off in the middle."""
        self.notes.error = problem.code
        if not self.has_started:
            await self.answer(problem.answer())
        elif self._is_open_websocket:
            self.notes.error = f"cut: {problem.code}"
            await self.send({"type": "websocket.close", "code": 1011})
        else:  # the server closes a connection whose answer stays without an end
            self.notes.error = f"cut: {problem.code}"

    def _started(self, message: Message) -> Message:
        is_accept = message["type"] == "websocket.accept"
        status = 101 if is_accept else message["status"]
        headers = MutableHeaders(raw=list(message.get("headers", [])))
        headers["x-request-id"] = self.notes.request_id
        for name, value in {**_ALWAYS, **self.origin.headers()}.items():
            headers[name] = value
        for name, value in _UNLESS_SET.items():
            headers.setdefault(name, value)
        headers.add_vary_header("origin")
        if self._has_unread_body:
            headers["connection"] = "close"
        _check(headers)
        self.has_started = True
        self._is_open_websocket = is_accept
        self.notes.status = status
        return {**message, "headers": headers.raw}

    async def _send_body(self, message: Message) -> None:
        body = b"" if self._is_head else message.get("body", b"")
        self.notes.bytes_out += len(body)
        message = {**message, "body": body}
        if self._has_unread_body and not message.get("more_body", False):
            await self._send({**message, "more_body": True})
            await self._read_on()
            message = {**message, "body": b""}
        await self._send(message)

    async def _read_on(self) -> None:
        """Nothing, after the rest of the request was read, or as much as a moment allows."""
        left = _LINGER_BYTES
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                while self._has_unread_body and left > 0:
                    left -= len((await self.receive()).get("body", b""))


def _check(headers: MutableHeaders) -> None:
    """Nothing, where the headers may go out. The web server would cut the connection over them.

    Raises: ValueError: one may not; nothing has gone out, so the failure can still be told.
    """
    for name, value in headers.raw:
        if _UNSENDABLE.search(value):
            raise ValueError(f"the header {name!r} cannot be sent")


def _method(scope: Scope) -> str:
    """The method's name, for the log and the numbers: strange ones are all the same."""
    if scope["type"] == "websocket":
        return "WS"
    return scope["method"] if scope["method"] in _METHODS else "OTHER"


def _request_id(scope: Scope) -> str:
    """The client's own id where it is a plain one, else a new one."""
    given = Headers(scope=scope).get("x-request-id", "")
    return given if _GIVEN_ID.fullmatch(given) else f"req_{secrets.token_hex(12)}"
