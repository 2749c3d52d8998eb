import asyncio
from typing import Any

import pytest
from starlette.responses import Response
from starlette.types import Message

from menura.server.border.exchange import Exchange
from menura.server.border.guards import Origin
from menura.server.border.problems import Problem


class Line:
    """Both ends of one request."""

    def __init__(self, method: str = "POST", incoming: tuple[Message, ...] = (), **headers: str):
        self.sent: list[Message] = []
        self._incoming = list(incoming)
        named = [(n.replace("_", "-").encode(), v.encode()) for n, v in headers.items()]
        self.scope: dict[str, Any] = {"type": "http", "method": method, "headers": named}

    def exchange(self) -> Exchange:
        return Exchange(self.scope, self._receive, self._send)

    async def _receive(self) -> Message:
        if not self._incoming:
            await asyncio.Event().wait()
        return self._incoming.pop(0)

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def unread(self) -> int:
        return len(self._incoming)


def piece(n_bytes: int, *, more: bool) -> Message:
    return {"type": "http.request", "body": b"x" * n_bytes, "more_body": more}


def test_an_answer_to_a_whole_request_keeps_the_connection() -> None:
    async def run() -> None:
        line = Line(incoming=(piece(1, more=False),), content_length="1")
        exchange = line.exchange()
        await exchange.receive()
        await exchange.answer(Response("ok"))
        assert "connection" not in line.headers()
        assert [m.get("body") for m in line.sent] == [None, b"ok"]
        assert (exchange.notes.status, exchange.notes.bytes_out) == (200, 2)

    asyncio.run(run())


def test_an_answer_before_the_body_came_reads_on_and_closes() -> None:
    async def run() -> None:
        line = Line(
            incoming=(piece(9, more=True), piece(9, more=True), piece(9, more=False)),
            content_length="27",
        )
        await line.exchange().answer(Response("no", 413))
        assert line.headers()["connection"] == "close"
        assert line.unread == 0
        assert [m.get("body") for m in line.sent] == [None, b"no", b""]
        assert [m.get("more_body", False) for m in line.sent] == [False, True, False]

    asyncio.run(run())


def test_it_reads_on_only_so_far() -> None:
    async def run() -> None:
        pieces = tuple(piece(1 << 20, more=True) for _ in range(40))
        line = Line(incoming=pieces, transfer_encoding="chunked")
        await line.exchange().answer(Response("no", 413))
        assert line.unread == 24
        assert line.sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False} or (
            line.sent[-1]["body"] == b"" and not line.sent[-1].get("more_body", False)
        )

    asyncio.run(run())


def test_a_client_that_is_gone_is_not_waited_for() -> None:
    async def run() -> None:
        line = Line(incoming=({"type": "http.disconnect"},), content_length="27")
        await line.exchange().answer(Response("no", 413))
        assert len(line.sent) == 3

    asyncio.run(run())


def test_a_head_is_answered_as_a_get_without_its_body() -> None:
    async def run() -> None:
        line = Line("HEAD")
        exchange = line.exchange()
        assert exchange.scope["method"] == "GET"
        await exchange.answer(Response("hello"))
        assert line.headers()["content-length"] == "5"
        assert line.sent[1]["body"] == b""
        assert (exchange.notes.method, exchange.notes.bytes_out) == ("HEAD", 0)

    asyncio.run(run())


def test_an_answer_that_fails_in_the_middle_stays_without_an_end() -> None:
    async def run() -> None:
        line = Line("GET")
        exchange = line.exchange()
        await exchange.send({"type": "http.response.start", "status": 200, "headers": []})
        await exchange.send({"type": "http.response.body", "body": b"a", "more_body": True})
        await exchange.refuse(Problem(500, "failure", "words"))
        assert len(line.sent) == 2
        assert line.sent[-1]["more_body"]
        assert exchange.notes.error == "cut: failure"

    asyncio.run(run())


def test_an_answer_that_had_not_begun_tells_the_problem() -> None:
    async def run() -> None:
        line = Line("GET")
        await line.exchange().refuse(Problem(404, "no_such_path", "words"))
        assert line.sent[0]["status"] == 404
        assert b'"no_such_path"' in line.sent[1]["body"]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("given", "is_kept"),
    [("id-1_A", True), ("x" * 65, False), ("a b", False), ("menura_" + "x" * 43, False),
     ("a-menura_x", False)],
)  # fmt: skip
def test_a_clients_own_id_is_kept_unless_it_may_be_a_key(given: str, is_kept: bool) -> None:
    notes = Line(x_request_id=given).exchange().notes
    assert (notes.request_id == given) is is_kept


@pytest.mark.parametrize("value", ["a ", " a", "\ta", "a\r\nb: c", "a\0", "a\x0bb"])
def test_a_header_that_cannot_be_sent_is_known_before_anything_is(value: str) -> None:
    async def run() -> None:
        line = Line("GET")
        exchange = line.exchange()
        with pytest.raises(ValueError, match="cannot be sent"):
            await exchange.answer(Response("ok", headers={"x-menura-ignored": value}))
        assert line.sent == []
        await exchange.refuse(Problem(500, "failure", "words"))
        assert line.sent[0]["status"] == exchange.notes.status == 500

    asyncio.run(run())


@pytest.mark.parametrize("value", ["", "a", "a, b", "a\tb", "\xe9"])
def test_a_header_that_can_be_sent_is(value: str) -> None:
    async def run() -> None:
        line = Line("GET")
        await line.exchange().answer(Response("ok", headers={"x-menura-ignored": value}))
        raw = dict(line.sent[0]["headers"])
        assert raw[b"x-menura-ignored"] == value.encode("latin-1")

    asyncio.run(run())


def test_the_scope_of_the_server_is_not_written_to() -> None:
    line = Line("HEAD")
    line.scope["state"] = {"a": 1}
    exchange = line.exchange()
    exchange.came_from(Origin(is_page=True))
    assert line.scope["state"] == {"a": 1}
    assert line.scope["method"] == "HEAD"
    assert exchange.scope["state"]["origin"].is_page


@pytest.mark.parametrize("name", ["cache-control", "content-security-policy"])
def test_a_page_may_have_rules_of_its_own(name: str) -> None:
    async def run() -> None:
        line = Line("GET")
        await line.exchange().answer(Response("ok", headers={name: "mine"}))
        assert line.headers()[name] == "mine"

    asyncio.run(run())


def test_a_websocket_is_counted_and_closed_as_broken() -> None:
    async def run() -> None:
        line = Line()
        line.scope = {"type": "websocket", "headers": []}
        exchange = line.exchange()
        await exchange.send({"type": "websocket.accept", "headers": []})
        await exchange.send({"type": "websocket.send", "text": "abc", "bytes": None})
        await exchange.refuse(Problem(500, "failure", "words"))
        assert line.sent[-1] == {"type": "websocket.close", "code": 1011}
        assert (exchange.notes.status, exchange.notes.bytes_out) == (101, 3)
        assert line.headers()["x-request-id"] == exchange.notes.request_id

    asyncio.run(run())
