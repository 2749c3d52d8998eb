"""A model on a GPU: where it stands, and what loading it takes.

That it speaks upstream's codes there is in `tests/parity/qwen3_tts/test_devices.py`; how fast it
is, `make bench CASE=qwen3_tts_gpu` measures.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import menura
from bench.qwen3_tts import checkpoint
from menura.engines.qwen3_tts import tiny
from menura.engines.qwen3_tts.engine import Qwen3TTSEngine

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device"),
]


def parts_of(tts: menura.TTS) -> Mapping[str, nn.Module]:
    assert isinstance(tts.engine, Qwen3TTSEngine)
    return tts.engine.parts


def test_the_talker_is_in_bfloat16_on_the_gpu_and_the_codec_in_float32(tmp_path: Path) -> None:
    tts = menura.load(tiny.write(tmp_path), device="cuda", precision="bf16")
    for name, part in parts_of(tts).items():
        wanted = torch.float32 if name.startswith("codec") else torch.bfloat16
        found = {(weight.device.type, weight.dtype) for weight in part.parameters()}
        assert found == {("cuda", wanted)}, name


def test_a_seed_gives_the_same_frames_twice_and_streamed(tmp_path: Path) -> None:
    wanted = tiny.Tiny("custom_voice", "1b7")
    tts = menura.load(tiny.write(tmp_path, wanted), device="cuda")
    once, again = (
        tts.speak("Hello world.", voice="vivian", language="english", seed=3) for _ in range(2)
    )
    np.testing.assert_array_equal(once.frames, again.frames)
    with tts.stream("Hello world.", voice="vivian", language="english", seed=3) as stream:
        n_samples = sum(chunk.samples.size for chunk in stream)
    assert n_samples == once.samples.size > 0


def test_loading_takes_little_more_memory_than_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(checkpoint.VARIABLE, str(tmp_path / "model"))
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    tts = menura.load(checkpoint.folder(), device="cuda", precision="bf16")
    weights = [weight for part in parts_of(tts).values() for weight in part.parameters()]
    n_bytes = sum(weight.nbytes for weight in weights)
    assert torch.cuda.max_memory_allocated() - before < 1.15 * n_bytes
