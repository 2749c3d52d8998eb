"""bfloat16 keeps its bounds on tiny shapes; `bench.echo_tts.quality` measures real ones."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bench.echo_tts.quality import Quality, measure
from menura.engines.echo_tts import tiny
from menura.engines.echo_tts.accelerate import BOUNDS, dtype_of
from menura.engines.echo_tts.decoder import ROW_TOLERANCES
from menura.engines.echo_tts.description import GOOD_S

HALF = torch.bfloat16
PERFECT = Quality(latent_error=0.0, audio_db=60.0, noise_db=60.0, row_error=0.0)


@pytest.mark.parametrize(
    "options",
    [
        {"sequence_length": 48},
        {"num_steps": 20, "sequence_length": 48},
        {"block_sizes": "16,32"},
        {"guidance": "joint", "sequence_length": 48},
    ],
)
def test_bfloat16_keeps_its_bounds(options: dict[str, object], tmp_path: Path) -> None:
    quality = measure(tiny.write(tmp_path), None, "bf16", options, GOOD_S)
    assert quality.broken(BOUNDS[HALF], ROW_TOLERANCES[HALF]) == []
    assert quality.latent_error > 1e-4  # it is another format
    assert quality.audio_db > 20.0


def test_float32_is_itself(tmp_path: Path) -> None:
    options = {"num_steps": 3, "sequence_length": 24}
    quality = measure(tiny.write(tmp_path), None, "fp32", options, GOOD_S)
    assert quality.latent_error == 0.0
    assert quality.row_error <= ROW_TOLERANCES[torch.float32]


def test_what_auto_takes_on_a_cpu_has_bounds_or_is_float32() -> None:
    assert dtype_of("auto", torch.device("cpu")) in {torch.float32, *BOUNDS}


@pytest.mark.parametrize(
    "change", [{"latent_error": 0.051}, {"audio_db": 56.9}, {"row_error": 0.051}]
)
def test_a_bound_that_is_not_kept_is_named(change: dict[str, float]) -> None:
    assert PERFECT.broken(BOUNDS[HALF], ROW_TOLERANCES[HALF]) == []
    [name] = change
    [said] = replace(PERFECT, **change).broken(BOUNDS[HALF], ROW_TOLERANCES[HALF])
    assert said.startswith(f"{name} is ")
