from pathlib import Path

import pytest
from starlette.testclient import TestClient

from menura.server.routes import Scope
from tests.unit.server.http_parts import WS_ADDRESS, Site, site_at

OWN = {"origin": "http://localhost:8000"}
NOBODY = {"signed_in": False, "scopes": [], "label": ""}


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return site_at(tmp_path)


def signed_in(site: Site, key: str) -> TestClient:
    client = site.client()
    assert client.post("/session", json={"key": key}, headers=OWN).status_code == 200
    return client


def test_a_page_signs_in_once_and_then_speaks_with_its_cookie(site: Site) -> None:
    client = site.client()
    assert client.get("/session").json() == NOBODY
    answer = client.post("/session", json={"key": f" {site.speak_key} "}, headers=OWN)
    assert answer.json() == {"signed_in": True, "scopes": ["speak"], "label": "speaks"}
    assert client.get("/session").json() == answer.json()
    assert client.get("/list").status_code == 200
    spoken = client.post("/echo", json={"text": "a"}, headers=OWN)
    assert spoken.json()["owner"].startswith("key_")
    with client.websocket_connect(f"{WS_ADDRESS}/talk", headers=OWN) as socket:
        assert socket.receive_json()["owner"] == spoken.json()["owner"]


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(site: Site) -> None:
    answer = site.client().post("/session", json={"key": site.key}, headers=OWN)
    cookie = answer.headers["set-cookie"].lower()
    for part in ("menura_session_8000=key_", "httponly", "samesite=strict", "path=/", "max-age="):
        assert part in cookie
    assert "secure" not in cookie
    assert site.key.lower() not in cookie


def test_behind_tls_the_cookie_keeps_to_it(site: Site) -> None:
    own = {"origin": "https://localhost:8000"}
    answer = site.client().post("/session", json={"key": site.key}, headers=own)
    assert "secure" in answer.headers["set-cookie"].lower()


def test_a_wrong_key_signs_nobody_in(site: Site) -> None:
    answer = site.client().post("/session", json={"key": "x"}, headers=OWN)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "wrong_key")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("body", [{}, {"key": 1}, {"key": None}, [], "x"])
def test_a_wrong_body_is_a_400(body: object, site: Site) -> None:
    answer = site.client().post("/session", json=body, headers=OWN)
    assert answer.status_code == 400


def test_another_pages_form_signs_nobody_in(site: Site) -> None:
    client = site.client()
    form = client.post("/session", data={"key": site.key})
    assert form.status_code == 415
    foreign = {"origin": "http://evil.example"}
    assert client.post("/session", json={"key": site.key}, headers=foreign).status_code == 403


def test_the_cookie_does_nothing_without_the_servers_own_page(site: Site) -> None:
    client = signed_in(site, site.key)
    assert client.post("/echo", json={"text": "a"}).status_code == 401
    other_port = {"origin": "http://localhost:3000"}
    assert client.post("/echo", json={"text": "a"}, headers=other_port).status_code == 403
    image = {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"}
    assert client.get("/list", headers=image).status_code == 403


def test_an_allowed_site_speaks_with_a_key_and_not_with_the_pages_cookie(tmp_path: Path) -> None:
    site = site_at(tmp_path, cors="http://localhost:3000")
    client = signed_in(site, site.key)
    other = {"origin": "http://localhost:3000"}
    assert client.get("/list", headers=other).status_code == 401
    assert client.post("/echo", json={"text": "a"}, headers=other).status_code == 401
    named = {**other, "authorization": f"Bearer {site.key}"}
    assert client.post("/echo", json={"text": "a"}, headers=named).status_code == 200


def test_signing_out_takes_the_cookie_away(site: Site) -> None:
    client = signed_in(site, site.key)
    assert client.delete("/session", headers=OWN).json() == NOBODY
    assert client.get("/session").json() == NOBODY
    assert client.get("/list").status_code == 401


def test_a_removed_key_signs_its_pages_out(site: Site) -> None:
    client = signed_in(site, site.speak_key)
    [record] = [r for r in site.parts.keys.records() if r.scopes == {Scope.SPEAK}]
    site.parts.keys.remove(record.id)
    assert client.get("/session").json() == NOBODY


def test_a_server_without_keys_needs_no_sign_in(tmp_path: Path) -> None:
    client = site_at(tmp_path, no_key=True).client()
    assert client.get("/session").json()["scopes"] == ["admin", "speak", "voices"]
