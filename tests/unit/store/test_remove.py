"""Only what is in a cache is removed, all of it, and nothing beside it."""

from pathlib import Path

import pytest

from menura.errors import InvalidValueError, ModelNotFoundError
from menura.models import Hub, pull, remove
from menura.store.cache import hub_cache, hub_repo_folder
from menura.store.records import read_record
from tests.unit.store.fake_hub import (
    BIG,
    COMMIT,
    QWEN,
    SMALL,
    WEIGHTS,
    FakeHub,
    cache_repo,
    files_of,
    offer_small,
)

VOICES = "maureesewilliams/hibari"


def test_a_pulled_model_goes_with_its_record_and_partial_files(hub: FakeHub) -> None:
    offer_small(hub)
    list(pull(SMALL))
    (hub_repo_folder(SMALL) / "blobs" / "x.menura.incomplete").write_bytes(b"12345")
    other = cache_repo("someone/other", {WEIGHTS: BIG})
    assert remove(SMALL) == len(BIG) + 2 + 5
    assert not hub_repo_folder(SMALL).exists()
    assert read_record(Hub.HUGGINGFACE, SMALL, COMMIT) is None
    assert (other / WEIGHTS).read_bytes() == BIG


def test_leftovers_of_a_broken_pull_can_be_removed() -> None:
    blobs = hub_repo_folder(SMALL) / "blobs"
    blobs.mkdir(parents=True)
    (blobs / "x.menura.incomplete").write_bytes(b"12345")
    assert remove(SMALL) == 5
    assert list(hub_cache().glob("models--*")) == []


def test_both_repositories_of_echo_go() -> None:
    cache_repo("jordand/echo-tts-base", {"pca_state.safetensors": b"123"})
    cache_repo("jordand/fish-s1-dac-min", {"config.json": b"{}"})
    assert remove("echo-tts-base") == 5
    assert list(hub_cache().glob("models--*")) == []


def test_a_modelscope_copy_goes_too(home: Path) -> None:
    folder = home / "modelscope" / "hub" / "models" / "Qwen" / "Qwen3-TTS-12Hz-0___6B-Base"
    folder.mkdir(parents=True)
    (folder / "vocab.json").write_bytes(b"1234")
    cache_repo(QWEN, {"vocab.json": files_of(QWEN)["vocab.json"]})
    assert remove(QWEN) == 4 + len("vocab.json")
    assert not folder.exists()
    assert folder.parent.is_dir()


def test_a_modelscope_folder_that_leads_out_of_the_cache_is_not_followed(home: Path) -> None:
    outside = home / "outside"
    outside.mkdir(parents=True)
    (outside / "vocab.json").write_bytes(b"1234")
    link = home / "modelscope" / "models" / "Qwen" / "Qwen3-TTS-12Hz-0.6B-Base"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    with pytest.raises(ModelNotFoundError):
        remove(QWEN)
    assert (outside / "vocab.json").exists()


def test_one_voice_goes_and_the_others_stay(home: Path) -> None:
    files = {"voices/bf_emma.int8.onnx": b"emma", "voices/bm_fable.int8.onnx": b"fable"}
    snapshot = cache_repo(VOICES, files)
    own = home / "hibari" / "bf_emma.int8.onnx"
    own.parent.mkdir()
    own.write_bytes(b"own")
    assert remove("builtin-emma") == 4 + 3
    assert [f.name for f in (snapshot / "voices").iterdir()] == ["bm_fable.int8.onnx"]
    assert len(list((snapshot.parent.parent / "blobs").iterdir())) == 1
    assert not own.exists()


def test_a_users_folder_and_the_package_are_never_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    monkeypatch.chdir(tmp_path)
    for name in (str(folder), "mine", "./mine"):
        with pytest.raises(InvalidValueError, match="folder or file of yours"):
            remove(name)
    with pytest.raises(InvalidValueError, match="part of Menura"):
        remove("builtin")
    assert folder.is_dir()


@pytest.mark.parametrize("name", ["nothing-like-it", QWEN, SMALL, "../..", "builtin-kore"])
def test_what_is_not_there_cannot_be_removed(name: str, home: Path) -> None:
    with pytest.raises((ModelNotFoundError, InvalidValueError)):
        remove(name)
