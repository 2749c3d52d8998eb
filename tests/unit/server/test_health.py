from pathlib import Path

import pytest

from menura.errors import ModelFilesError
from tests.unit.server.http_parts import ShownModel, Site, site_at


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return site_at(tmp_path)


def test_health_says_only_that_it_is_well(site: Site) -> None:
    answer = site.client().get("/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_a_cold_server_is_ready(site: Site) -> None:
    assert site.client().get("/ready").json() == {"status": "ready"}


@pytest.mark.parametrize(
    ("state", "status"),
    [("cold", 200), ("ready", 200), ("loading", 503), ("restarting", 503), ("failing", 503)],
)
def test_readiness_is_the_default_models(state: str, status: int, site: Site) -> None:
    site.pool.models = [ShownModel(state=state), ShownModel("other", "loading")]
    answer = site.client().get("/ready")
    assert answer.status_code == status
    if status == 503:
        assert answer.json()["error"]["code"] == state


def test_a_default_model_that_cannot_be_used_is_not_ready(site: Site) -> None:
    site.pool.faults["builtin"] = ModelFilesError("/somewhere is damaged.")
    answer = site.client().get("/ready")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "failing")
    assert "somewhere" not in answer.text


def test_a_server_that_stops_is_alive_and_not_ready(site: Site) -> None:
    site.app.state.readiness.draining = True
    client = site.client(site.key)
    assert client.get("/health").status_code == 200
    unready = client.get("/ready")
    assert (unready.status_code, unready.json()["error"]["code"]) == (503, "draining")
    assert client.get("/list").status_code == 200
    refused = client.post("/echo", json={"text": "a"})
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "draining")


def test_a_head_is_enough_for_those_who_watch(site: Site) -> None:
    answer = site.client().head("/health")
    assert (answer.status_code, answer.content) == (200, b"")


def test_the_numbers_are_the_admins(site: Site) -> None:
    site.pool.models = [ShownModel()]
    assert site.client(site.speak_key).get("/metrics").status_code == 403
    answer = site.client(site.key).get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    assert 'menura_rows{model="builtin"} 3.0' in answer.text
    assert 'menura_queue_depth{model="builtin"} 5.0' in answer.text
