import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.requests import HTTPConnection
from starlette.types import Message, Receive, Scope, Send

from menura.server.border.credentials import Credentials
from menura.server.border.guards import Origin
from menura.server.border.keys import KeyStore
from menura.server.border.metrics import Metrics
from menura.server.border.problems import Problem
from menura.server.border.request_log import RequestNotes
from menura.server.border.row_guard import Readiness, RowGuard, has_body
from menura.server.routes import JSON, NO_BODY, UPLOAD, BodyRule, Route
from menura.server.routes import Scope as KeyScope
from menura.server.server_settings import ServerSettings


async def nothing() -> None:
    """The handler of rows whose application is the test's own."""


BODY = BodyRule(10, (JSON,), bytes_per_character=1)
SPEAK_ROW = Route("/speak", ("POST",), KeyScope.SPEAK, BODY, nothing, "Speak")
OPEN_ROW = Route("/open", ("POST",), None, BODY, nothing, "Open")
BARE_ROW = Route("/bare", ("GET",), None, NO_BODY, nothing, "Bare")
JSON_HEADERS = {"content-type": JSON}


class Guarded:
    """A guarded row whose application keeps what it read."""

    def __init__(self, folder: Path, row: Route, **settings: object) -> None:
        self.keys = KeyStore(folder / "keys.json")
        self.readiness = Readiness()
        limits = ServerSettings.parse({"max_characters": 5, "body_s": 5, **settings})
        credentials = Credentials(self.keys, limits, Metrics())
        self.guard = RowGuard(self._answer, row, credentials, limits, self.readiness)
        self.read: list[Message] = []
        self.notes = RequestNotes("req_1", "POST")

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.read.append(await receive())

    def call(self, messages: list[Message], headers: dict[str, str], kind: str = "http") -> None:
        waiting = list(messages)

        async def receive() -> Message:
            if not waiting:
                await asyncio.Event().wait()
            return waiting.pop(0)

        async def send(message: Message) -> None:
            raise AssertionError(message)

        asyncio.run(self.guard(self.scope(headers, kind), receive, send))

    def scope(self, headers: dict[str, str], kind: str) -> Scope:
        named = [(name.encode(), value.encode()) for name, value in headers.items()]
        state = {"notes": self.notes, "origin": Origin()}
        return {"type": kind, "method": "POST", "headers": named, "client": None, "state": state}

    def problem(self, messages: list[Message], headers: dict[str, str]) -> Problem:
        with pytest.raises(Problem) as caught:
            self.call(messages, headers)
        assert self.read == []
        return caught.value


def body(*pieces: bytes) -> list[Message]:
    last = len(pieces) - 1
    return [
        {"type": "http.request", "body": piece, "more_body": number < last}
        for number, piece in enumerate(pieces)
    ]


def test_a_body_within_its_size_arrives_whole(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, OPEN_ROW)
    guarded.call(body(b"12345", b"67890", b"12345"), JSON_HEADERS)
    assert guarded.read == body(b"123456789012345")
    assert guarded.notes.route == "/open"


def test_one_byte_more_is_too_large_however_it_comes(tmp_path: Path) -> None:
    for messages, headers in (
        (body(b"1" * 16), {}),
        (body(*[b"1"] * 16), {"transfer-encoding": "chunked"}),
        (body(b"1" * 16), {"content-length": "3"}),
    ):
        problem = Guarded(tmp_path, OPEN_ROW).problem(messages, {**JSON_HEADERS, **headers})
        assert (problem.status_code, problem.code) == (413, "body_too_large")


def test_a_declared_size_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    headers = {**JSON_HEADERS, "content-length": str(2 << 30)}
    assert Guarded(tmp_path, OPEN_ROW).problem([], headers).status_code == 413


def test_a_body_where_none_belongs_is_refused(tmp_path: Path) -> None:
    assert Guarded(tmp_path, BARE_ROW).problem(body(b"1"), {}).status_code == 413
    guarded = Guarded(tmp_path, BARE_ROW)
    guarded.call(body(b""), {})
    assert guarded.read == body(b"")


def test_a_body_that_takes_too_long_is_refused(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, OPEN_ROW, body_s=0.1)
    unfinished: list[Message] = [{"type": "http.request", "body": b"1", "more_body": True}]
    assert guarded.problem(unfinished, JSON_HEADERS).status_code == 408


def test_a_client_that_leaves_in_the_middle_ends_it(tmp_path: Path) -> None:
    left: list[Message] = [
        {"type": "http.request", "body": b"1", "more_body": True},
        {"type": "http.disconnect"},
    ]
    assert Guarded(tmp_path, OPEN_ROW).problem(left, JSON_HEADERS).code == "body_cut"


@pytest.mark.parametrize(
    "headers",
    [{}, {"content-type": "text/plain"}, {"content-type": "application/x-www-form-urlencoded"},
     {"content-type": "multipart/form-data"}, {"content-type": "application/jsonp"},
     {"content-type": "text/plain; application/json"}, {**JSON_HEADERS, "content-encoding": "gzip"},
     {**JSON_HEADERS, "content-encoding": "deflate, gzip"}],
)  # fmt: skip
def test_only_plain_json_is_read(headers: dict[str, str], tmp_path: Path) -> None:
    assert Guarded(tmp_path, OPEN_ROW).problem(body(b"{}"), headers).status_code == 415


