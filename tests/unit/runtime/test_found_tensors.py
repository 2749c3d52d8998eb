from pathlib import Path

import pytest

from menura.errors import ModelFilesError
from menura.runtime.found_tensors import UnchangedFiles, check_names, find_tensors, has_tensors
from tests.unit.store.fake_hub import safetensors


def test_what_is_missing_and_what_is_too_much_are_told_together(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(safetensors(1, ["a", "b", "x", "y"]))
    found = find_tensors(tmp_path)
    check_names(["a", "b"], found, ["x", "y", "z"])
    with pytest.raises(ModelFilesError) as caught:
        check_names(["a", "b", "c"], found, ["y"])
    assert caught.value.message == (
        f"{path}: tensor 'c' is missing and needed for what the model's configuration says; tensor "
        "'x' belongs to no part of this model; the file is not of the kind that its configuration "
        "says."
    )


def test_a_file_without_tensors_is_named(tmp_path: Path) -> None:
    assert not has_tensors(tmp_path, "model")
    (tmp_path / "model.safetensors").write_bytes(safetensors(1, []))
    assert has_tensors(tmp_path, "model")
    with pytest.raises(ModelFilesError, match=r"model\.safetensors holds no tensor"):
        find_tensors(tmp_path)


def test_a_file_that_is_replaced_by_one_of_the_same_size_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    path.write_bytes(safetensors())
    files = UnchangedFiles(find_tensors(tmp_path))
    files.check()
    (tmp_path / "new").write_bytes(safetensors())
    (tmp_path / "new").replace(path)
    with pytest.raises(ModelFilesError, match="has changed since the model was loaded"):
        files.check()
