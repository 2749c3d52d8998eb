import pytest
from starlette.types import Scope

from menura.server.border.guards import HeadGuard, Origin, preflight
from menura.server.border.problems import Problem
from menura.server.server_settings import ServerSettings

Headers = dict[str, str]


def scope(headers: Headers, *, method: str = "GET", query: str = "", path: str = "/") -> Scope:
    named = {"host": "localhost:8000", **headers}
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in named.items()],
    }


def guard(**settings: object) -> HeadGuard:
    return HeadGuard(ServerSettings.parse(settings))


def status(refused: Scope, **settings: object) -> int:
    with pytest.raises(Problem) as caught:
        guard(**settings).check(refused)
    return caught.value.status_code


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:9", "[::1]:8000"])
def test_this_machines_own_names_are_right(host: str) -> None:
    assert guard().check(scope({"host": host})) == Origin()


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "localhost@evil.example", "evil.example#localhost",
     "", "localhost:", "localhost:80:80", "localhost.", "[::2]", "10.0.0.1", "a b", "\xe9"],
)  # fmt: skip
def test_another_host_name_is_refused(host: str) -> None:
    assert status(scope({"host": host})) == 421


def test_a_request_without_a_host_is_refused() -> None:
    nameless = scope({})
    nameless["headers"] = []
    assert status(nameless) == 421


def test_a_bare_address_is_right_only_where_the_server_listens_on_all() -> None:
    for host in ("192.168.1.2:8000", "[2001:db8::1]"):
        assert status(scope({"host": host})) == 421
        guard(host="0.0.0.0").check(scope({"host": host}))
    assert status(scope({"host": "evil.example"}), host="0.0.0.0") == 421
    guard(host_names="menura.local").check(scope({"host": "Menura.Local:8000"}))


@pytest.mark.parametrize(
    ("origin", "host"),
    [("http://localhost:8000", "localhost:8000"), ("https://LOCALHOST", "localhost"),
     ("http://127.0.0.1:8000", "127.0.0.1:8000"), ("http://[::1]:8000", "[::1]:8000")],
)  # fmt: skip
def test_the_servers_own_page_is_known(origin: str, host: str) -> None:
    found = guard().check(scope({"origin": origin, "host": host}, method="POST"))
    assert found.is_own_page


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost:3000", "http://localhost", "",
     "http://127.0.0.1:8000", "localhost:8000", "http://localhost:8000.evil.example",
     "http://evil.example@localhost:8000", "file://", "chrome-extension://abc"],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE"])
def test_a_page_of_another_site_is_refused(origin: str, method: str) -> None:
    assert status(scope({"origin": origin}, method=method)) == 403


def test_an_allowed_site_is_known_by_its_name_and_gets_no_credentials() -> None:
    found = guard(cors="https://a.example").check(scope({"origin": "https://A.example"}))
    assert (found.allowed_site, found.is_own_page) == ("https://A.example", False)
    headers = found.headers()
    assert headers["access-control-allow-origin"] == "https://A.example"
    assert "access-control-allow-credentials" not in headers
    assert status(scope({"origin": "https://a.example.evil"}), cors="https://a.example") == 403
    assert status(scope({"origin": "null"}), cors="https://a.example") == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize(
    ("mode", "dest"), [("no-cors", "image"), ("no-cors", "audio"), ("navigate", "iframe"),
                       ("no-cors", "script")],
)  # fmt: skip
def test_what_another_site_embeds_is_refused(site: str, mode: str, dest: str) -> None:
    headers = {"sec-fetch-site": site, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    assert status(scope(headers)) == 403


@pytest.mark.parametrize("site", ["cross-site", "none", "same-origin"])
def test_a_link_to_the_page_may_be_followed(site: str) -> None:
    headers = {"sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert guard().check(scope(headers)) == Origin()


@pytest.mark.parametrize(
    "query",
    ["key=a", "KEY=a", "api_key=", "api-key=x", "x=1&access_token=y", "xi-api-key=z", "%6bey=a",
     "x=menura_abc", "menura_abc", "x=a%20menura%5Fabc", "token"],
)  # fmt: skip
def test_a_key_in_the_address_is_refused(query: str) -> None:
    assert status(scope({}, query=query)) == 400


def test_other_parameters_are_left_alone() -> None:
    guard().check(scope({}, query="output_format=mp3_44100_128&monkey=1"))
    assert status(scope({}, query="&".join(["a=1"] * 200))) == 400


def test_heads_have_a_size() -> None:
    assert status(scope({f"x-{n}": "1" for n in range(120)})) == 431
    assert status(scope({"x": "1" * 17_000})) == 431
    assert status(scope({}, path="/" + "a" * 5000)) == 414
    assert status(scope({}, query="a" * 5000)) == 414
    guard().check(scope({f"x-{n}": "1" for n in range(90)}))


@pytest.mark.parametrize("name", ["host", "origin", "authorization", "content-type"])
def test_a_header_that_decides_must_not_come_twice(name: str) -> None:
    twice = scope({})
    twice["headers"] += [(name.encode(), b"localhost:8000")] * 2
    assert status(twice) == 400


def test_a_body_of_two_lengths_is_refused() -> None:
    assert status(scope({"content-length": "1", "transfer-encoding": "chunked"})) == 400


def test_a_websocket_has_the_same_rules() -> None:
    opened = scope({"origin": "http://evil.example"})
    opened["type"] = "websocket"
    del opened["method"]
    assert status(opened) == 403


ASKED = {"origin": "https://a.example", "access-control-request-method": "POST"}


def test_a_preflight_of_an_allowed_site_is_answered() -> None:
    asked = scope({**ASKED, "access-control-request-private-network": "true"}, method="OPTIONS")
    origin = guard(cors="https://a.example").check(asked)
    headers = preflight(asked, origin)
    assert headers is not None
    assert headers["access-control-allow-origin"] == "https://a.example"
    assert "authorization" in headers["access-control-allow-headers"]
    assert headers["access-control-allow-private-network"] == "true"
    assert "access-control-allow-credentials" not in headers


def test_openais_client_may_send_its_own_headers_from_an_allowed_site() -> None:
    wanted = "authorization, X-Stainless-OS, x\r\ny, \u00e9, ,openai-beta"
    asked = scope({**ASKED, "access-control-request-headers": wanted}, method="OPTIONS")
    headers = preflight(asked, guard(cors="https://a.example").check(asked))
    assert headers is not None
    assert headers["access-control-allow-headers"] == (
        "authorization, content-type, openai-beta, x-request-id, x-stainless-os, xi-api-key"
    )


def test_other_requests_are_no_preflights() -> None:
    site = Origin(is_page=True, allowed_site="https://a.example")
    assert preflight(scope(ASKED, method="POST"), site) is None
    assert preflight(scope({"origin": "https://a.example"}, method="OPTIONS"), site) is None
    assert preflight(scope(ASKED, method="OPTIONS"), Origin(is_page=True)) is None
