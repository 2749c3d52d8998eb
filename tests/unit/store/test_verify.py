"""Damage of any kind is found; what is merely unknown is said and is no fault."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from menura.catalogue import ExpectedFile
from menura.engines.qwen3_tts import tiny
from menura.errors import ModelNotFoundError
from menura.models import (
    FileReport,
    VerifyProgress,
    VerifyReport,
    builtin_voice_file,
    pull,
)
from menura.runtime.checkpoint import read_header
from menura.store.verify import verify, verify_steps
from tests.unit.store.fake_hub import (
    BIG,
    QWEN,
    SMALL,
    WEIGHTS,
    FakeHub,
    brought,
    cache_repo,
    files_of,
    known,
    offer_small,
    safetensors,
    sha256,
)

TINY = safetensors(4)


def flip(path: Path, offset: int = -1) -> None:
    """One bit of the file's content is wrong."""
    content = bytearray(path.read_bytes())
    content[offset] ^= 1
    path.resolve().write_bytes(content)


def report_on(found: VerifyReport, name: str) -> FileReport:
    return next(file for file in found.files if file.name == name)


def test_a_pulled_model_is_whole_until_a_byte_flips(hub: FakeHub) -> None:
    offer_small(hub)
    list(pull(SMALL))
    found = verify(SMALL)
    assert found.ok
    assert [(file.name, file.problems, file.notes) for file in found.files] == [
        ("config.json", (), ()),
        (WEIGHTS, (), ()),
    ]
    assert report_on(found, WEIGHTS).sha256 == sha256(BIG)
    flip(brought() / WEIGHTS)
    (problem,) = report_on(verify(SMALL), WEIGHTS).problems
    assert problem.endswith(f"the record of its pull says {sha256(BIG)}")


def test_a_model_brought_by_another_program_is_compared_with_the_hubs_digests() -> None:
    snapshot = cache_repo(SMALL, {"config.json": b"{}", WEIGHTS: TINY})
    assert verify(SMALL).ok
    flip(snapshot / WEIGHTS)
    flip(snapshot / "config.json")
    found = verify(SMALL)
    assert f"the hub says {sha256(TINY)}" in report_on(found, WEIGHTS).problems[0]
    assert not found.ok


def test_a_plain_folder_says_that_no_digest_is_known(tmp_path: Path) -> None:
    (tmp_path / WEIGHTS).write_bytes(TINY)
    found = verify(tmp_path)
    assert found.ok
    assert found.files == (
        FileReport(tmp_path, WEIGHTS, len(TINY), (), ("no SHA-256 of it is known",), ""),
    )
    full = report_on(verify(tmp_path, full=True), WEIGHTS)
    assert full.sha256 == sha256(TINY)


@pytest.mark.parametrize("content", [TINY[:-1], TINY + b"x", b"PK\x03\x04" + bytes(100), b""])
def test_unsound_weights_are_found_without_any_digest(tmp_path: Path, content: bytes) -> None:
    (tmp_path / WEIGHTS).write_bytes(content)
    found = verify(tmp_path)
    assert not found.ok
    assert str(tmp_path / WEIGHTS) in report_on(found, WEIGHTS).problems[0]


def test_missing_files_and_repositories_are_problems() -> None:
    snapshot = cache_repo(QWEN, files_of(QWEN))
    (snapshot / "merges.txt").unlink()
    assert report_on(verify(QWEN), "merges.txt").problems == ("the file is missing",)
    cache_repo("jordand/fish-s1-dac-min", {"config.json": b"{}"})
    found = verify("echo-tts-base")
    assert report_on(found, "jordand/echo-tts-base").problems == ("all of it is missing",)
    assert report_on(found, "pytorch_model.safetensors").problems == ("the file is missing",)


def test_another_size_is_a_remark_beside_a_right_digest_and_a_problem_without_one() -> None:
    snapshot = cache_repo(QWEN, files_of(QWEN))
    remark = "the publication that Menura knows has 2,776,833"
    vocabulary = report_on(verify(QWEN), "vocab.json")
    assert vocabulary.problems == ()
    assert remark in vocabulary.notes[0]
    (snapshot / "vocab.json").unlink()
    (snapshot / "vocab.json").write_bytes(b"other")  # no link: nothing names its digest
    problems = report_on(verify(QWEN), "vocab.json").problems
    assert "the catalogue says ca10d7e9" in problems[0]
    assert remark in problems[1]


def test_in_a_users_own_folder_another_size_is_a_remark(tmp_path: Path) -> None:
    config = b'{"model_type":"qwen3_tts","tts_model_size":"0b6","tts_model_type":"base"}'
    for name, content in {**files_of(QWEN), "config.json": config}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    found = verify(tmp_path)
    assert found.ok
    assert any("1,829,344,272" in note for note in report_on(found, WEIGHTS).notes)


def test_first_digits_are_said_to_be_only_that(monkeypatch: pytest.MonkeyPatch) -> None:
    content = b"the published vocabulary"
    snapshot = cache_repo(QWEN, files_of(QWEN))
    (snapshot / "vocab.json").unlink()
    (snapshot / "vocab.json").write_bytes(content)
    file = ExpectedFile("vocab.json", len(content), sha256_prefix=sha256(content)[:8])
    model = known(QWEN)
    changed = replace(model, repos=(replace(model.repos[0], files=(file,)),))
    monkeypatch.setattr("menura.store.resolve.lookup", lambda _: changed)
    found = report_on(verify(QWEN), "vocab.json")
    assert found.problems == ()
    assert found.notes == ("no more than the first 8 digits of its SHA-256 are known",)


