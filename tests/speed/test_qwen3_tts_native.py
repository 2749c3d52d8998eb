"""The engine in its fast modes: packed files, known beginnings, threads, rows, text in pieces."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file

import menura
from menura.engines.contract import Delivery, EndOfText, RowStep, Words
from menura.engines.qwen3_tts import accelerate
from menura.engines.qwen3_tts.engine import Qwen3TTSEngine
from menura.engines.qwen3_tts.native_rows import NativeRows
from menura.engines.qwen3_tts.prefix_states import PrefixStates
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.errors import ModelFilesError, UnsupportedError
from menura.runtime.native import frame, packing
from menura.speech import FloatArray, SpeechRequest, validate

RATE_HZ = 24_000
SAID = "A tone that beeps, again and again."
TEXTS = ("Hello world.", "Another text, which is longer.", "你好!")


def engine_of(tts: menura.TTS) -> Qwen3TTSEngine:
    assert isinstance(tts.engine, Qwen3TTSEngine)
    return tts.engine


def voice_of(tts: menura.TTS) -> menura.Voice:
    time = np.arange(4 * RATE_HZ) / RATE_HZ
    clip: FloatArray = (0.3 * np.sin(1130 * time) * (time % 0.5 < 0.4)).astype(np.float32)
    return tts.voice(clip, transcript=SAID, rate_hz=RATE_HZ)


def frames_of(tts: menura.TTS, text: str, voice: menura.Voice | None = None, **options: object
) -> NDArray[np.generic]:  # fmt: skip
    request = SpeechRequest(text, voice, seed=4, options={"max_new_tokens": 15, **options})
    [speech] = tts.speak_many([request])
    assert speech.frames is not None
    return speech.frames


def without_packing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "pack", None)
    monkeypatch.setattr("menura.engines.qwen3_tts.accelerate_codec.program", None)


@pytest.mark.parametrize("mode", ["int8", "bf16", "int4"])
def test_weights_are_packed_once(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "model", Tiny("custom_voice"))
    first = frames_of(menura.load(folder, precision=mode, threads=1), TEXTS[0])
    without_packing(monkeypatch)
    again = menura.load(folder, precision=mode, threads=1)
    assert np.array_equal(frames_of(again, TEXTS[0]), first)
    names = sorted(path.name.partition("-")[2] for path in packing.folder().iterdir())
    assert names == sorted(["codec.packed", f"{mode}.packed"])


def test_other_weights_under_the_same_names_are_packed_anew(tmp_path: Path) -> None:
    folder = write(tmp_path / "model", Tiny("custom_voice"))
    path = folder / "model.safetensors"
    before = frames_of(menura.load(folder, threads=1), TEXTS[0])
    tensors = load_file(path)
    tensors["talker.model.layers.2.mlp.down_proj.weight"].neg_()
    save_file(tensors, path, metadata={"format": "pt"})
    after = frames_of(menura.load(folder, threads=1), TEXTS[0])
    assert not np.array_equal(before, after)
    assert len(list(packing.folder().iterdir())) <= 4


def test_where_nothing_can_be_kept_it_is_packed_in_memory_and_said(tmp_path: Path) -> None:
    place = packing.folder()
    place.parent.mkdir(parents=True)
    place.write_text("")
    tts = menura.load(write(tmp_path / "model", Tiny("custom_voice")), threads=1)
    assert len(frames_of(tts, TEXTS[0])) > 0
    assert "cannot be written" in str(tts.engine.applied["packed_again_next_time"])


def test_numbers_that_are_none_are_found_when_they_are_packed(tmp_path: Path) -> None:
    folder = write(tmp_path / "model", Tiny("custom_voice"))
    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["talker.model.text_embedding.weight"][7, 3] = torch.nan
    save_file(tensors, path, metadata={"format": "pt"})
    with pytest.raises(ModelFilesError, match=r"text_embedding.*NaN"):
        menura.load(folder, threads=1)


@pytest.mark.parametrize("whole", [True, False])
def test_a_known_beginning_changes_no_code(whole: bool, tmp_path: Path) -> None:
    tts = menura.load(write(tmp_path, Tiny("base")), threads=1)
    engine, voice = engine_of(tts), voice_of(tts)
    frames = engine.running.frames
    assert isinstance(frames, NativeRows)
    known = [frames_of(tts, text, voice, non_streaming_mode=whole) for text in (*TEXTS, *TEXTS)]
    fresh = NativeRows(frames.step, engine.config.talker, PrefixStates(budget_bytes=0))
    engine.running = replace(engine.running, frames=fresh)
    for index, text in enumerate((*TEXTS, *TEXTS)):
        found = frames_of(tts, text, voice, non_streaming_mode=whole)
        assert np.array_equal(found, known[index])


def test_a_voices_second_text_reads_only_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tts = menura.load(write(tmp_path, Tiny("base")), threads=1)
    voice = voice_of(tts)
    frames = engine_of(tts).running.frames
    assert isinstance(frames, NativeRows)
    n_read: list[int] = []
    prefill = frames.step.prefill

    def counted(slot: int, position: int, inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
        n_read.append(len(inputs))
        return prefill(slot, position, inputs)

    monkeypatch.setattr(frames.step, "prefill", counted)
    for text in TEXTS[:2]:
        frames_of(tts, text, voice, non_streaming_mode=True)
    fixed, first, second = n_read
    n_said = len(engine_of(tts).tokenizer.encode(SAID))
    assert fixed > n_said
    assert second > first  # the longer text, without the beginning


@pytest.mark.parametrize("mode", ["int8", "bf16"])
def test_threads_change_no_code(mode: str, tmp_path: Path) -> None:
    folder = write(tmp_path, Tiny("custom_voice"))
    one, two = (frames_of(menura.load(folder, precision=mode, threads=n), TEXTS[1]) for n in (1, 2))
    assert np.array_equal(one, two)


@pytest.mark.parametrize("size", ["0b6", "1b7"])
def test_rows_that_join_and_leave_are_the_rows_alone(size: str, tmp_path: Path) -> None:
    tts = menura.load(write(tmp_path, Tiny("custom_voice", size)), threads=1)
    engine = engine_of(tts)
    requests = [SpeechRequest(TEXTS[i % 3], seed=i, options={"max_new_tokens": 5 + 3 * (i % 4)})
                for i in range(12)]  # fmt: skip
    decoder = engine.decoder(5)
    waiting, in_rows, found = list(range(12)), dict[int, int](), dict[int, FloatArray]()
    while waiting or in_rows:
        for row in decoder.free_rows if len(found) % 2 == 0 or not in_rows else ():
            if waiting:
                in_rows[row] = waiting.pop(0)
                request = requests[in_rows[row]]
                prompt = engine.build_prompt(request.text, validate(request, tts.spec))
                decoder.admit(row, prompt, engine.noise(in_rows[row]), Delivery())
        for step in decoder.step():
            assert step.samples is not None
            found[in_rows.pop(step.row)] = step.samples
            decoder.release(step.row)
    for index, request in enumerate(requests):
        [alone] = tts.speak_many([replace(request, split=False)])
        assert np.array_equal(alone.samples, found[index]), index


def test_text_in_pieces_gives_the_same_codes_however_it_is_cut(tmp_path: Path) -> None:
    tts = menura.load(write(tmp_path, Tiny("custom_voice", endless=True)), threads=1)
    whole = pieces_spoken(tts, ["Hello world, it goes on."])
    cut = pieces_spoken(tts, ["Hel", "lo wor", "ld, it goes", "", " on."])
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


def test_the_reason_of_kernels_that_do_not_compile_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise UnsupportedError("the compiler refused")

    monkeypatch.setattr(accelerate, "FrameStep", refuse)
    tts = menura.load(write(tmp_path, Tiny("custom_voice")))
    assert tts.engine.applied["fallback"] == "the compiler refused"
    assert "the compiler refused" in caplog.text


def test_a_voice_that_was_made_here_speaks_without_decoding_its_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tts = menura.load(write(tmp_path, Tiny("base")), threads=1)
    voice = voice_of(tts)
    monkeypatch.setattr(engine_of(tts).codec, "stream", None)
    assert len(frames_of(tts, TEXTS[0], voice)) > 0


def test_a_saved_voice_speaks_the_same_samples_as_when_it_was_made(tmp_path: Path) -> None:
    folder = write(tmp_path / "model", Tiny("base"))
    tts = menura.load(folder, threads=1)
    voice = voice_of(tts)
    made = tts.speak(TEXTS[0], voice=voice, seed=4, max_new_tokens=9)
    voice.save(tmp_path / "a.safetensors")
    saved = menura.load_voice(tmp_path / "a.safetensors")
    again = menura.load(folder, threads=1).speak(TEXTS[0], voice=saved, seed=4, max_new_tokens=9)
    assert np.array_equal(made.samples, again.samples)


def test_parts_are_made_when_they_are_asked_for(tmp_path: Path) -> None:
    tts = menura.load(write(tmp_path), threads=1)
    assert len(engine_of(tts).models.talker.transformer.blocks) == 0
    assert set(tts.engine.parts) == {
        "talker", "code_predictor", "codec_encoder", "codec_decoder", "speaker_encoder"
    }  # fmt: skip


def test_a_description_tells_the_rows_of_the_automatic_mode(tmp_path: Path) -> None:
    folder = write(tmp_path)
    loaded = {mode: menura.load(folder, precision=mode).spec for mode in ("auto", "exact")}
    assert menura.describe(folder) == loaded["auto"]
    assert (loaded["auto"].max_rows, loaded["exact"].max_rows) == (8, 1)
