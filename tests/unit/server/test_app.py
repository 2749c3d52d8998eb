"""The table of routes is the whole of what is served, and each row is guarded."""

from pathlib import Path

import pytest
from fastapi.routing import APIRoute
from starlette.routing import WebSocketRoute

from menura.errors import InvalidValueError
from menura.server.app import ROUTES
from menura.server.border.row_guard import RowGuard
from menura.server.routes import Route, Scope
from tests.unit.server.http_parts import Site, site_at

# What answers without a key. A row that is to join them is a decision: it is written here.
OPEN = {
    ("GET", "/"), ("GET", "/static/{name}"), ("GET", "/health"), ("GET", "/ready"),
    ("GET", "/session"), ("POST", "/session"), ("DELETE", "/session"),
}  # fmt: skip
LISTS = {
    ("GET", "/v1/models"), ("GET", "/v1/audio/models"), ("GET", "/v1/audio/voices"),
    ("GET", "/v1/voices"),
}  # fmt: skip
ADMIN = {
    ("GET", "/metrics"), ("GET", "/docs"), ("GET", "/docs/{name}"), ("GET", "/openapi.json"),
    ("GET", "/v1/status"), ("GET", "/v1/status/requests"), ("GET", "/v1/store/jobs"),
    ("GET", "/v1/store/jobs/{job_id}"), ("DELETE", "/v1/store/jobs/{job_id}"),
    ("POST", "/v1/store/models/{name}/pull"), ("POST", "/v1/store/models/{name}/verify"),
    ("POST", "/v1/store/models/{name}/load"), ("POST", "/v1/store/models/{name}/unload"),
}  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return site_at(tmp_path, ROUTES)


def named(rows: list[Route]) -> set[tuple[str, str]]:
    return {(method, row.path) for row in rows for method in row.methods}


def test_everything_that_is_served_is_a_guarded_row_of_the_table(site: Site) -> None:
    guards = []
    for route in site.app.routes:
        assert isinstance(route, (APIRoute, WebSocketRoute)), route
        assert isinstance(route.app, RowGuard), route.path
        row = route.app.row
        assert route.path == row.path
        if isinstance(route, APIRoute):
            assert route.methods == set(row.methods)
            assert route.endpoint is row.handler
        else:
            assert row.methods == ("WS",)
        guards.append(row)
    assert guards == list(ROUTES)


def test_only_the_listed_rows_are_open(site: Site) -> None:
    assert named([row for row in ROUTES if row.scope is None]) == OPEN
    assert named([row for row in ROUTES if row.scope is Scope.ADMIN]) == ADMIN
    assert named([row for row in ROUTES if row.is_voice_list]) <= LISTS


def test_every_row_that_takes_a_body_says_how_large_and_of_which_kind() -> None:
    for row in ROUTES:
        if row.methods == ("WS",):
            assert 0 < row.body.max_bytes <= 1 << 20, row.path
        elif row.body.is_streamed:
            assert 0 < row.body.largest(4096, 25_000_000) <= 100_000_000, row.path
            assert row.body.media_types, row.path
        elif {"POST", "PATCH"} & set(row.methods):
            assert 0 < row.body.largest(4096) <= 1 << 20, row.path
            assert row.body.media_types, row.path
        else:
            assert row.body.largest(10**6) == 0, row.path


def test_no_method_and_path_is_taken_twice() -> None:
    pairs = [(method, row.path) for row in ROUTES for method in row.methods]
    assert len(pairs) == len(set(pairs))


def test_a_row_has_words(site: Site) -> None:
    for row in ROUTES:
        assert row.summary
        assert row.handler.__doc__
        assert row.media_types


def test_the_document_says_how_keys_are_given_and_what_errors_look_like(site: Site) -> None:
    document = site.client(site.key).get("/openapi.json").json()
    assert set(document["components"]["securitySchemes"]) == {"bearer", "xi-api-key", "cookie"}
    assert "HTTPValidationError" not in document["components"]["schemas"]
    for path, operations in document["paths"].items():
        for operation in operations.values():
            assert "422" not in operation["responses"], path
            shape = operation["responses"]["4XX"]["content"]["application/json"]["schema"]
            assert shape == {"$ref": "#/components/schemas/ErrorBody"}
    speech = document["paths"]["/v1/audio/speech"]["post"]
    assert {"bearer": []} in speech["security"]
    assert "security" not in document["paths"]["/health"]["get"]


def test_the_document_says_what_every_json_answer_is(site: Site) -> None:
    paths = site.client(site.key).get("/openapi.json").json()["paths"]
    shapes = {}
    for path, operations in paths.items():
        for method, operation in operations.items():
            content = operation["responses"]["200"]["content"]
            if "application/json" in content:
                shapes[method, path] = content["application/json"]["schema"].get("$ref", "")
    assert {shape: at for at, shape in shapes.items() if not shape} == {}
    assert shapes["get", "/v1/models"].endswith("/ModelList")


def test_the_document_has_the_bounds_of_a_seed_as_they_are(site: Site) -> None:
    document = site.client(site.key).get("/openapi.json").json()
    seed = document["components"]["schemas"]["SpeechBody"]["properties"]["seed"]["anyOf"][0]
    assert (seed["minimum"], seed["exclusiveMaximum"]) == (0, 2**63)


def test_unsafe_settings_make_no_application(tmp_path: Path) -> None:
    with pytest.raises(InvalidValueError, match="reached from outside"):
        site_at(tmp_path, host="0.0.0.0", no_key=True)


def test_a_site_can_be_given_a_table_of_its_own(tmp_path: Path) -> None:
    client = site_at(tmp_path).client()
    assert client.get("/v1/models").status_code == 401


def test_a_handler_may_give_a_type_which_the_document_then_has(tmp_path: Path) -> None:
    site = site_at(tmp_path)
    answer = site.client(site.key).get("/typed")
    assert (answer.status_code, answer.json()) == (200, {"words": ["a", "b"]})
    document = site.client(site.key).get("/openapi.json").json()
    good = document["paths"]["/typed"]["get"]["responses"]["200"]["content"]
    assert good == {"application/json": {"schema": {"$ref": "#/components/schemas/Answer"}}}