def test_expected_tensors_are_compared_for_each_folder(tmp_path: Path) -> None:
    (tmp_path / WEIGHTS).write_bytes(TINY)
    assert verify(tmp_path, expected_tensors=[{WEIGHTS: {"a": (4,)}}]).ok
    found = verify(tmp_path, expected_tensors=[{WEIGHTS: {"a": (5,), "b": (1,)}, "x": {}}])
    assert [problem for file in found.files for problem in file.problems][:2] == [
        "tensor b is missing",
        "tensor a has shape [4], expected [5]",
    ]
    assert "x cannot be read" in found.files[-1].problems[0]


def test_a_sharded_model_is_checked_through_its_index(tmp_path: Path) -> None:
    (tmp_path / "one.safetensors").write_bytes(TINY)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "one.safetensors"}}')
    assert verify(tmp_path).ok
    index.write_text('{"weight_map": {"a": "one.safetensors", "b": "one.safetensors"}}')
    assert "'b' is in no shard" in report_on(verify(tmp_path), index.name).problems[0]


def test_weights_in_shards_are_not_missing(tmp_path: Path) -> None:
    config = b'{"model_type":"qwen3_tts","tts_model_size":"0b6","tts_model_type":"base"}'
    for name, content in {**files_of(QWEN), "config.json": config}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    (tmp_path / WEIGHTS).rename(tmp_path / "one.safetensors")
    tensors = read_header(tmp_path / "one.safetensors").tensors
    index = {"weight_map": dict.fromkeys(tensors, "one.safetensors")}
    (tmp_path / f"{WEIGHTS}.index.json").write_text(json.dumps(index))
    found = verify(tmp_path)
    assert found.ok
    assert {"one.safetensors", f"{WEIGHTS}.index.json"} <= {file.name for file in found.files}
    assert WEIGHTS not in {file.name for file in found.files}


def test_a_fault_of_a_file_is_told_once(tmp_path: Path) -> None:
    (tmp_path / WEIGHTS).write_bytes(TINY[:-1])
    found = verify(tmp_path, expected_tensors=[{WEIGHTS: {"a": (4,)}}])
    assert [len(file.problems) for file in found.files] == [1]


def test_steps_show_progress_and_end_with_the_verdict() -> None:
    cache_repo(SMALL, {WEIGHTS: TINY})
    *progress, last = verify_steps(SMALL)
    assert progress == [VerifyProgress(WEIGHTS, len(TINY), len(TINY))]
    assert isinstance(last, VerifyReport)


def test_a_built_in_voice_is_compared_with_the_registry() -> None:
    assert verify("builtin").ok
    with pytest.raises(ModelNotFoundError):
        verify("builtin-emma")
    cache_repo("maureesewilliams/hibari", {"voices/bf_emma.int8.onnx": bytes(7_936_868)})
    (file,) = verify("builtin-emma").files
    assert "the catalogue says f709f0488ee63b58" in file.problems[0]


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the file of the voice inside the package, which stands for it."""
    file = builtin_voice_file("heart")
    assert file is not None
    copy = tmp_path / "assets" / file.name
    copy.parent.mkdir()
    copy.write_bytes(file.read_bytes())
    monkeypatch.setattr("menura.store.resolve.builtin_assets", lambda: copy.parent)
    return copy


def test_the_voice_inside_the_package_is_checked(packaged: Path) -> None:
    digest = "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8"
    (file,) = verify("builtin").files
    assert file == FileReport(packaged.parent, "hibari.onnx", 7_936_868, (), (), digest)
    flip(packaged, 1_000)
    (file,) = verify("builtin").files
    assert file.problems == (f"its digest is {file.sha256}, and the catalogue says {digest}",)


def test_a_cut_or_missing_voice_inside_the_package_is_found(
    packaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packaged.write_bytes(packaged.read_bytes()[:-1])
    (file,) = verify("builtin").files
    assert "it has 7,936,867 bytes" in file.problems[1]
    packaged.unlink()
    missing = ("the file is missing: install the package hibari-tts again",)
    assert [file.problems for file in verify("builtin").files] == [missing]
    monkeypatch.setattr("menura.store.resolve.builtin_assets", lambda: None)
    assert [file.problems for file in verify("builtin").files] == [missing]


@pytest.mark.usefixtures("no_network")
def test_a_model_that_is_not_here_cannot_be_verified() -> None:
    with pytest.raises(ModelNotFoundError, match="menura models pull"):
        verify(QWEN)


def test_a_users_folder_may_lack_what_the_model_runs_without(tmp_path: Path) -> None:
    tiny.write(tmp_path, tiny.Tiny(variant="base", size="0b6"))
    for name in ("generation_config.json", "speech_tokenizer/configuration.json"):
        (tmp_path / name).unlink()
    report = verify(tmp_path)
    assert report.ok
    noted = {file.name: file.notes for file in report.files if "runs without" in str(file.notes)}
    assert set(noted) == {"generation_config.json", "speech_tokenizer/configuration.json"}
    (tmp_path / "vocab.json").unlink()
    assert not verify(tmp_path).ok


def test_weights_that_belong_to_nothing_are_a_remark(tmp_path: Path) -> None:
    tiny.write(tmp_path, tiny.Tiny(variant="base", size="0b6"))
    (tmp_path / "my voice.safetensors").write_bytes(b"anything")
    report = verify(tmp_path)
    assert report.ok
    assert report_on(report, "my voice.safetensors").notes[0] == (
        "it is no part of the model, and nothing reads it"
    )


def test_the_faults_of_tensors_join_the_verdict_on_their_file(tmp_path: Path) -> None:
    (tmp_path / WEIGHTS).write_bytes(TINY)
    [file] = verify(tmp_path, expected_tensors=[{WEIGHTS: {"a": (5,)}}]).files
    assert file.problems == ("tensor a has shape [4], expected [5]",)
    assert file.n_bytes == len(TINY)
