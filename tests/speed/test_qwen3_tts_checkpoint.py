"""The checkpoint of the benches has the published shapes, and is written only if missing."""

from pathlib import Path

import pytest

from bench.qwen3_tts import checkpoint
from menura.engines.qwen3_tts import tiny, weights
from menura.engines.qwen3_tts.config_files import read_config

# The published file has 1,829,344,272 bytes, of which 58,256 are its header and the header's size.
TENSOR_BYTES = 1_829_344_272 - 58_256


def test_the_model_has_as_many_numbers_as_the_published_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny, "write_weights", lambda *_: None)
    monkeypatch.setenv(checkpoint.VARIABLE, str(tmp_path / "model"))
    config = read_config(checkpoint.folder())
    model, _ = weights.modules(weights.build(config))
    n_numbers = sum(weight.numel() for part in model.values() for weight in part.parameters())
    assert 2 * n_numbers == TENSOR_BYTES


def test_a_folder_that_is_there_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(checkpoint.VARIABLE, str(tmp_path))
    assert checkpoint.folder() == tmp_path
    assert list(tmp_path.iterdir()) == []
