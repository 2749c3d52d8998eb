"""What the store's process does, without the process: its words about a pull and a check."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from menura import models
from menura.engines.echo_tts import tiny
from menura.errors import DownloadError
from menura.models import FileReport, Phase, PullProgress, VerifyReport
from menura.server.models.frames import Frame
from menura.server.store import worker


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MENURA_HOME", str(tmp_path / "home"))


def told(**job: object) -> list[Mapping[str, object]]:
    return list(worker.steps_of(Frame(job)))


def test_a_pull_is_told_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def pull(name: str, *, source: str) -> Iterator[PullProgress]:
        asked.append((name, source))
        yield PullProgress(Phase.DOWNLOAD, "a.json", 1, 2, 3, 9)

    monkeypatch.setattr(models, "pull", pull)
    steps = told(kind="pull", model="echo-tts-base", source="modelscope")
    assert asked == [("echo-tts-base", "modelscope")]
    assert steps == [
        {"phase": "download", "file": "a.json", "done_bytes": 3, "total_bytes": 9},
        {"done": {}},
    ]


def test_an_error_is_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    def pull(name: str, *, source: str) -> Iterator[PullProgress]:
        yield PullProgress(Phase.DOWNLOAD, "a.json", 1, 2, 3, 9)
        raise DownloadError("the hub cannot be reached.")

    monkeypatch.setattr(models, "pull", pull)
    steps = told(kind="pull", model="echo-tts-base", source="huggingface")
    assert steps[-1] == {"error": "the hub cannot be reached."}
    assert len(steps) == 2


def test_a_check_ends_with_a_verdict_that_names_no_place_here(tmp_path: Path) -> None:
    folder = tiny.write(tmp_path / "echo")
    weights = next(folder.glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-8])
    *steps, last = told(kind="verify", model=str(folder), full=True)
    report = last["done"]
    assert isinstance(report, dict)
    assert report["ok"] is False
    wrong = [file["name"] for file in report["files"] if file["problems"]]
    assert wrong == [weights.name]
    assert str(tmp_path) not in str(report)
    assert steps
    done = [int(str(step["done_bytes"])) for step in steps]
    assert done == sorted(done)
    assert all(step["phase"] == "check" for step in steps)


def test_the_verdict_says_of_each_file_what_is_wrong() -> None:
    place = Path("/models/a")
    good = FileReport(place, "b.json", 7, notes=("no digest is known",), is_checked=False)
    bad = FileReport(place, "c.json", 8, ("/models/a/c.json: cut", "/models/a is odd"))
    assert worker.report_of(VerifyReport("a", (good, bad))) == {
        "ok": False,
        "files": [
            {"name": "b.json", "n_bytes": 7, "is_checked": False, "problems": [],
             "notes": ["no digest is known"]},
            {"name": "c.json", "n_bytes": 8, "is_checked": True,
             "problems": ["c.json: cut", "the model's folder is odd"], "notes": []},
        ],
    }  # fmt: skip


def test_what_comes_too_soon_is_left_out_but_never_the_last_word() -> None:
    times = iter([0.0, 0.05, 0.2, 0.2])
    steps: list[Mapping[str, object]] = [{"phase": number} for number in range(3)]
    found = list(worker.spaced(iter([*steps, {"done": {}}]), lambda: next(times)))
    assert found == [{"phase": 0}, {"phase": 2}, {"done": {}}]
