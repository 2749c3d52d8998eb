"""/v1/store and /v1/status through the real application: pull, cancel, go on, check, unload."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import httpx
import pytest

from menura.server.border.keys import KeyStore, key_file
from menura.server.routes import Scope
from tests.served_app import Served, served, tone_model
from tests.unit.store.fake_hub import (
    QWEN,
    FakeHub,
    files_of,
    running_hub,
    safetensors,
    use_clean_home,
)

NAME = "qwen3-tts-0.6b-base"
STORE = "/v1/store"
_POLL_S = 0.05
Answer = dict[str, object]


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub that has one small model, for this process and for those that it starts."""
    use_clean_home(monkeypatch, tmp_path / "home")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home" / "hf"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with running_hub(monkeypatch) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        running.repos[QWEN] = {**files_of(NAME), "model.safetensors": safetensors(2_000_000)}
        yield running


def on_server(folder: Path, ask: Callable[[Served, httpx.AsyncClient], Awaitable[None]]) -> None:
    async def run() -> None:
        async with served(tone_model(folder)) as server, server.client() as client:
            try:
                await ask(server, client)
            finally:
                await server.parts.jobs.close()

    asyncio.run(run())


async def asked(client: httpx.AsyncClient, verb: str, name: str = NAME, **body: object) -> Answer:
    answer = await client.post(f"{STORE}/models/{name}/{verb}", json=body)
    assert answer.status_code == 200, answer.text
    found: Answer = answer.json()
    return found


async def until(
    client: httpx.AsyncClient, started: Answer, is_enough: Callable[[Answer], bool]
) -> Answer:
    """The job, when enough of it is done."""
    job = started["job"]
    async with asyncio.timeout(120):
        while True:
            assert isinstance(job, dict)
            if is_enough(job):
                return job
            await asyncio.sleep(_POLL_S)  # as a page asks: the hub's thread must run too
            job = (await client.get(f"{STORE}/jobs/{job['id']}")).json()["job"]


def is_over(job: Answer) -> bool:
    return job["state"] != "running"


async def model_of(client: httpx.AsyncClient, name: str) -> Answer:
    rows: list[Answer] = (await client.get(f"{STORE}/models")).json()["data"]
    return next(row for row in rows if row["name"] == name)


def test_a34_a_model_is_pulled_checked_and_served_then(tmp_path: Path, hub: FakeHub) -> None:
    async def ask(server: Served, client: httpx.AsyncClient) -> None:
        assert (await model_of(client, NAME))["state"] == "absent"
        started = await asked(client, "pull")
        job = await until(client, started, is_over)
        assert (job["state"], job["kind"], job["model"]) == ("done", "pull", NAME), job
        total = sum(map(len, hub.repos[QWEN].values()))
        assert (job["done_bytes"], job["total_bytes"]) == (total, total)
        row = await model_of(client, NAME)
        assert (row["state"], row["is_complete"], row["n_bytes"]) == ("cold", True, total)
        models = (await client.get("/v1/models")).json()["data"]
        assert NAME in [model["id"] for model in models]
        job = await until(client, await asked(client, "verify", full=True), is_over)
        report = job["report"]
        assert isinstance(report, dict)
        assert report["ok"] is False  # it is a stand-in, and that is seen
        assert str(tmp_path) not in str(report)
        jobs = (await client.get(f"{STORE}/jobs")).json()["data"]
        assert [each["kind"] for each in jobs] == ["verify", "pull"]

    on_server(tmp_path, ask)


def test_a_cancelled_pull_goes_on_where_it_stopped(tmp_path: Path, hub: FakeHub) -> None:
    hub.hold("model.safetensors", after=4_000_000)

    async def ask(server: Served, client: httpx.AsyncClient) -> None:
        started = await asked(client, "pull")
        job = await until(client, started, lambda job: int(str(job["done_bytes"])) >= 3_000_000)
        again = await client.post(f"{STORE}/models/{NAME}/pull", json={})
        assert again.json()["job"]["id"] == job["id"]
        other = await client.post(f"{STORE}/models/echo-tts-base/pull", json={})
        assert (other.status_code, other.json()["error"]["code"]) == (409, "job_running")
        ended = (await client.delete(f"{STORE}/jobs/{job['id']}")).json()["job"]
        assert ended["state"] == "cancelled"
        assert (await model_of(client, NAME))["state"] == "absent"
        hub.let_go()
        job = await until(client, await asked(client, "pull"), is_over)
        assert job["state"] == "done", job
        codec = "speech_tokenizer/model.safetensors"
        n_codec = len(hub.ranges(codec))
        first, *later = hub.ranges("model.safetensors")[:-n_codec]
        assert first == ""
        assert later
        assert all(int(each.removeprefix("bytes=").rstrip("-")) >= 3_000_000 for each in later)

    on_server(tmp_path, ask)


def test_a_pull_that_fails_says_why(tmp_path: Path, hub: FakeHub) -> None:
    hub.status["model.safetensors"] = 404

    async def ask(server: Served, client: httpx.AsyncClient) -> None:
        job = await until(client, await asked(client, "pull"), is_over)
        assert job["state"] == "failed"
        assert "404" in str(job["message"])

    on_server(tmp_path, ask)


