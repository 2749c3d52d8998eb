"""Greedy codes are upstream's in bfloat16 too, and on a GPU: both sides on the same device.

`make parity` compares on the CPU, `make gpu` on CUDA. Upstream's environment must be there.
"""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import menura
from menura.engines.qwen3_tts import accelerate, tiny
from tests.house.source import ROOT
from tests.parity.processes import MAKE, PYTHON
from tests.parity.qwen3_tts.greedy_upstream import MAX_NEW_TOKENS, TEXT, VOICE

NO_GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no CUDA device")
# Upstream's name of a number format, and the precision in which we compute in it.
FORMATS = {"fp32": "exact", "bf16": "bf16"}


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    wanted = tiny.Tiny("custom_voice", "1b7", endless=True)
    return tiny.write(tmp_path_factory.mktemp("checkpoint"), wanted)


@pytest.mark.parametrize(
    ("device", "name"),
    [
        pytest.param("cpu", "bf16", marks=pytest.mark.parity),
        pytest.param("cuda", "fp32", marks=[pytest.mark.gpu, NO_GPU]),
        pytest.param("cuda", "bf16", marks=[pytest.mark.gpu, NO_GPU]),
    ],
)
def test_greedy_codes_are_upstreams(
    device: str, name: str, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The torch path, which a GPU takes; on a CPU the kernels would run bfloat16.
    monkeypatch.setattr(accelerate, "native_mode", lambda precision, device: None)
    theirs = upstream_codes(checkpoint, device, name, tmp_path)
    tts = menura.load(checkpoint, device=device, precision=FORMATS[name])
    speech = tts.speak(
        TEXT, voice=VOICE, language="english", max_new_tokens=MAX_NEW_TOKENS, split=False,
        do_sample=False, subtalker_dosample=False,
    )  # fmt: skip
    assert theirs.shape == (MAX_NEW_TOKENS - 1, 16)
    np.testing.assert_array_equal(speech.frames, theirs)


def upstream_codes(checkpoint: Path, device: str, name: str, folder: Path) -> NDArray[np.int64]:
    """Upstream's codes [T, Q], from its own process."""
    assert PYTHON.is_file(), f"{PYTHON} is missing: {MAKE}."
    out = folder / "codes.npy"
    module = "tests.parity.qwen3_tts.greedy_upstream"
    script = [str(PYTHON), "-m", module, str(checkpoint), device, name, str(out)]
    threads = {"OMP_NUM_THREADS": str(torch.get_num_threads())}
    subprocess.run(script, cwd=ROOT, env=os.environ | threads, check=True, capture_output=True)
    codes: NDArray[np.int64] = np.load(out)
    return codes
