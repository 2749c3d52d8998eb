from pathlib import Path

import numpy as np
import pytest

from menura.audio.encoders import open_file
from menura.audio.output_files import put
from menura.errors import OutputError

SAMPLES = np.zeros(100, np.float32)


def refuse_links(path: Path, target: Path) -> None:
    raise PermissionError(1, "Operation not permitted")


@pytest.fixture(params=["links", "no links"])
def file_system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that has no second names for a file, such as FAT."""
    if request.param == "no links":
        monkeypatch.setattr(Path, "hardlink_to", refuse_links)


def finished(folder: Path) -> Path:
    path = folder / ".x.part"
    path.write_text("new")
    return path


def test_a_free_name_is_taken(file_system: None, tmp_path: Path) -> None:
    target = tmp_path / "a.wav"
    assert put(finished(tmp_path), target, replace=False) == target
    assert target.read_text() == "new"


def test_taken_names_are_kept(file_system: None, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_text("mine")
    (tmp_path / "a-2.wav").mkdir()
    (tmp_path / "a-3.wav").symlink_to("nowhere")
    path = put(finished(tmp_path), tmp_path / "a.wav", replace=False)
    assert (path.name, path.read_text()) == ("a-4.wav", "new")
    assert (tmp_path / "a.wav").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_with_replace_the_old_one_goes(file_system: None, tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_text("old")
    assert put(finished(tmp_path), tmp_path / "a.wav", replace=True).read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["a.wav"]


def test_a_file_system_that_refuses_leaves_no_empty_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "hardlink_to", refuse_links)
    monkeypatch.setattr(Path, "replace", refuse_links)
    with pytest.raises(PermissionError):
        put(finished(tmp_path), tmp_path / "a.wav", replace=False)
    assert [path.name for path in tmp_path.iterdir()] == [".x.part"]


def test_a_file_that_is_not_to_be_replaced_gets_the_next_name(
    file_system: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.wav").write_text("mine")
    with open_file("a.wav", None, 8_000, replace=False) as encoder:
        encoder.write(SAMPLES)
        assert len(list(tmp_path.iterdir())) == 2
    assert encoder.path == Path("a-2.wav")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a-2.wav", "a.wav"]
    assert Path("a.wav").read_text() == "mine"
    assert Path("a-2.wav").read_bytes()[:4] == b"RIFF"


def test_another_folder_of_work_does_not_move_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with open_file("a.wav", None, 8_000, replace=False) as encoder:
        encoder.write(SAMPLES)
        monkeypatch.chdir(tmp_path / "other")
    assert (tmp_path / "a.wav").is_file()


def test_a_name_that_cannot_be_given_is_an_output_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "hardlink_to", refuse_links)
    monkeypatch.setattr(Path, "replace", refuse_links)
    with (
        pytest.raises(OutputError, match="could not be written: Operation not permitted"),
        open_file(tmp_path / "a.wav", None, 8_000, replace=False) as encoder,
    ):
        encoder.write(SAMPLES)
    assert list(tmp_path.iterdir()) == []
