from pathlib import Path

import pytest

from tests.unit.server.http_parts import ADDRESS, Site, site_at


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return site_at(tmp_path)


def test_every_error_of_the_framework_has_openais_shape(site: Site) -> None:
    client = site.client(site.key)
    answers = {
        404: client.get("/none"),
        405: client.get("/echo"),
        400: client.post("/echo", json={"text": 3}),
        500: client.get("/broken"),
    }
    for status, answer in answers.items():
        assert answer.status_code == status
        assert list(answer.json()) == ["error"]
        assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-should-retry"] == "false"
    assert answers[405].headers["allow"] == "POST"
    assert answers[400].json()["error"]["param"] == "text"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS"])
@pytest.mark.parametrize(
    ("path", "methods"),
    [("/session", "DELETE, GET, HEAD, POST"), ("/health", "GET, HEAD"), ("/echo", "POST")],
)
def test_a_wrong_method_is_told_all_methods_of_the_path(
    path: str, methods: str, method: str, site: Site
) -> None:
    answer = site.client(site.key).request(method, path)
    assert (answer.status_code, answer.headers["allow"]) == (405, methods)


@pytest.mark.parametrize("path", ["/none", "/v1", "/Health", "/health/", "//", "/docs/none",
                                  "/%2e%2e/etc/passwd", "/.env"])  # fmt: skip
def test_without_a_key_what_is_not_there_looks_like_what_is(path: str, site: Site) -> None:
    answer = site.client().get(ADDRESS + path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "missing_key")


def test_with_a_key_a_path_that_is_not_there_is_said_so(site: Site) -> None:
    answer = site.client(site.speak_key).get("/none")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_such_path")


def test_guessing_keys_on_paths_that_are_not_there_is_slowed_too(site: Site) -> None:
    client = site.client("wrong")
    statuses = [client.get("/none").status_code for _ in range(22)]
    assert statuses == [401] * 20 + [429] * 2


@pytest.mark.parametrize("body", ["", "[]", '"x"', "null", "{}"])
def test_a_body_of_another_shape_is_a_400(body: str, site: Site) -> None:
    headers = {"content-type": "application/json"}
    answer = site.client(site.key).post("/echo", content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "invalid_request_error")


def test_json_is_read_strictly_by_every_route(site: Site) -> None:
    headers = {"content-type": "application/json"}
    client = site.client(site.key)
    for body in ('{"text": "a", "text": "b"}', '{"text": "\\ud800"}', '{"text": "a", "x": NaN}'):
        answer = client.post("/echo", content=body, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_json")
    assert client.post("/echo", json={"text": "a", "x": 1}).json()["more"] == {"x": 1}
