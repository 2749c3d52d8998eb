"""What was recorded comes back; what cannot be read is no record."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from menura.models import Hub
from menura.store.records import (
    FileHash,
    FileRecord,
    PullRecord,
    forget_records,
    read_record,
    sha256_of,
    write_record,
)
from tests.unit.store.fake_hub import git_digest, sha256

RECORD = PullRecord(Hub.HUGGINGFACE, "org/name", "refs/pr/1", {"a/b.json": FileRecord(3, "0" * 64)})


def test_a_record_comes_back_as_it_was_written(home: Path) -> None:
    path = write_record(RECORD)
    assert path == (home / "menura/cache/pulled/huggingface--org--name" / "refs%2Fpr%2F1.json")
    assert read_record(Hub.HUGGINGFACE, "org/name", "refs/pr/1") == RECORD
    assert read_record(Hub.MODELSCOPE, "org/name", "refs/pr/1") is None
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "[" * 100_000,
        json.dumps({"schema": 2, "files": {}}),
        json.dumps({"schema": 1}),
        json.dumps({"schema": 1, "files": {"a": 1}}),
        json.dumps({"schema": 1, "files": {"a": {"n_bytes": "1", "sha256": "x"}}}),
        json.dumps({"schema": 1, "files": {"a": {"n_bytes": 1}}}),
    ],
)
def test_a_damaged_record_is_none(content: str) -> None:
    write_record(RECORD).write_text(content)
    assert read_record(Hub.HUGGINGFACE, "org/name", "refs/pr/1") is None


def test_two_that_write_one_record_at_once_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    others = [replace(RECORD, files={"c": FileRecord(1, "1" * 64)})]

    def write_another(_: int) -> None:
        if others:
            write_record(others.pop())

    monkeypatch.setattr("os.fsync", write_another)
    path = write_record(RECORD)
    assert read_record(Hub.HUGGINGFACE, "org/name", "refs/pr/1") == RECORD
    assert list(path.parent.iterdir()) == [path]


def test_a_repository_can_be_forgotten() -> None:
    write_record(RECORD)
    forget_records(Hub.HUGGINGFACE, "org/name")
    forget_records(Hub.HUGGINGFACE, "org/name")
    assert read_record(Hub.HUGGINGFACE, "org/name", "refs/pr/1") is None


@pytest.mark.parametrize("n_bytes", [0, 1, 2**23, 2**23 + 1])
def test_digests_are_those_of_the_whole_file(tmp_path: Path, n_bytes: int) -> None:
    content = bytes(i % 251 for i in range(n_bytes))
    path = tmp_path / "x"
    path.write_bytes(content)
    hashing, git = FileHash(path), FileHash(path, git=True)
    steps = list(hashing.steps())
    assert steps == sorted(set(steps))
    assert sum(steps[-1:]) == n_bytes
    assert hashing.digest == sha256_of(path) == sha256(content)
    list(git.steps())
    assert git.digest == git_digest(content)
