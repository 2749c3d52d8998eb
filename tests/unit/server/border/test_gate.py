import json
import logging
from pathlib import Path

import pytest
from starlette.websockets import WebSocketDisconnect

from menura.errors import BusyError, ModelFilesError
from menura.server.border.gate import problem_of_failure
from menura.server.border.problems import Problem
from tests.unit.server.http_parts import SECRET_WORDS, WS_ADDRESS, Site, site_at


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return site_at(tmp_path)


def test_every_answer_has_an_id_and_names_no_version(site: Site) -> None:
    client = site.client(site.key)
    for path in ("/", "/health", "/list", "/none", "/broken"):
        headers = client.get(path).headers
        assert headers["x-request-id"].startswith("req_")
        assert headers["server"] == "menura"
        assert headers["x-content-type-options"] == "nosniff"
        assert "default-src" in headers["content-security-policy"]
        assert headers["vary"].split(", ")[-1] == "origin"


def test_a_clients_own_id_is_kept_where_it_is_a_plain_word(site: Site) -> None:
    client = site.client()
    given = client.get("/health", headers={"x-request-id": "my-id_7"}).headers
    assert given["x-request-id"] == "my-id_7"
    for odd in ("a b", "x" * 65, "a\tb", "<b>", ""):
        made = client.get("/health", headers={"x-request-id": odd}).headers["x-request-id"]
        assert made.startswith("req_")


def test_a_defect_is_a_500_that_says_nothing_and_a_line_with_the_place(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    answer = site.client(site.key).get("/broken")
    assert answer.status_code == 500
    error = answer.json()["error"]
    assert (error["type"], error["code"]) == ("server_error", "failure")
    assert answer.headers["x-request-id"] in error["message"]
    assert answer.headers["x-should-retry"] == "false"
    assert "http_parts.py" in caplog.text
    assert SECRET_WORDS not in caplog.text + answer.text.replace("in broken", "")


def test_a_failure_of_the_server_keeps_its_paths_to_the_log(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    answer = site.client(site.key).get("/damaged")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "invalid_model_files")
    assert "somewhere" not in answer.text
    assert "/somewhere/model.safetensors is damaged." in caplog.text


def test_the_log_has_one_line_a_request_without_words_query_or_key(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "menura.server.requests")
    client = site.client(site.speak_key)
    client.post("/echo?tone=warm", json={"text": SECRET_WORDS})
    [record] = [r for r in caplog.records if r.name == "menura.server.requests"]
    line: dict[str, object] = record.__dict__["request"]
    assert line["route"] == "/echo"
    assert (line["method"], line["status"], line["characters"]) == ("POST", 200, len(SECRET_WORDS))
    assert str(line["key"]).startswith("key_")
    assert line["finish"] == "stop"
    everything = json.dumps(line) + caplog.text
    for secret in (SECRET_WORDS, "warm", site.speak_key):
        assert secret not in everything


def test_an_error_is_named_in_the_log(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "menura.server.requests")
    client = site.client("menura_wrong")
    client.get("/list")
    client.get("/health", headers={"host": "evil.example"})
    lines = [r.__dict__["request"] for r in caplog.records if r.name == "menura.server.requests"]
    assert [(line["status"], line["error"], line["route"]) for line in lines] == [
        (401, "wrong_key", "/list"),
        (421, "wrong_host", "none"),
    ]


def test_requests_are_counted_by_their_template(site: Site) -> None:
    client = site.client(site.key)
    client.get("/static/page.css")
    client.get("/secret-path-of-mine")
    client.post("/echo", json={"text": "words"})
    page = client.get("/metrics").text
    assert 'menura_requests_total{method="GET",route="/static/{name}",status="200"} 1.0' in page
    assert 'menura_requests_total{method="GET",route="none",status="404"} 1.0' in page
    assert 'menura_speeches_total{finish="stop",model="builtin"} 1.0' in page
    assert "secret-path" not in page


def test_a_websocket_that_breaks_is_closed_as_broken(site: Site) -> None:
    with site.client(site.key).websocket_connect(f"{WS_ADDRESS}/broken-talk") as socket:
        with pytest.raises(WebSocketDisconnect) as caught:
            socket.receive_text()
        assert caught.value.code == 1011


def test_an_error_behind_starlettes_own_is_the_one_that_counts() -> None:
    outer = RuntimeError("Caught handled exception, but response already started.")
    outer.__cause__ = BusyError("Busy.", retry_after_s=3)
    problem = problem_of_failure(outer, "req_1")
    assert (problem.status_code, problem.retry_after_s) == (429, 3)


def test_a_problem_stays_what_it_is() -> None:
    problem = Problem(415, "x", "words")
    assert problem_of_failure(problem, "req_1") is problem


def test_only_the_servers_own_faults_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    problem_of_failure(Problem(400, "x", "words"), "req_1")
    assert caplog.text == ""
    problem_of_failure(ModelFilesError("broken"), "req_1")
    assert "req_1: invalid_model_files: broken" in caplog.text
