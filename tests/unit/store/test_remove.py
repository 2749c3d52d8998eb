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


def test_of_a_modelscope_folder_that_leads_out_of_the_cache_only_the_link_goes(home: Path) -> None:
    outside = home / "outside"
    outside.mkdir(parents=True)
    (outside / "vocab.json").write_bytes(b"1234")
    link = home / "modelscope" / "models" / "Qwen" / "Qwen3-TTS-12Hz-0.6B-Base"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    assert remove(QWEN) == 0
    assert not link.is_symlink()
    assert (outside / "vocab.json").read_bytes() == b"1234"


def test_a_modelscope_owner_that_leads_out_of_the_cache_is_not_followed(home: Path) -> None:
    outside = home / "outside" / "Qwen3-TTS-12Hz-0.6B-Base"
    outside.mkdir(parents=True)
    (outside / "vocab.json").write_bytes(b"1234")
    owner = home / "modelscope" / "models" / "Qwen"
    owner.parent.mkdir(parents=True)
    owner.symlink_to(outside.parent)
    with pytest.raises(ModelNotFoundError):
        remove(QWEN)
    assert (outside / "vocab.json").read_bytes() == b"1234"


def test_a_modelscope_folder_and_the_link_that_names_it_both_go(home: Path) -> None:
    owner = home / "modelscope" / "hub" / "models" / "Qwen"
    (owner / "Qwen3-TTS-12Hz-0___6B-Base").mkdir(parents=True)
    (owner / "Qwen3-TTS-12Hz-0___6B-Base" / "vocab.json").write_bytes(b"1234")
    (owner / "Qwen3-TTS-12Hz-0.6B-Base").symlink_to("Qwen3-TTS-12Hz-0___6B-Base")
    assert remove(QWEN) == 4
    assert list(owner.iterdir()) == []


def leads_to(pointer: Path, target: Path) -> None:
    """The name stands for the target from now on, which a person made."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(b"of a person's own")
    pointer.unlink(missing_ok=True)
    pointer.symlink_to(target)


EMMA = "voices/bf_emma.int8.onnx"


@pytest.mark.parametrize("place", ["outside/blobs/mine", "hf/hub/models--a--b/blobs/other"])
def test_of_a_voice_that_is_a_link_to_a_file_elsewhere_only_the_link_goes(
    home: Path, place: str
) -> None:
    snapshot = cache_repo(VOICES, {EMMA: b"emma"})
    leads_to(snapshot / EMMA, home / place)
    assert remove("builtin-emma") == 0
    assert not (snapshot / EMMA).is_symlink()
    assert (home / place).read_bytes() == b"of a person's own"


def test_of_a_blob_that_is_a_link_to_a_file_elsewhere_only_the_link_goes(home: Path) -> None:
    snapshot = cache_repo(VOICES, {EMMA: b"emma"})
    blob = (snapshot / EMMA).resolve()
    leads_to(blob, home / "outside" / "mine")
    assert remove("builtin-emma") == 0
    assert not blob.is_symlink()
    assert (home / "outside" / "mine").read_bytes() == b"of a person's own"


@pytest.mark.parametrize("part", ["voices", ""])
def test_a_voice_below_a_folder_that_leads_out_of_the_repository_stays(
    home: Path, part: str
) -> None:
    snapshot = cache_repo(VOICES, {EMMA: b"emma"})
    outside = home / "outside"
    (snapshot / part).rename(outside)
    (snapshot / part).symlink_to(outside)
    own = outside / EMMA.removeprefix(f"{part}/" if part else "")
    own.unlink()
    own.write_bytes(b"of a person's own")
    with pytest.raises(ModelNotFoundError):
        remove("builtin-emma")
    assert own.read_bytes() == b"of a person's own"


def test_a_voice_that_two_snapshots_share_is_counted_once() -> None:
    for commit in (COMMIT, "a" * 40):
        cache_repo(VOICES, {EMMA: b"emma"}, commit)
    assert remove("builtin-emma") == 4


def test_what_a_repository_links_to_elsewhere_stays_and_is_not_counted(home: Path) -> None:
    snapshot = cache_repo(SMALL, {"config.json": b"{}", WEIGHTS: BIG})
    leads_to(snapshot / WEIGHTS, home / "outside" / "mine")
    leads_to((snapshot / "config.json").resolve(), home / "outside" / "too")
    (home / "outside" / "folder").mkdir()
    leads_to(home / "x", home / "outside" / "folder" / "file")
    (snapshot / "folder").symlink_to(home / "outside" / "folder")
    assert remove(SMALL) == len(BIG)
    assert not hub_repo_folder(SMALL).exists()
    for name in ("mine", "too", "folder/file"):
        assert (home / "outside" / name).read_bytes() == b"of a person's own"


def test_of_a_repository_that_is_itself_a_link_only_the_link_goes(home: Path) -> None:
    cache_repo(SMALL, {WEIGHTS: BIG})
    outside = home / "outside"
    hub_repo_folder(SMALL).rename(outside)
    hub_repo_folder(SMALL).symlink_to(outside)
    assert remove(SMALL) == 0
    assert not hub_repo_folder(SMALL).is_symlink()
    assert (outside / "snapshots" / COMMIT / WEIGHTS).read_bytes() == BIG


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
