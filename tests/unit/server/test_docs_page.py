from pathlib import Path

import pytest

from tests.unit.server.http_parts import Site, site_at

PATHS = (
    "/docs", "/docs/start.js", "/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js",
    "/openapi.json",
)  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return site_at(tmp_path)


@pytest.mark.parametrize("path", PATHS)
def test_the_api_is_described_to_admins_alone(path: str, site: Site) -> None:
    assert site.client().get(path).status_code == 401
    assert site.client(site.speak_key).get(path).status_code == 403
    assert site.client(site.key).get(path).status_code == 200


def test_the_page_works_under_a_strict_policy(site: Site) -> None:
    policy = site.client(site.key).get("/docs").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "SwaggerUIBundle" in site.client(site.key).get("/docs/swagger-ui-bundle.js").text


@pytest.mark.parametrize("name", ["favicon.png", "redoc.standalone.js", "..%2fcore.py", "start"])
def test_only_the_named_files_are_there(name: str, site: Site) -> None:
    assert site.client(site.key).get(f"/docs/{name}").status_code == 404


def test_the_frameworks_own_pages_are_off(site: Site) -> None:
    client = site.client(site.key)
    for path in ("/redoc", "/docs/oauth2-redirect", "/static-offline-docs/redoc.standalone.js"):
        assert client.get(path).status_code == 404
