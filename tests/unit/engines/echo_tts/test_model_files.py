from pathlib import Path

import pytest

from menura.engines import registry
from menura.engines.echo_tts import tiny
from menura.engines.echo_tts.model_files import (
    Part,
    find_autoencoder,
    find_part,
    find_projection,
    is_echo,
    part_of,
)
from menura.errors import ModelFilesError
from menura.store.cache import _ECHO_TENSORS
from tests.unit.engines.echo_tts.published_files import published_tensors

MODEL, PCA = "pytorch_model.safetensors", "pca_state.safetensors"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write(tmp_path_factory.mktemp("tiny"))


@pytest.mark.parametrize(("file", "part"), [("dit", Part.TRANSFORMER), ("codec", Part.AUTOENCODER)])
def test_a_part_is_known_by_its_tensors_whichever_is_missing(file: str, part: Part) -> None:
    names = set(published_tensors(file))
    assert part_of(names) is part
    assert {part_of(names - {name}) for name in names} == {part}


def test_other_tensors_are_no_part() -> None:
    assert part_of(published_tensors("pca")) is None
    assert part_of({*published_tensors("dit"), *published_tensors("codec")}) is None


def test_the_store_knows_the_transformer_by_the_same_tensors() -> None:
    assert part_of(_ECHO_TENSORS) is Part.TRANSFORMER
    assert part_of(published_tensors("codec").keys() | _ECHO_TENSORS) is None


def test_a_model_is_known_though_one_of_its_files_is_missing(written: Path, tmp_path: Path) -> None:
    assert is_echo(written)
    assert not is_echo(tmp_path)
    (tmp_path / MODEL).symlink_to(written / MODEL)
    assert registry.recognise(tmp_path) == "echo-tts"
    (tmp_path / MODEL).unlink()
    (tmp_path / PCA).symlink_to(written / PCA)
    assert registry.recognise(tmp_path) == "echo-tts"


def test_an_autoencoder_alone_is_no_model_and_says_what_it_is(written: Path) -> None:
    folder = written / "fish-s1-dac-min"
    with pytest.raises(ModelFilesError) as caught:
        registry.recognise(folder)
    assert caught.value.message == (
        f"{folder} holds the autoencoder of Echo-TTS (fish-s1-dac-min), which is no model by "
        "itself: give the folder of echo-tts-base, with this one inside or beside it."
    )


def test_swapped_files_are_told(written: Path) -> None:
    codec = written / "fish-s1-dac-min"
    with pytest.raises(ModelFilesError, match=r"holds the autoencoder of .* here the transformer"):
        find_part(codec, Part.TRANSFORMER)
    with pytest.raises(ModelFilesError, match=r"holds the transformer of .* here the autoencoder"):
        find_part(written, Part.AUTOENCODER)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFilesError) as caught:
        find_part(tmp_path, Part.AUTOENCODER)
    assert caught.value.message == (
        f"there is no {MODEL} in {tmp_path}, so this is not the folder of the autoencoder."
    )
    with pytest.raises(ModelFilesError, match=f"^{PCA} is missing in "):
        find_projection(tmp_path)


def test_the_autoencoder_is_found_inside_or_beside(tmp_path: Path) -> None:
    folder = tmp_path / "echo-tts-base"
    folder.mkdir()
    assert find_autoencoder(folder) is None
    beside = tmp_path / "fish-s1-dac-min"
    beside.mkdir()
    assert find_autoencoder(folder) == beside
    inside = folder / "fish-s1-dac-min"
    inside.mkdir()
    assert find_autoencoder(folder) == inside
