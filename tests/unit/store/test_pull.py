"""A pull brings what is needed and nothing else, after a look at the wish and at the disk."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import huggingface_hub
import pytest

from menura.errors import (
    DiskFullError,
    DownloadError,
    InvalidValueError,
    MenuraError,
    ModelNotFoundError,
    UnsupportedError,
)
from menura.models import Hub, Phase, PullProgress, describe_pull, pull, resolve, verify
from menura.store import fetch
from menura.store.cache import hub_cache, hub_repo_folder
from menura.store.records import FileRecord, PullRecord, read_record, write_record
from tests.unit.store.fake_hub import (
    BIG,
    COMMIT,
    QWEN,
    SMALL,
    WEIGHTS,
    FakeHub,
    block_network,
    brought,
    files_of,
    known,
    offer_small,
    partials,
    sha256,
)


def test_a_known_model_arrives_whole_and_is_found_without_network(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = files_of(QWEN)
    hub.repos[QWEN] = {**files, "README.md": b"read me", "training.bin": b"pickle"}
    steps = list(pull("qwen3-tts-0.6b-base"))
    block_network(monkeypatch)
    found = resolve("qwen3-tts-0.6b-base")
    assert found.folders == (brought(QWEN),)
    assert {f.relative_to(brought(QWEN)).as_posix() for f in brought(QWEN).rglob("*.*")} == set(
        files
    )
    assert all((brought(QWEN) / name).read_bytes() == files[name] for name in files)
    total = sum(map(len, files.values()))
    assert steps[-1] == PullProgress(Phase.DONE, "", 0, 0, total, total)
    done = [step.done_bytes for step in steps]
    assert done == sorted(done)
    assert partials() == []


def test_huggingface_hub_sees_what_was_pulled_as_its_own(hub: FakeHub) -> None:
    offer_small(hub)
    list(pull(SMALL))
    assert huggingface_hub.snapshot_download(SMALL, local_files_only=True) == str(brought())
    assert huggingface_hub.try_to_load_from_cache(SMALL, WEIGHTS) == str(brought() / WEIGHTS)
    cache = huggingface_hub.scan_cache_dir()
    assert [repo.repo_id for repo in cache.repos] == [SMALL]
    assert cache.warnings == []


def test_the_sha256_of_every_file_is_recorded(hub: FakeHub) -> None:
    offer_small(hub)
    list(pull(SMALL))
    record = read_record(Hub.HUGGINGFACE, SMALL, COMMIT)
    assert record is not None
    assert record.files == {
        "config.json": FileRecord(2, sha256(b"{}")),
        WEIGHTS: FileRecord(len(BIG), sha256(BIG)),
    }


def test_progress_counts_the_file_and_the_whole_pull(hub: FakeHub) -> None:
    offer_small(hub)
    steps = [step for step in pull(SMALL) if step.file == WEIGHTS]
    total = len(BIG) + 2
    first, *_, last = [step for step in steps if step.phase is Phase.DOWNLOAD]
    assert 2**20 <= first.file_done_bytes < len(BIG)
    assert first == PullProgress(
        Phase.DOWNLOAD,
        WEIGHTS,
        first.file_done_bytes,
        len(BIG),
        first.file_done_bytes + 2,
        total,
    )
    assert last == PullProgress(Phase.DOWNLOAD, WEIGHTS, len(BIG), len(BIG), total, total)
    assert steps[-1] == PullProgress(Phase.CHECK, WEIGHTS, len(BIG), len(BIG), total, total)


def test_a_second_pull_brings_nothing_again(hub: FakeHub) -> None:
    offer_small(hub)
    list(pull(SMALL))
    hub.seen.clear()
    assert [(step.phase, step.done_bytes) for step in pull(SMALL)] == [
        (Phase.CHECK, 2),
        (Phase.CHECK, 2 + len(BIG)),
        (Phase.DONE, 2 + len(BIG)),
    ]
    assert [path for path, _, _ in hub.seen] == [f"/api/models/{SMALL}/revision/main"]


@pytest.mark.parametrize("name", ["config.json", WEIGHTS])
def test_a_pull_repairs_what_was_damaged_since_the_last_one(hub: FakeHub, name: str) -> None:
    offer_small(hub)
    list(pull(SMALL))
    content = bytearray((brought() / name).read_bytes())
    content[-1] ^= 1
    (brought() / name).resolve().write_bytes(content)
    assert not verify(SMALL).ok
    hub.seen.clear()
    list(pull(SMALL))
    assert [hub.ranges(other) for other in ("config.json", WEIGHTS) if other != name] == [[]]
    assert hub.ranges(name) == [""]
    assert verify(SMALL).ok
    assert (brought() / name).read_bytes() == hub.repos[SMALL][name]


def test_two_voices_of_one_repository_are_recorded_side_by_side(hub: FakeHub) -> None:
    offer_small(hub)
    earlier = FileRecord(1, "0" * 64)
    write_record(PullRecord(Hub.HUGGINGFACE, SMALL, COMMIT, {"another.onnx": earlier}))
    list(pull(SMALL))
    record = read_record(Hub.HUGGINGFACE, SMALL, COMMIT)
    assert record is not None
    assert sorted(record.files) == ["another.onnx", "config.json", WEIGHTS]
    assert record.files["another.onnx"] == earlier


def test_several_threads_can_pull_one_model_at_once(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_small(hub)
    monkeypatch.setattr(fetch, "_LOCK_WAIT_S", 60.0)
    together = threading.Barrier(5)

    def pull_together(_: int) -> PullProgress:
        together.wait(60)
        return list(pull(SMALL, revision="v1"))[-1]

    with ThreadPoolExecutor(5) as threads:
        phases = [last.phase for last in threads.map(pull_together, range(5))]
    assert phases == [Phase.DONE] * 5
    assert len(hub.ranges(WEIGHTS)) == 1
    assert verify(SMALL).ok
    assert list(hub_cache().parent.parent.rglob("*.tmp")) == []


def test_a_folder_of_records_that_cannot_be_written_is_named(hub: FakeHub, home: Path) -> None:
    offer_small(hub)
    records = home / "menura" / "cache" / "pulled"
    records.parent.mkdir(parents=True)
    records.write_text("a file where the folder should be")
    with pytest.raises(DownloadError, match="MENURA_HOME can name another folder") as caught:
        list(pull(SMALL))
    assert f"cannot read or write below {records}" in caught.value.message
    assert str(hub_cache()) not in caught.value.message


def test_another_revision_gets_its_own_reference(hub: FakeHub) -> None:
    offer_small(hub)
    list(pull(SMALL, revision="refs/pr/1"))
    assert hub.seen[0][0] == f"/api/models/{SMALL}/revision/refs%2Fpr%2F1"
    assert (hub_repo_folder(SMALL) / "refs" / "refs" / "pr" / "1").read_text() == COMMIT


def test_a_full_disk_is_noticed_before_anything_is_brought(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer_small(hub)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1_000_000}))
    with pytest.raises(DiskFullError, match=f"needs {len(BIG) + 2:,} more bytes.* 1,000,000 free"):
        list(pull(SMALL))
    assert len(hub.seen) == 1


def test_what_is_here_already_needs_no_room(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    offer_small(hub)
    hub.cuts[WEIGHTS] = [len(BIG) - 100, 0]
    with pytest.raises(DownloadError):
        list(pull(SMALL))
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 100}))
    list(pull(SMALL))
    assert (brought() / WEIGHTS).read_bytes() == BIG


def test_a_repository_that_lost_a_needed_file_is_refused(hub: FakeHub) -> None:
    hub.repos[QWEN] = {name: c for name, c in files_of(QWEN).items() if name != "vocab.json"}
    with pytest.raises(DownloadError, match=r"has no vocab\.json"):
        list(pull(QWEN))


def test_a_repository_without_safetensors_is_refused(hub: FakeHub) -> None:
    hub.repos[SMALL] = {"config.json": b"{}", "pytorch_model.bin": b"pickle"}
    with pytest.raises(UnsupportedError, match="no safetensors"):
        list(pull(SMALL))


def test_a_built_in_voice_must_be_the_registrys_file(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    emma = known("builtin-emma")
    name = emma.repos[0].files[0].name
    hub.repos[emma.repos[0].hub_id] = {name: b"an onnx file", "voices/other.onnx": b"x"}
    with pytest.raises(DownloadError, match="not the file that this Menura was made for"):
        list(pull("builtin-emma"))
    file = replace(emma.repos[0].files[0], n_bytes=12, sha256=sha256(b"an onnx file"))
    shrunk = replace(emma, repos=(replace(emma.repos[0], files=(file,)),))
    monkeypatch.setattr("menura.store.pull.lookup", lambda _: shrunk)
    list(pull("builtin-emma"))
    assert [f.name for f in brought(emma.repos[0].hub_id).rglob("*.onnx")] == ["bf_emma.int8.onnx"]


REFUSED: dict[str, tuple[dict[str, str], type[MenuraError], str]] = {
    "a typo": ({"name": "qwen3-tts-0.6-base"}, ModelNotFoundError, "Did you mean 'qwen3-tts-0.6b"),
    "a path": ({"name": "../x"}, ModelNotFoundError, "neither a known name"),
    "a NUL": ({"name": "a/b\0"}, ModelNotFoundError, "neither a known name"),
    "the built-in voice": ({"name": "builtin"}, InvalidValueError, "needs no pull"),
    "a source": ({"name": QWEN, "source": "modelscop"}, InvalidValueError, "Did you mean 'modelsc"),
    "a revision": ({"name": QWEN, "revision": "../../x"}, InvalidValueError, "not the name of a"),
    "Echo from ModelScope": (
        {"name": "echo-tts-base", "source": "modelscope"}, UnsupportedError, "not known to be on",
    ),
}  # fmt: skip


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("case", sorted(REFUSED))
def test_a_wish_that_cannot_be_met_is_refused_before_any_contact(case: str) -> None:
    arguments, error, message = REFUSED[case]
    with pytest.raises(error, match=message):
        list(pull(**arguments))
    with pytest.raises(error, match=message):
        describe_pull(**arguments)


@pytest.mark.usefixtures("no_network")
def test_the_plan_of_a_known_model_needs_no_network() -> None:
    plan = describe_pull("jordand/echo-tts-base")
    assert plan.name == "echo-tts-base"
    assert [(file.hub_id, file.name) for file in plan.files] == [
        ("jordand/echo-tts-base", "pytorch_model.safetensors"),
        ("jordand/echo-tts-base", "pca_state.safetensors"),
        ("jordand/fish-s1-dac-min", "pytorch_model.safetensors"),
        ("jordand/fish-s1-dac-min", "config.json"),
    ]
    assert plan.total_bytes == 7_472_913_000
    assert plan.is_approximate
    assert plan.licence.startswith("CC-BY-NC-SA-4.0")
    assert plan.target == hub_cache()
    assert plan.free_bytes > 0


def test_the_plan_of_an_unknown_repository_is_the_hubs_answer(hub: FakeHub) -> None:
    offer_small(hub)
    hub.repos[SMALL]["weights.bin"] = b"pickle"
    hub.licence = "mit"
    plan = describe_pull(SMALL)
    assert [(file.name, file.n_bytes) for file in plan.files] == [
        ("config.json", 2),
        (WEIGHTS, len(BIG)),
    ]
    assert (plan.licence, plan.is_approximate, plan.known) == ("mit", False, None)
    assert list(hub_cache().parent.rglob("*")) == []
