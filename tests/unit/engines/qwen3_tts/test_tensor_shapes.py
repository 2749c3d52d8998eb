"""`models verify` knows every tensor of a checkpoint: what loads is good, the rest is named."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from menura import models
from menura.engines.qwen3_tts.engine import Qwen3TTSEngine
from menura.engines.qwen3_tts.tensor_shapes import CODEC_FILE, MODEL_FILE
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.errors import EngineNotInstalledError
from tests.unit.engines.qwen3_tts.published_configs import write_configs

Tensors = dict[str, torch.Tensor]
HEAD = "talker.codec_head.weight"
SPARE = "encoder.quantizer.acoustic_residual_vector_quantizer.layers.30.codebook.embed_sum"


def change(folder: Path, file: str, edit: Callable[[Tensors], None]) -> None:
    """The file with its tensors edited."""
    tensors = {name: tensor.clone() for name, tensor in load_file(folder / file).items()}
    edit(tensors)
    save_file(tensors, folder / file)


def problems(folder: Path) -> dict[str, tuple[str, ...]]:
    """What is wrong, by file."""
    return {f.name: f.problems for f in models.verify(folder).files if f.problems}


@pytest.mark.parametrize(
    "tiny", [Tiny(), Tiny("base", "0b6"), Tiny("custom_voice"), Tiny("voice_design")]
)
def test_what_loads_is_good(tiny: Tiny, tmp_path: Path) -> None:
    assert problems(write(tmp_path, tiny)) == {}


@pytest.mark.parametrize(
    ("variant", "size", "n_model"),
    [("base", "0b6", 478), ("base", "1b7", 480), ("custom_voice", "0b6", 402)],
)
def test_the_published_files_have_as_many_tensors(
    variant: str, size: str, n_model: int, tmp_path: Path
) -> None:
    expected = Qwen3TTSEngine.expected_tensors(write_configs(tmp_path / "m", variant, size))
    assert {file: len(shapes) for file, shapes in expected.items()} == {
        MODEL_FILE: n_model,
        CODEC_FILE: 496,
    }
    assert expected[MODEL_FILE][HEAD] == (3072, 1024 if size == "0b6" else 2048)


def test_a_missing_a_strange_and_a_misshapen_tensor_are_named(tmp_path: Path) -> None:
    def edit(tensors: Tensors) -> None:
        del tensors["talker.model.norm.weight"]
        tensors["junk"] = torch.zeros(3)
        tensors[HEAD] = tensors[HEAD][:-1].clone()

    folder = write(tmp_path)
    change(folder, MODEL_FILE, edit)
    assert problems(folder) == {
        MODEL_FILE: (
            "tensor talker.model.norm.weight is missing",
            "tensor junk is not expected",
            f"tensor {HEAD} has shape [1279, 64], expected [1280, 64]",
        )
    }


def test_codebooks_that_nobody_uses_may_be_left_out(tmp_path: Path) -> None:
    def edit(tensors: Tensors) -> None:
        del tensors[SPARE]

    folder = write(tmp_path)
    change(folder, CODEC_FILE, edit)
    assert problems(folder) == {}


@pytest.mark.parametrize("file", [MODEL_FILE, CODEC_FILE])
def test_shards_are_compared_as_one(file: str, tmp_path: Path) -> None:
    folder = write(tmp_path)
    tensors = load_file(folder / file)
    names = sorted(tensors)
    place = {name: f"part-{i % 2}.safetensors" for i, name in enumerate(names)}
    for part in set(place.values()):
        shard = {name: tensors[name].clone() for name in names if place[name] == part}
        save_file(shard, (folder / file).parent / part)
    (folder / file).unlink()
    index = folder / f"{file}.index.json"
    index.write_text(json.dumps({"weight_map": place}))
    assert problems(folder) == {}
    save_file({"junk": torch.zeros(1)}, index.parent / "part-1.safetensors")
    assert any("is missing" in said for said in problems(folder)[f"{file}.index.json"])


def test_a_configuration_that_asks_for_nonsense_is_a_problem(tmp_path: Path) -> None:
    folder = write(tmp_path)
    path = folder / "config.json"
    config = json.loads(path.read_text("utf-8"))
    config["talker_config"]["hidden_size"] = -1
    path.write_text(json.dumps(config))
    [said] = problems(folder).values()
    assert "talker_config.hidden_size" in said[0]


def test_a_file_that_is_missing_is_told_once(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / MODEL_FILE).unlink()
    (folder / "speech_tokenizer" / "config.json").unlink()
    assert problems(folder) == {
        MODEL_FILE: ("the file is missing",),
        "speech_tokenizer/config.json": ("the file is missing",),
    }


def test_a_folder_of_no_engine_is_not_good(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(1)}, tmp_path / MODEL_FILE)
    found = models.verify(tmp_path)
    assert not found.ok
    assert "no engine recognises" in found.files[-1].problems[0]


def test_without_the_engines_packages_the_files_are_still_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lacks(name: str) -> None:
        raise EngineNotInstalledError(f"{name} needs torch: pip install 'menura[torch]'")

    monkeypatch.setattr("menura.engines.registry.engine_class", lacks)
    folder = write(tmp_path)
    found = models.verify(folder)
    assert found.ok
    assert "were not compared: qwen3-tts needs torch" in found.files[-1].notes[0]
    assert not found.files[-1].is_checked
    (folder / MODEL_FILE).write_bytes(b"not tensors")
    assert not models.verify(folder).ok


def test_a_configuration_nested_without_end_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("[" * 100_000)
    assert Qwen3TTSEngine.recognises(tmp_path) is None
