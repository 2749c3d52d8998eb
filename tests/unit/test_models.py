"""What is installed is listed with its place and size, whole or not."""

from pathlib import Path

import pytest

from menura import models
from menura.catalogue import known_models
from menura.errors import ModelNotFoundError
from menura.models import InstalledModel, Source
from tests.unit.store.fake_hub import (
    QWEN,
    block_network,
    cache_repo,
    files_of,
    known,
    use_clean_home,
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_clean_home(monkeypatch, tmp_path / "home")
    block_network(monkeypatch)


def test_a_fresh_machine_has_the_built_in_voice_only() -> None:
    (only,) = models.list_installed()
    assert (only.name, only.source, only.is_complete) == ("builtin", Source.BUILTIN, True)
    assert only.n_bytes == 7_936_868
    assert models.path("builtin") == only.paths


def test_cached_models_are_listed_with_place_size_and_what_they_lack() -> None:
    files = files_of(QWEN)
    snapshot = cache_repo(QWEN, files)
    size = sum(map(len, files.values()))
    found = models.list_installed()[1]
    assert found == InstalledModel(
        "qwen3-tts-0.6b-base", known(QWEN), Source.CACHE, (snapshot,), size, ()
    )
    assert models.path(QWEN) == (snapshot,)
    (snapshot / "merges.txt").unlink()
    found = models.show(QWEN)
    assert found.missing == ("merges.txt",)
    assert not found.is_complete
    with pytest.raises(ModelNotFoundError):
        models.path(QWEN)


def test_a_known_model_can_be_shown_before_it_is_here() -> None:
    for known_model in known_models():
        found = models.show(known_model.name)
        assert found.known == known_model
        assert found.is_complete == (known_model.name == "builtin")
    assert models.show("echo-tts-base").missing == (
        "jordand/echo-tts-base",
        "jordand/fish-s1-dac-min",
    )
    assert models.show("builtin-emma").missing == ("voices/bf_emma.int8.onnx",)


def test_an_unknown_name_cannot_be_shown() -> None:
    with pytest.raises(ModelNotFoundError):
        models.show("nobody/nothing")


def test_a_folder_can_be_shown(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_bytes(b"{}")
    found = models.show(folder)
    assert (found.source, found.paths, found.n_bytes) == (Source.FOLDER, (folder,), 2)
    assert found.is_complete


def test_the_path_of_a_folder_without_its_further_part_is_an_error(tmp_path: Path) -> None:
    for name in ("pca_state.safetensors", "pytorch_model.safetensors"):
        (tmp_path / name).write_bytes(b"")
    with pytest.raises(ModelNotFoundError, match="missing: jordand/fish-s1-dac-min") as caught:
        models.path(tmp_path)
    assert caught.value.exit_code == 3
