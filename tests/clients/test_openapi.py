"""Schemathesis asks the server what its OpenAPI document allows, and what it does not allow."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients import foreign
from tests.clients.conftest import warm
from tests.serving_process import Told, serving, tone_model

pytestmark = pytest.mark.clients

_LIMIT_S = 900  # of what takes two minutes on a quiet machine
# Each of these must come as far as a good answer, or all that is wrong behind it stays unseen.
REACHED = (
    "POST /v1/audio/speech",
    "POST /v1/text-to-speech/{voice_id}",
    "POST /v1/text-to-speech/{voice_id}/stream",
    "GET /v1/audio/voices",
    "GET /v1/voices",
    "GET /v1/voices/broken",
    "GET /v1/audio/voice_consents",
    "GET /v1/models",
    "GET /v1/models/{model_id}",
    "GET /metrics",
    "GET /ready",
)


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A server of its own: it is asked with wrong keys, which are counted for each address."""
    folder = tmp_path_factory.mktemp("documented")
    tone = tone_model(folder / "tone")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")  # a pull that is asked for goes nowhere
        with serving(folder / "home", "--model", tone, "--per-key", "64") as told:
            yield warm(told)


@pytest.fixture(scope="module")
def found(documented: Told, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What schemathesis reports of a run; its rules are in `schemathesis.toml`."""
    report = tmp_path_factory.mktemp("openapi") / "report.json"
    done = subprocess.run(
        [
            foreign.program("schemathesis", "schemathesis"),
            f"--config-file={Path(__file__).with_name('schemathesis.toml')}",
            "run",
            f"{documented.address}/openapi.json",
            "--no-color",
            "--report=json",
            f"--report-json-path={report}",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=_LIMIT_S,
        cwd=report.parent,
        env=os.environ | {"MENURA_KEY": documented.key},
    )
    assert report.is_file(), done.stdout[-3000:] + done.stderr[-3000:]
    print(done.stdout)  # noqa: T201 - shown where a test fails
    result: dict[str, Any] = json.loads(report.read_text())
    return result


def test_no_request_brings_the_server_to_a_failure(found: dict[str, Any]) -> None:
    assert found["failures"] == []
    assert found["errors"] == []
    assert found["complete"] is True


def test_every_operation_was_asked(found: dict[str, Any]) -> None:
    operations = found["operations"]
    assert operations["tested"] == operations["total"] >= len(REACHED)
    assert found["test_cases"]["generated"] > 500


@pytest.mark.parametrize("operation", REACHED)
def test_what_can_be_answered_was_answered(operation: str, found: dict[str, Any]) -> None:
    rates = found["valid_rates"][operation].values()
    assert sum(rate["accepted"] for rate in rates) > 0


def test_the_models_process_has_lived_through_it(found: dict[str, Any], documented: Told) -> None:
    with documented.client() as client:
        metrics = client.get("/metrics").text
    restarts = [line for line in metrics.splitlines() if line.startswith("menura_model_restarts")]
    assert restarts
    assert all(float(line.rpartition(" ")[2]) == 0 for line in restarts)
