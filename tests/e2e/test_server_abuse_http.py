"""What attackers send over HTTP: the cases A11 to A13, A17 to A22, A25 and A39 of the abuse list.

The real table of routes behind the real gate; the pool of models must never be asked for anything.
"""

import asyncio
import gzip
import json
import logging
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from random import Random

import pytest
from starlette.testclient import TestClient, WebSocketDenialResponse

from menura import __version__
from menura.server.app import ROUTES
from menura.server.border import wrong_keys
from menura.server.routes import FORM, JSON, Route, Scope
from tests.unit.server.http_parts import ADDRESS, WS_ADDRESS, Site, site_at
from tests.unit.server.http_socket import Door, listening

SPEECH = "/v1/audio/speech"
BODY = {"model": "tts-1", "input": "Hello.", "voice": "alloy"}
ROWS = [(row, method) for row in ROUTES for method in row.methods]
GUARDED = [(row, method) for row, method in ROWS if row.scope is not None]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return site_at(tmp_path, ROUTES)


def path_of(row: Route) -> str:
    return row.path.replace("{", "").replace("}", "")


def status_of(client: TestClient, method: str, path: str, **headers: str) -> int:
    """The status of an empty request; of a WebSocket, that of the refusal."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if method != "WS":
        named["content-type"] = JSON
        return client.request(method, ADDRESS + path, headers=named).status_code
    opening = client.websocket_connect(WS_ADDRESS + path, headers=named)
    with pytest.raises(WebSocketDenialResponse) as caught, opening:
        pass
    status: int = caught.value.status_code
    return status


def on_socket(site: Site, test: Callable[[Door], Awaitable[None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(120), listening(site.app, site.parts.limits) as door:
            await test(door)

    asyncio.run(run())


def head(site: Site, *lines: str, path: str = SPEECH, method: str = "POST") -> bytes:
    key = f"Authorization: Bearer {site.speak_key}"
    first = f"{method} {path} HTTP/1.1"
    return "\r\n".join([first, "Host: localhost", key, *lines, "", ""]).encode()


# Sizes and slowness: case 11.


def test_a11_a_body_of_two_gigabytes_is_refused_unread(site: Site) -> None:
    async def test(door: Door) -> None:
        peer = await door.connect()
        peer.write(head(site, f"Content-Type: {JSON}", "Content-Length: 2147483648"))
        answer = await peer.answer()
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b"connection: close" in answer.lower()
        assert await peer.rest() == b""

    on_socket(site, test)


def test_a11_a_client_that_sends_too_much_can_still_read_why(site: Site) -> None:
    async def test(door: Door) -> None:
        peer = await door.connect()
        peer.write(head(site, f"Content-Type: {JSON}", f"Content-Length: {8 << 20}"))
        peer.write(b"x" * (8 << 20))
        assert (await peer.answer()).startswith(b"HTTP/1.1 413 ")

    on_socket(site, test)


def test_a11_a_body_without_a_length_stops_at_the_cap(site: Site) -> None:
    async def test(door: Door) -> None:
        peer = await door.connect()
        peer.write(head(site, f"Content-Type: {JSON}", "Transfer-Encoding: chunked"))
        for _ in range(32):
            peer.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
        assert (await peer.answer()).startswith(b"HTTP/1.1 413 ")

    on_socket(site, test)


def test_a11_ten_thousand_tiny_chunks_are_one_body(site: Site) -> None:
    async def test(door: Door) -> None:
        peer = await door.connect()
        peer.write(head(site, f"Content-Type: {JSON}", "Transfer-Encoding: chunked"))
        peer.write(b"1\r\n[\r\n" * 10_000 + b"0\r\n\r\n")
        answer = await peer.answer()
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"nested deeper" in answer

    on_socket(site, test)


@pytest.mark.parametrize("framing", ["Content-Length: 1000", "Transfer-Encoding: chunked"])
def test_a11_a_body_that_drips_is_told_so_and_cut(framing: str, tmp_path: Path) -> None:
    site = site_at(tmp_path, ROUTES, body_s=0.2)

    async def test(door: Door) -> None:
        peer = await door.connect()
        peer.write(head(site, f"Content-Type: {JSON}", framing) + b"1")
        answer = await peer.answer()
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert await peer.rest() == b""

    on_socket(site, test)


@pytest.mark.parametrize(
    "lines", [["X: " + "a" * 1_000_000], ["a: b"] * 10_000, [f"x-{n}: 1" for n in range(150)]]
)
def test_a11_a_flood_of_headers_is_refused(lines: list[str], site: Site) -> None:
    async def test(door: Door) -> None:
        peer = await door.connect()
        peer.write(head(site, *lines, path="/health", method="GET"))
        answer = await peer.answer()
        assert answer.startswith(b"HTTP/1.1 431 ")
        assert b'"invalid_request_error"' in answer
        assert (await door.ask(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")).startswith(
            b"HTTP/1.1 200 "
        )

    on_socket(site, test)


HARM = (b"\r\n", b"\0", b"9" * 30, b"a: b\r\n", b"Transfer-Encoding: chunked\r\n", b"\xff" * 5,
        b"Content-Length: 99999999999999999999\r\n", b";" * 3)  # fmt: skip


def harmed(request: bytes, random: Random) -> bytes:
    """The request with a few bytes changed, left out, put in or cut off."""
    changed = bytearray(request)
    for _ in range(random.randrange(5)):
        place = random.randrange(len(changed) + 1)
        match random.randrange(4):
            case 0:
                changed[place : place + 1] = random.randbytes(1)
            case 1:
                del changed[place : place + random.randrange(1, 20)]
            case 2:
                changed[place:place] = random.choice(HARM)
            case _:
                del changed[max(place, 1) :]
    return bytes(changed)


def test_harmed_requests_are_answered_or_closed_and_nothing_breaks(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = site_at(tmp_path, ROUTES, body_s=0.2)
    content = (f"Content-Type: {JSON}", "Transfer-Encoding: chunked")
    requests = (
        head(site, path="/health", method="GET"),
        head(site, path="/v1/none", method="HEAD"),
        head(site, f"Content-Type: {JSON}", "Content-Length: 13") + b'{"input": 1}\n',
        head(site, *content) + b'd\r\n{"input": 1}\n\r\n0\r\n\r\n',
    )
    random = Random(7)
    harm = [harmed(request, random) for request in requests for _ in range(60)]

    async def test(door: Door) -> None:
        answers = await asyncio.gather(*(door.first(request) for request in harm))
        assert {answer[:9] for answer in answers} <= {b"HTTP/1.1 ", b""}
        assert len({answer[9:12] for answer in answers}) >= 5
        assert (await door.first(requests[0])).startswith(b"HTTP/1.1 200 ")

    on_socket(site, test)
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR] == []


# Packed bodies: case 12.


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "x-unknown"])
def test_a12_a_packed_body_is_not_unpacked(encoding: str, site: Site) -> None:
    packed = gzip.compress(b" " * 10_000_000)
    answer = site.client(site.speak_key).post(
        SPEECH, content=packed, headers={"content-type": JSON, "content-encoding": encoding}
    )
    assert answer.status_code == 415


# JSON: case 13.


@pytest.mark.parametrize(
    "body",
    ['{"input": ' + "[" * 10_000 + "]" * 10_000 + "}", "[" * 60_000,
     '{"input": "a", "input": "b"}', '{"speed": NaN}', '{"speed": Infinity}', '{"speed": 1e400}',
     '{"input": "\\ud800"}', '{"\\udfff": 1}', '{"seed": ' + "9" * 5000 + "}", "{", '"text"', "3",
     "null", "[]", "", "\x00", "{}\x00"],
)  # fmt: skip
def test_a13_json_that_is_odd_is_a_400(body: str, site: Site) -> None:
    answer = site.client(site.speak_key).post(
        SPEECH, content=body.encode(), headers={"content-type": JSON}
    )
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert set(error) == {"message", "type", "param", "code"}


WRONG: dict[str, list[object]] = {
    "input": [None, 3, True, [], {}, ["a"]],
    "model": [3, True, [], {}],
    "voice": [3, True, [], {}, {"id": 3}, {"name": "x"}],
    "instructions": [3, [], {}, "x" * 5000],
    "response_format": [3, [], {}, "ogg3"],
    "speed": ["fast", True, [], 0.1, 100, -1, 1e308],
    "stream_format": ["xml", 3, []],
    "seed": ["a", -1, 2**70, 1.5, []],
    "split": ["maybe", [], 3],
    "options": [3, "a", []],
    "stream": ["maybe", []],
}


@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in WRONG.items() for value in values]
)
def test_a13_a_wrong_type_names_its_field(field: str, value: object, site: Site) -> None:
    answer = site.client(site.speak_key).post(SPEECH, json={**BODY, field: value})
    assert answer.status_code == 400, answer.text
    assert str(answer.json()["error"]["param"]).startswith(field)


# Web pages: case 17 to 19.


@pytest.mark.parametrize(("row", "method"), ROWS)
def test_a17_a_name_that_an_attacker_points_here_gets_nothing(
    row: Route, method: str, site: Site
) -> None:
    client = site.client(site.key)
    for host in ("evil.example", "evil.example:8000", "localhost.evil.example"):
        assert status_of(client, method, path_of(row), host=host) == 421


@pytest.mark.parametrize(("row", "method"), ROWS)
def test_a18_a_page_of_another_site_gets_nothing(row: Route, method: str, site: Site) -> None:
    client = site.client(site.key)
    for origin in ("https://evil.example", "http://localhost:3000", "null"):
        assert status_of(client, method, path_of(row), origin=origin) == 403


@pytest.mark.parametrize("key", [False, True])
def test_a18_a_form_or_plain_text_never_reaches_a_handler(key: bool, tmp_path: Path) -> None:
    site = site_at(tmp_path, ROUTES, no_key=not key)
    client = site.client(site.key if key else None)
    for row, method in ROWS:
        if method == "POST":
            kinds = {"text/plain", "application/x-www-form-urlencoded", FORM}
            for kind in sorted(kinds - set(row.body.media_types)):
                content = json.dumps(BODY).encode()
                answer = client.post(path_of(row), content=content, headers={"content-type": kind})
                assert answer.status_code == 415, row.path


def test_a18_an_embedded_image_or_sound_gets_nothing(tmp_path: Path) -> None:
    client = site_at(tmp_path, ROUTES, no_key=True).client()
    for row, method in ROWS:
        if method == "GET":
            for site_word in ("cross-site", "same-site"):
                answer = client.get(
                    path_of(row),
                    headers={"sec-fetch-site": site_word, "sec-fetch-mode": "no-cors",
                             "sec-fetch-dest": "image"},
                )  # fmt: skip
                assert answer.status_code == 403, row.path


def test_a18_no_get_changes_anything() -> None:
    verbs = {method for _, method in ROWS}
    assert verbs <= {"GET", "POST", "PATCH", "DELETE", "WS"}
    for row, method in ROWS:
        if method == "GET":
            assert row.body.largest(10**6) == 0


def test_a19_a_preflight_from_nowhere_is_not_allowed(tmp_path: Path) -> None:
    site = site_at(tmp_path, ROUTES, cors="https://reader.example")
    for origin, status in (("null", 403), ("https://evil.example", 403),
                           ("https://reader.example", 204)):  # fmt: skip
        answer = site.client().options(
            SPEECH,
            headers={"origin": origin, "access-control-request-method": "POST",
                     "access-control-request-headers": "authorization"},
        )  # fmt: skip
        assert answer.status_code == status
        allowed = answer.headers.get("access-control-allow-origin")
        assert allowed == (origin if status == 204 else None)
        assert "access-control-allow-credentials" not in answer.headers


def test_a19_without_a_list_no_site_is_allowed(site: Site) -> None:
    answer = site.client(site.key).get("/health", headers={"origin": "https://reader.example"})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


# Keys, on every row and every way of writing its path: case 20.


def spellings(path: str) -> Iterator[str]:
    yield path
    yield path + "/"
    yield "/" + path
    yield path.replace("/", "//")
    yield path.upper()
    yield path.replace("v1", "%761").replace("docs", "%64ocs").replace("metrics", "%6detrics")
    yield "/." + path
    yield "/x/.." + path
    yield path + "%00"
    yield path + "%20"
    yield path + ";a=1"


@pytest.mark.parametrize(("row", "method"), GUARDED)
def test_a20_no_spelling_of_a_path_leads_around_its_key(
    row: Route, method: str, site: Site
) -> None:
    assert row.scope is not None
    anonymous, wrong = site.client(), site.client("menura_wrong")
    others = {Scope.SPEAK: site.voices_key, Scope.VOICES: site.speak_key,
              Scope.ADMIN: site.speak_key}  # fmt: skip
    limited = site.client(others[row.scope])
    for path in spellings(path_of(row)):
        assert status_of(anonymous, method, path) == 401, path
        assert status_of(wrong, method, path) in (401, 429), path
        refused = status_of(limited, method, path)
        # A spelling that is the row itself needs its scope; another one is no path at all.
        assert refused == 403 if path == path_of(row) else refused in (403, 404, 405), path


@pytest.mark.parametrize("verb", ["HEAD", "OPTIONS", "PUT", "PATCH", "TRACE", "DELETE", "FOO"])
@pytest.mark.parametrize(("row", "method"), GUARDED)
def test_a20_no_other_verb_leads_around_the_key(
    row: Route, method: str, verb: str, site: Site
) -> None:
    assert site.client().request(verb, path_of(row)).status_code == 401
    none_of_these = next(scope for scope in Scope if scope not in scopes_at(path_of(row)))
    key = site.parts.keys.add("may do something else", frozenset({none_of_these})).key
    limited = site.client(key).request(verb, path_of(row))
    assert limited.status_code in (403, 404, 405)


def scopes_at(path: str) -> set[Scope | None]:
    """The scopes of all rows that a path may mean."""
    return {
        row.scope
        for row in ROUTES
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", row.path), path) is not None
    }


def test_a20_what_is_open_is_open_and_nothing_more(site: Site) -> None:
    client = site.client()
    for row, method in ROWS:
        if row.scope is None and method == "GET":
            path = row.path.replace("{name}", "icon.svg")
            assert client.get(path).status_code == 200
            assert client.get(path + "/").status_code in (200, 401) if path == "/" else True
    assert client.get("/v1/models").status_code == 401


def test_a20_the_voice_list_switch_opens_exactly_the_lists(tmp_path: Path) -> None:
    site = site_at(tmp_path, ROUTES, open_voice_list=True)
    client = site.client()
    for row, method in GUARDED:
        if not row.is_voice_list:
            assert status_of(client, method, path_of(row)) == 401, row.path


# WebSockets: case 20.


def test_a20_a_websocket_is_refused_before_it_opens(site: Site) -> None:
    own = {"origin": "http://localhost:8000"}
    client = site.client()
    assert status_of(client, "WS", "/v1/stream") == 401
    assert status_of(client, "WS", "/v1/stream", **own) == 401
    assert status_of(client, "WS", "/v1/stream?key=a") == 400
    assert status_of(site.client(site.voices_key), "WS", "/v1/stream") == 403
    client.post("/session", json={"key": site.key}, headers=own)
    assert status_of(client, "WS", "/v1/stream") == 401  # the cookie without our own page
    assert status_of(client, "WS", "/v1/stream", origin="http://localhost:3000") == 403
    assert status_of(site.client(site.key), "WS", "/v1/none") == 404


# Keys in addresses and logs: case 21.


@pytest.mark.parametrize("name", ["key", "api_key", "api-key", "apikey", "token", "access_token",
                                  "xi-api-key", "Authorization", "x"])  # fmt: skip
def test_a21_a_key_in_the_address_is_refused_and_not_repeated(
    name: str, site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = site.client().get(f"/v1/models?{name}={site.key}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "key_in_address")
    assert site.key not in answer.text + str(answer.headers)
    assert site.key not in "".join(str(vars(record)) for record in named(caplog))


def named(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    """The lines of the server's own, without those of the test's client."""
    return [record for record in caplog.records if record.name.startswith(("menura", "uvicorn"))]


def test_a21_no_key_is_ever_shown(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client = site.client(site.key)
    paths = ("/metrics", "/openapi.json", "/docs", "/none", f"/{site.key}", "/session", "/")
    shown = [client.get(path).text for path in paths]
    shown.append(client.post(SPEECH, json={"input": 3}).text)
    shown.append(client.post("/session", json={"key": site.key + "x"}).text)
    shown += [str(vars(record)) for record in named(caplog)]
    assert len(named(caplog)) >= 9
    for secret in (site.key, site.key.removeprefix("menura_"), site.speak_key):
        assert secret not in "".join(shown)


# Guessing: case 22.


def test_a22_a_thousand_wrong_keys_are_slowed_and_lock_nobody_out(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wrong_keys, "WINDOW_S", 3_600.0)  # a slow machine needs over a minute
    wrong, right = site.client("menura_wrong"), site.client(site.key)
    statuses = [wrong.get("/openapi.json").status_code for _ in range(1000)]
    assert statuses == [401] * 20 + [429] * 980
    assert right.get("/openapi.json").status_code == 200
    assert site.client().get("/health").status_code == 200
    assert "menura_wrong_keys_total 1000.0" in right.get("/metrics").text


# Control characters: case 25.


def test_a25_no_header_or_path_writes_into_the_log_or_the_answer(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    client = site.client(site.speak_key)
    odd = "a\r\nset-cookie: x=1"
    answers = [
        client.get("/%0d%0aset-cookie:%20x=1/%1b[31m"),
        client.post(SPEECH, json={**BODY, "response_format": odd + "\x1b[31m\u202e"}),
        client.get("/health", headers={"x-request-id": "a\tb"}),
    ]
    for answer in answers:
        assert "set-cookie" not in answer.headers
        assert "\x1b" not in answer.text
        assert "\u202e" not in answer.text
    for record in named(caplog):
        line = str(record.__dict__.get("request", "")) + record.getMessage()
        assert "set-cookie" not in line
        assert "\x1b" not in line


# What is told to whom: case 39.


def test_a39_without_admin_nothing_tells_paths_keys_or_versions(site: Site, tmp_path: Path) -> None:
    for client in (site.client(), site.client(site.speak_key)):
        for path in ("/", "/health", "/ready", "/metrics", "/docs", "/openapi.json", "/none",
                     "/static/app.js", "/session"):  # fmt: skip
            answer = client.get(path)
            told = answer.text + str(answer.headers)
            for secret in (__version__, str(tmp_path), "uvicorn", "FastAPI", "Python", "starlette"):
                assert secret not in told, path
    assert site.client(site.speak_key).get("/metrics").status_code == 403
