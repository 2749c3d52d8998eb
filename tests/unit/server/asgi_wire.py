"""A client's end of one HTTP request without a socket: it reads as it likes, and may hang up."""

import asyncio
import json
from collections.abc import Callable, Mapping

from starlette.types import ASGIApp, Message, Scope


class Wire:
    """The messages of one answer as they come. `opens_after` holds back sends, as a full pipe."""

    def __init__(self, request_body: bytes = b"") -> None:
        self.messages: list[Message] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self._request = [{"type": "http.request", "body": request_body, "more_body": False}]
        self._gone = asyncio.Event()
        self._came = asyncio.Event()

    async def receive(self) -> Message:
        """The request's body, then nothing until the client hangs up."""
        if self._request:
            return self._request.pop()
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Take a message of the answer; waits while the client does not read."""
        await self.reads.wait()
        self.messages.append(message)
        self._came.set()

    def hang_up(self) -> None:
        """The client goes."""
        self._gone.set()

    async def until(self, is_enough: Callable[["Wire"], bool]) -> None:
        """Nothing, when enough of the answer has come."""
        while not is_enough(self):
            self._came.clear()
            await self._came.wait()

    @property
    def has_begun(self) -> bool:
        return bool(self.messages)

    @property
    def is_complete(self) -> bool:
        last = self.messages[-1] if self.messages else {}
        return last.get("type") == "http.response.body" and not last.get("more_body", False)

    @property
    def status(self) -> int:
        assert self.messages[0]["type"] == "http.response.start"
        return int(self.messages[0]["status"])

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def pieces(self) -> list[bytes]:
        return [m["body"] for m in self.messages if m["type"] == "http.response.body" and m["body"]]

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    @property
    def events(self) -> list[dict[str, object]]:
        """The server-sent events, each of which is one `data:` line."""
        found = []
        for event in self.body.decode().split("\n\n")[:-1]:
            assert event.startswith("data: ")
            found.append(json.loads(event.removeprefix("data: ")))
        return found


def post(path: str, headers: Mapping[str, str], query: str = "") -> Scope:
    """The scope of a POST to this path, as a server makes it."""
    named = {"host": "localhost", "content-type": "application/json", **headers}
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8_000),
    }


def sent(app: ASGIApp, wire: Wire, scope: Scope) -> "asyncio.Task[None]":
    """The request on its way through an application, as a task of its own."""

    async def run() -> None:
        await app(scope, wire.receive, wire.send)

    return asyncio.create_task(run())