@pytest.mark.parametrize(
    ("name", "verb", "body", "status", "code"),
    [
        ("someone%2Fsmall", "pull", {}, 404, "no_such_path"),
        ("small", "pull", {}, 404, "model_not_found"),
        ("..", "pull", {}, 404, "no_such_path"),
        ("https:example.com", "pull", {}, 404, "model_not_found"),
        ("builtin", "pull", {}, 400, "invalid_value"),
        (NAME, "pull", {"source": "https://evil.example"}, 400, "invalid_value"),
        ("builtin-emma", "pull", {"source": "modelscope"}, 400, "unsupported"),
        ("nothing", "verify", {}, 404, "model_not_found"),
        ("nothing", "load", {}, 404, "model_not_found"),
        (NAME, "load", {}, 404, "model_not_found"),
        (NAME, "unload", {}, 404, "model_not_found"),
    ],
)
def test_a33_a34_only_what_the_catalogue_has_is_brought(
    name: str, verb: str, body: Answer, status: int, code: str, tmp_path: Path, hub: FakeHub
) -> None:
    async def ask(server: Served, client: httpx.AsyncClient) -> None:
        answer = await client.post(f"{STORE}/models/{name}/{verb}", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text
        assert (await client.get(f"{STORE}/jobs")).json()["data"] == []

    on_server(tmp_path, ask)
    assert hub.seen == []


def test_a35_only_an_administrator_may_change_or_watch(tmp_path: Path, hub: FakeHub) -> None:
    async def ask(server: Served, client: httpx.AsyncClient) -> None:
        limited = KeyStore(key_file()).add("speaks", frozenset({Scope.SPEAK, Scope.VOICES})).key
        client.headers["authorization"] = f"Bearer {limited}"
        for verb in ("pull", "verify", "load", "unload"):
            answer = await client.post(f"{STORE}/models/{NAME}/{verb}", json={})
            assert answer.status_code == 403, verb
        for path in (f"{STORE}/jobs", f"{STORE}/jobs/job_1", "/v1/status", "/v1/status/requests"):
            assert (await client.get(path)).status_code == 403, path
        assert (await client.delete(f"{STORE}/jobs/job_1")).status_code == 403
        seen = await client.get(f"{STORE}/models")
        assert seen.status_code == 200
        assert str(tmp_path) not in seen.text

    on_server(tmp_path, ask)


def test_a_model_is_loaded_and_unloaded_but_not_from_under_a_speaker(
    tmp_path: Path, hub: FakeHub
) -> None:
    async def ask(server: Served, client: httpx.AsyncClient) -> None:
        row = (await asked(client, "load", "tones"))["model"]
        assert isinstance(row, dict)
        assert row["state"] in ("cold", "loading", "ready")
        answer = await client.post("/v1/audio/speech", json={"input": "one two"})
        assert answer.status_code == 200
        row = await model_of(client, "tones")
        assert (row["state"], row["rows"], row["is_default"]) == ("ready", 0, True)
        assert int(str(row["rss_bytes"])) > 0
        wire, task = server.begin("/v1/audio/speech", {"input": "ENDLESS", "voice": "low"})
        await wire.until(lambda wire: wire.has_begun)
        answer = await client.post(f"{STORE}/models/tones/unload", json={})
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "model_in_use")
        wire.hang_up()
        await task
        while (await client.post(f"{STORE}/models/tones/unload", json={})).is_error:
            await model_of(client, "tones")
        row = await model_of(client, "tones")
        assert (row["state"], row["rss_bytes"], row["idle_s"]) == ("cold", 0, None)

    on_server(tmp_path, ask)


def test_the_status_tells_of_models_requests_and_settings(tmp_path: Path, hub: FakeHub) -> None:
    async def ask(server: Served, client: httpx.AsyncClient) -> None:
        await client.post("/v1/audio/speech", json={"input": "one secret two", "voice": "low"},
                          headers={"x-request-id": "mine"})  # fmt: skip
        await client.get("/v1/models/none")
        status = (await client.get("/v1/status")).json()
        assert status["requests"] == {"live": 1, "total": 3}
        assert status["models"][0]["name"] == "tones"
        assert status["uptime_s"] >= 0
        settings = {each["name"]: each for each in status["settings"]}
        assert settings["mark"] == {
            "name": "mark", "value": True, "source": "default",
            "help": "Mark files as synthetic speech in their tags.",
        }  # fmt: skip
        assert settings["server.port"]["value"] == 8000
        answer = await client.get("/v1/status/requests")
        last, first = answer.json()["data"]
        assert (last["status"], last["route"]) == (404, "/v1/models/{model_id}")
        assert (first["id"], first["route"], first["status"]) == ("mine", "/v1/audio/speech", 200)
        assert (first["model"], first["characters"], first["finish"]) == ("tones", 14, "stop")
        assert first["audio_s"] == pytest.approx(0.6)
        assert first["ms"] > 0
        assert "secret" not in answer.text
        assert server.key not in answer.text + str(status)

    on_server(tmp_path, ask)
