"""The engine with weights of 8 bits in torch, where nothing native runs: all that it can do."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import nn

import menura
from menura.engines.contract import Delivery, EndOfText, RowStep, Words
from menura.engines.qwen3_tts.engine import Qwen3TTSEngine
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.errors import ModelFilesError
from menura.runtime import devices
from menura.runtime.bfloat16_conv import Bfloat16Conv1d
from menura.runtime.native import frame, packing
from menura.runtime.quantize import MANY_ROWS, Int8Linear
from menura.speech import FloatArray, SpeechRequest, validate

pytestmark = pytest.mark.skipif(bool(devices.why_no_int8()), reason=devices.why_no_int8())
RATE_HZ = 24_000
SAID = "A tone that beeps, again and again."
TEXTS = ("Hello world.", "Another text, which is longer than the first.", "你好!")


@pytest.fixture(autouse=True)
def without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "why_not", lambda: "there is no compiler")


def engine_of(tts: menura.TTS) -> Qwen3TTSEngine:
    assert isinstance(tts.engine, Qwen3TTSEngine)
    return tts.engine


def voice_of(tts: menura.TTS, mode: str) -> menura.Voice:
    time = np.arange(4 * RATE_HZ) / RATE_HZ
    clip: FloatArray = (0.3 * np.sin(1130 * time) * (time % 0.5 < 0.4)).astype(np.float32)
    return tts.voice(clip, transcript=SAID, mode=mode, rate_hz=RATE_HZ)


def how(tts: menura.TTS, mode: str) -> Mapping[str, object]:
    """The rest of a request for a model of this variant."""
    match engine_of(tts).config.variant:
        case "base":
            return {"voice": voice_of(tts, mode)}
        case "voice_design":
            return {"instruct": "A deep voice."}
    return {"voice": "ryan"}


@pytest.mark.parametrize("size", ["0b6", "1b7"])
@pytest.mark.parametrize(
    ("variant", "mode"),
    [("base", "x_vector"), ("base", "in_context"), ("custom_voice", ""), ("voice_design", "")],
)
def test_whole_and_streamed_speech_are_the_same(
    variant: str, mode: str, size: str, tmp_path: Path
) -> None:
    tts = menura.load(write(tmp_path, Tiny(variant, size)))
    manner = how(tts, mode)
    whole = tts.speak(TEXTS[1], seed=4, max_new_tokens=14, **manner)  # type: ignore[arg-type]
    assert whole.applied["precision"] == "int8"
    assert whole.applied["path"] == "torch"
    assert whole.applied["fallback"] == "there is no compiler"
    stream = tts.stream(TEXTS[1], seed=4, max_new_tokens=14, **manner)  # type: ignore[arg-type]
    assert np.array_equal(np.concatenate([chunk.samples for chunk in stream]), whole.samples)
    again = tts.speak(TEXTS[1], seed=4, max_new_tokens=14, **manner)  # type: ignore[arg-type]
    assert np.array_equal(again.samples, whole.samples)
    other = tts.speak(TEXTS[1], seed=5, max_new_tokens=14, **manner)  # type: ignore[arg-type]
    assert other.frames is not None
    assert whole.frames is not None
    assert not np.array_equal(other.frames, whole.frames)


def test_several_requests_are_each_the_request_alone(tmp_path: Path) -> None:
    tts = menura.load(write(tmp_path, Tiny("custom_voice")))
    requests = [SpeechRequest(text, seed=6, options={"max_new_tokens": 9}) for text in TEXTS]
    for together, request in zip(tts.speak_many(requests), requests, strict=True):
        [alone] = tts.speak_many([request])
        assert np.array_equal(together.samples, alone.samples)


def test_text_in_pieces_gives_the_same_codes_however_it_is_cut(tmp_path: Path) -> None:
    tts = menura.load(write(tmp_path, Tiny("custom_voice", endless=True)))
    whole = pieces_spoken(tts, ["Hello world, it goes on."])
    cut = pieces_spoken(tts, ["Hel", "lo wor", "ld, it goes", "", " on."])
    assert len(whole) == 19
    assert np.array_equal(whole, cut)


def pieces_spoken(tts: menura.TTS, pieces: list[str]) -> NDArray[np.generic]:
    engine = engine_of(tts)
    manner = validate(SpeechRequest("", options={"max_new_tokens": 20}), tts.spec)
    decoder = engine.decoder(1)
    decoder.admit(0, engine.build_prompt(None, manner), engine.noise(1), Delivery(1, 1))
    steps: list[RowStep] = []
    everything: list[Words | EndOfText] = [*map(Words, pieces), EndOfText()]
    for more in everything:
        decoder.extend(0, more)
        while decoder.live:
            steps += decoder.step()
    return np.concatenate([step.frames for step in steps if step.frames is not None])


@pytest.mark.parametrize("size", ["0b6", "1b7"])
def test_the_transformers_layers_are_in_8_bits_and_nothing_else(size: str, tmp_path: Path) -> None:
    tts = menura.load(write(tmp_path, Tiny("base", size)))
    found = {
        f"{part}.{name}"
        for part, module in tts.engine.parts.items()
        for name, child in module.named_modules()
        if isinstance(child, Int8Linear)
    }
    plain = {
        f"{part}.{name}"
        for part, module in tts.engine.parts.items()
        for name, child in module.named_modules()
        if type(child) is nn.Linear
    }
    assert len(found) == 3 * 7 + 1 + 2 * 7 + 15 + (size == "1b7")
    assert ("code_predictor.projection" in found) is (size == "1b7")
    assert not {name for name in plain if "transformer" in name and "talker" in name}
    assert {"talker.text_projection.inner", "talker.text_projection.outer"} <= plain


def test_the_codecs_residual_units_multiply_in_bfloat16_where_the_cpu_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path, Tiny("custom_voice"))
    for has_half, n_units in ((True, 4 * 3 * 2), (False, 0)):
        monkeypatch.setattr(devices, "multiplies_bfloat16", lambda has_half=has_half: has_half)
        tts = menura.load(folder)
        decoder = tts.engine.parts["codec_decoder"]
        units = [name for name, part in decoder.named_modules() if isinstance(part, Bfloat16Conv1d)]
        assert len(units) == n_units
        assert all(".units." in name for name in units)
        assert tts.engine.applied["codec"] == ("bf16" if has_half else "fp32")
        others = decoder.state_dict().items()
        assert {tensor.dtype for name, tensor in others if ".units." not in name} == {torch.float32}


def test_a_long_prompt_is_read_by_the_stored_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tts = menura.load(write(tmp_path, Tiny("base")))
    voice = voice_of(tts, "in_context")
    n_rows: list[int] = []
    many = Int8Linear._many

    def counted(layer: Int8Linear, rows: torch.Tensor) -> torch.Tensor:
        n_rows.append(len(rows))
        return many(layer, rows)

    monkeypatch.setattr(Int8Linear, "_many", counted)
    tts.speak(TEXTS[0], voice=voice, seed=1, max_new_tokens=4)
    [length] = set(n_rows)
    assert length >= MANY_ROWS
    assert len(n_rows) == 3 * 7 + 1  # the talker's layers and its head, once


def test_nothing_is_written_into_the_cache(tmp_path: Path) -> None:
    menura.load(write(tmp_path, Tiny("custom_voice")))
    assert not packing.folder().exists()


@pytest.mark.parametrize(
    "name", ["talker.model.text_embedding", "talker.model.layers.1.mlp.up_proj"]
)
def test_numbers_that_are_none_are_found_when_it_is_loaded(name: str, tmp_path: Path) -> None:
    folder = write(tmp_path, Tiny("custom_voice"))
    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors[f"{name}.weight"][7, 3] = torch.nan
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(ModelFilesError, match=r"NaN"):
        menura.load(folder)