def test_an_optional_body_that_is_not_there_needs_no_kind(tmp_path: Path) -> None:
    row = replace(OPEN_ROW, body=replace(BODY, is_optional=True))
    guarded = Guarded(tmp_path, row)
    guarded.call(body(b""), {})
    assert guarded.read == body(b"")
    for headers in (
        {"content-length": "2"},
        {"transfer-encoding": "chunked"},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded", "content-length": "0"},
    ):
        assert Guarded(tmp_path, row).problem(body(b"{}"), headers).status_code == 415


def test_json_may_have_parameters_and_say_that_it_is_not_packed(tmp_path: Path) -> None:
    headers = {"content-type": "Application/JSON; charset=utf-8", "content-encoding": "identity"}
    guarded = Guarded(tmp_path, OPEN_ROW)
    guarded.call(body(b"{}"), headers)
    assert guarded.read == body(b"{}")


def test_the_key_comes_before_the_body(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, SPEAK_ROW)
    assert guarded.problem([], {}).status_code == 401
    voices = guarded.keys.add("voices", frozenset({KeyScope.VOICES})).key
    assert guarded.problem([], {"xi-api-key": voices}).status_code == 403
    speaks = guarded.keys.add("speaks", frozenset({KeyScope.SPEAK}))
    guarded.call(body(b"{}"), {**JSON_HEADERS, "xi-api-key": speaks.key})
    assert guarded.notes.key == speaks.record.id


def test_a_websocket_needs_its_scope_and_no_content_type(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, SPEAK_ROW)
    key = guarded.keys.add("speaks", frozenset({KeyScope.SPEAK})).key
    opened: Message = {"type": "websocket.connect"}
    guarded.call([opened], {"xi-api-key": key}, "websocket")
    assert guarded.read == [opened]
    with pytest.raises(Problem, match="needs a key"):
        guarded.call([opened], {}, "websocket")


def test_a_server_that_stops_takes_no_more_work_but_still_answers(tmp_path: Path) -> None:
    guarded = Guarded(tmp_path, SPEAK_ROW)
    guarded.readiness.draining = True
    key = guarded.keys.add("speaks", frozenset({KeyScope.SPEAK})).key
    problem = guarded.problem(body(b"{}"), {**JSON_HEADERS, "xi-api-key": key})
    assert (problem.status_code, problem.retry_after_s) == (503, 5)
    health = Guarded(tmp_path, BARE_ROW)
    health.readiness.draining = True
    health.call(body(b""), {})
    assert health.read == body(b"")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [({}, False), ({"content-length": "0"}, False), ({"content-length": "1"}, True),
     ({"transfer-encoding": "chunked"}, True), ({"content-length": "x"}, False)],
)  # fmt: skip
def test_a_body_is_seen_in_the_headers(headers: dict[str, str], expected: bool) -> None:
    named = [(name.encode(), value.encode()) for name, value in headers.items()]
    assert has_body(HTTPConnection({"type": "http", "headers": named})) is expected


STREAMED = Route("/up", ("POST",), None, BodyRule(10, (JSON,), is_streamed=True), nothing, "Up")
UPLOADS = Route("/up", ("POST",), None, UPLOAD, nothing, "Up")


class Streamed(Guarded):
    """A guarded row whose application reads to the body's end, and once more."""

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        while not self.read or self.read[-1].get("more_body"):
            self.read.append(await receive())
        with suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                self.read.append(await receive())


def piece(body: bytes, *, more: bool = True) -> Message:
    return {"type": "http.request", "body": body, "more_body": more}


def test_a_streamed_body_comes_in_its_pieces(tmp_path: Path) -> None:
    guarded = Streamed(tmp_path, STREAMED)
    sent = [piece(b"12345"), piece(b""), piece(b"67890", more=False), {"type": "http.disconnect"}]
    guarded.call(list(sent), JSON_HEADERS)
    assert guarded.read == sent


def test_a_streamed_body_over_the_cap_ends_where_it_passes_it(tmp_path: Path) -> None:
    guarded = Streamed(tmp_path, STREAMED)
    with pytest.raises(Problem) as caught:
        guarded.call([piece(b"12345"), piece(b"678901"), piece(b"", more=False)], JSON_HEADERS)
    assert (caught.value.status_code, caught.value.code) == (413, "body_too_large")
    assert guarded.read == [piece(b"12345")]


def test_a_streamed_body_that_drips_or_ends_early_is_given_up(tmp_path: Path) -> None:
    for sent, status in (([piece(b"1")], 408), ([{"type": "http.disconnect"}], 400)):
        with pytest.raises(Problem) as caught:
            Streamed(tmp_path, STREAMED, body_s=0.1).call(list(sent), JSON_HEADERS)
        assert caught.value.status_code == status


def test_an_upload_may_be_as_large_as_the_settings_say(tmp_path: Path) -> None:
    headers = {"content-type": "multipart/form-data; boundary=a"}
    for size, status in ((1_000_000 + UPLOAD.max_bytes, 200), (1_000_001 + UPLOAD.max_bytes, 413)):
        guarded = Streamed(tmp_path, UPLOADS, max_upload_mb=1)
        declared = {**headers, "content-length": str(size)}
        if status == 200:
            guarded.call([piece(b"x", more=False)], declared)
            continue
        with pytest.raises(Problem) as caught:
            guarded.call([piece(b"x", more=False)], declared)
        assert caught.value.status_code == status
