import hashlib
from pathlib import Path

import pytest

from menura.engines.echo_tts import tiny

# The files for which upstream's answers are recorded, as its own classes and numpy wrote them.
RECORDED = {
    "pytorch_model.safetensors": "0ffc9895301f9436",
    "pca_state.safetensors": "ba3dd9dbc2e36d25",
    "fish-s1-dac-min/pytorch_model.safetensors": "197a39147bf2a25e",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write(tmp_path_factory.mktemp("tiny"))


@pytest.mark.parametrize("file", RECORDED)
def test_the_files_are_byte_for_byte_the_recorded_ones(file: str, folder: Path) -> None:
    assert hashlib.sha256((folder / file).read_bytes()).hexdigest()[:16] == RECORDED[file]


def test_nothing_else_is_written(folder: Path) -> None:
    files = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert files == {*RECORDED, "config.json", "fish-s1-dac-min/config.json"}


def test_the_autoencoder_may_lie_elsewhere(tmp_path: Path) -> None:
    folder, codec = tmp_path / "echo", tmp_path / "codec"
    assert tiny.write_pair(folder, codec) == folder
    assert (codec / "pytorch_model.safetensors").is_file()
    assert not (folder / "fish-s1-dac-min").exists()
