"""Every fast mode keeps its bounds on tiny shapes; `bench.qwen3_tts.quality` measures real ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from bench.qwen3_tts.quality import Quality, measure
from menura.engines.qwen3_tts.accelerate import AUTO_MODE, BOUNDS
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.runtime import devices
from menura.runtime.native import frame

PERFECT = Quality(
    talker_cosine=1.0,
    predictor_cosine=1.0,
    first_score_error=0.0,
    other_score_error=0.0,
    agreement=1.0,
    chi_square=30.0,
    chi_square_limit=50.0,
    codec_db=40.0,
)


@pytest.mark.parametrize("mode", ["bf16", "int8"])
@pytest.mark.parametrize("size", ["0b6", "1b7"])
def test_a_mode_keeps_its_bounds(size: str, mode: str, tmp_path: Path) -> None:
    quality = measure(write(tmp_path, Tiny("custom_voice", size)), mode, 40, 1)
    assert quality.broken(BOUNDS[mode]) == []
    assert quality.agreement >= 0.95


@pytest.mark.skipif(bool(devices.why_no_int8()), reason=devices.why_no_int8())
@pytest.mark.parametrize("size", ["0b6", "1b7"])
def test_int8_keeps_its_bounds_in_torch_alone(
    size: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame, "why_not", lambda: "there is no compiler")
    quality = measure(write(tmp_path, Tiny("custom_voice", size)), "int8", 40, 1)
    assert quality.broken(BOUNDS["int8"]) == []
    assert quality.agreement >= 0.95
    assert quality.other_score_error > 1e-4  # it is not float32


def test_four_bits_are_worse_and_still_know_the_way(tmp_path: Path) -> None:
    quality = measure(write(tmp_path, Tiny("custom_voice", "0b6")), "int4", 20, 1)
    assert quality.broken(BOUNDS[AUTO_MODE]) != []
    assert quality.talker_cosine > 0.85
    assert quality.agreement > 0.5


def test_auto_takes_a_mode_that_has_bounds() -> None:
    assert AUTO_MODE in BOUNDS


@pytest.mark.parametrize(
    "change",
    [
        {"talker_cosine": 0.998}, {"predictor_cosine": 0.998}, {"first_score_error": 0.031},
        {"other_score_error": 0.031}, {"chi_square": 50.1}, {"codec_db": 34.9},
    ],
)  # fmt: skip
def test_a_bound_that_is_not_kept_is_named(change: dict[str, float]) -> None:
    assert PERFECT.broken(BOUNDS["int8"]) == []
    [name] = change
    [said] = replace(PERFECT, **change).broken(BOUNDS["int8"])
    assert said.startswith(f"{name} is ")
