"""The engine on its tiny checkpoints: what each variant does, and what it says when it cannot."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import menura
from menura.engines import registry
from menura.engines.contract import Capability, Delivery, LoadArguments
from menura.engines.qwen3_tts.engine import Qwen3TTSEngine
from menura.engines.qwen3_tts.live_row import Utterance
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.errors import (
    InvalidValueError,
    MenuraError,
    ModelFilesError,
    UnsupportedError,
    VoiceNotFoundError,
)
from menura.runtime import devices
from menura.runtime.native import frame
from menura.speech import FloatArray, Reference, SpeechRequest, validate

Loader = Callable[[str], menura.TTS]
RATE_HZ = 24_000
NO_OPTIONS: Mapping[str, object] = {}
VARIANTS = {
    "base": Tiny("base"),
    "custom": Tiny("custom_voice"),
    "small custom": Tiny("custom_voice", "0b6"),
    "design": Tiny("voice_design"),
    "other base": Tiny("base", seed=1),
}


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Loader:
    """Tiny models in exact mode, each written and loaded once."""
    loaded: dict[str, menura.TTS] = {}

    def model(name: str) -> menura.TTS:
        if name not in loaded:
            folder = write(tmp_path_factory.mktemp("tiny"), VARIANTS[name])
            loaded[name] = menura.load(folder, device="cpu", precision="exact")
        return loaded[name]

    return model


def clip(seconds: float = 4.0, rate_hz: int = RATE_HZ) -> FloatArray:
    """Bursts of a tone, with a pause at the end."""
    time = np.arange(round(seconds * rate_hz)) / rate_hz
    burst = (time % 0.5 < 0.4) & (time < seconds - 0.1)
    return (0.3 * np.sin(2 * np.pi * 180 * time) * burst).astype(np.float32)


def utterance(
    tts: menura.TTS,
    text: str,
    voice: menura.Voice | str | None = None,
    language: str | None = None,
    options: Mapping[str, object] = NO_OPTIONS,
) -> Utterance:
    """What a request becomes."""
    engine = tts.engine
    assert isinstance(engine, Qwen3TTSEngine)
    request = SpeechRequest(text, voice, language, options=options)
    return engine.build_prompt(text, validate(request, tts.spec))


def test_each_variant_says_what_it_can_do(load: Loader) -> None:
    assert load("base").spec.capabilities == {Capability.CLONE, Capability.STREAM_TEXT}
    assert load("custom").spec.capabilities == {Capability.INSTRUCT, Capability.STREAM_TEXT}
    assert load("small custom").spec.capabilities == {Capability.STREAM_TEXT}
    assert load("design").spec.capabilities == {Capability.DESIGN, Capability.STREAM_TEXT}
    assert load("custom").spec.model == "qwen3-tts-1.7b-customvoice"
    assert load("small custom").spec.model == "qwen3-tts-0.6b-customvoice"
    assert load("base").spec.default_voice is None
    assert load("design").spec.speaks_without_voice


def test_presets_are_listed_with_their_dialects(load: Loader) -> None:
    spec = load("custom").spec
    by_name = {voice.name: voice for voice in spec.voices}
    assert spec.default_voice == "vivian"
    assert len(spec.languages) == 10
    assert by_name["ryan"].languages == spec.languages
    assert by_name["eric"].languages == (*spec.languages, "sichuan_dialect")
    assert "sichuan dialect" in by_name["eric"].description


def test_a_folder_is_recognised_by_its_config(tmp_path: Path) -> None:
    assert Qwen3TTSEngine.recognises(tmp_path) is None
    (tmp_path / "config.json").write_text("[]")
    assert Qwen3TTSEngine.recognises(tmp_path) is None
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "qwen3_tts"}))
    assert registry.recognise(tmp_path) == "qwen3-tts"


def test_the_25_hz_tokenizer_is_refused_by_name(tmp_path: Path) -> None:
    write(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    config["tokenizer_type"] = "qwen3_tts_tokenizer_25hz"
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelFilesError, match="qwen3_tts_tokenizer_25hz"):
        menura.load(tmp_path)


def test_a_base_model_asked_for_a_preset_says_what_it_takes(load: Loader) -> None:
    with pytest.raises(VoiceNotFoundError, match=r"tts\.voice\(clip\)"):
        load("base").speak("Hello.", voice="Vivian")
    with pytest.raises(InvalidValueError, match="needs a voice"):
        load("base").speak("Hello.")


def test_a_preset_model_asked_for_a_clone_names_a_model_that_can(load: Loader) -> None:
    with pytest.raises(UnsupportedError, match=r"qwen3-tts-0\.6b-base"):
        load("custom").voice(clip(), rate_hz=RATE_HZ)
    voice = load("base").voice(clip(), rate_hz=RATE_HZ)
    with pytest.raises(UnsupportedError, match=r"own voices are: vivian.*qwen3-tts-0\.6b-base"):
        load("custom").speak("Hello.", voice=voice)
    with pytest.raises(UnsupportedError, match="Base model"):
        load("custom").engine.encode_voice(Reference(clip(), RATE_HZ), "auto")


@pytest.mark.parametrize("name", ["small custom", "base"])
def test_a_model_without_instructions_names_one_that_has_them(load: Loader, name: str) -> None:
    voice = load("base").voice(clip(), rate_hz=RATE_HZ) if name == "base" else None
    with pytest.raises(UnsupportedError, match=r"qwen3-tts-1\.7b-customvoice"):
        load(name).speak("Hello.", voice=voice, instruct="Whisper.")


def test_an_instruction_that_may_be_ignored_is_reported_and_not_seen(load: Loader) -> None:
    tts = load("small custom")
    speech = tts.speak("Hello.", instruct="Whisper.", strict=False, seed=1, max_new_tokens=6)
    ignored = speech.applied["ignored"]
    assert isinstance(ignored, dict)
    assert list(ignored) == ["instruct"]
    plain = tts.speak("Hello.", seed=1, max_new_tokens=6)
    assert np.array_equal(speech.samples, plain.samples)


def test_a_voice_of_other_weights_is_refused(load: Loader) -> None:
    voice = load("other base").voice(clip(), rate_hz=RATE_HZ)
    with pytest.raises(UnsupportedError, match="other weights"):
        load("base").speak("Hello.", voice=voice)


def test_a_transcript_makes_a_voice_in_context(load: Loader) -> None:
    voice = load("base").voice(clip(), transcript="A tone that beeps, again and again.",
                               rate_hz=RATE_HZ)  # fmt: skip
    assert voice.prompt.mode == "in_context"
    assert voice.codes is not None
    assert voice.codes.shape == (50, 16)
    assert voice.codes.dtype == np.int64
    assert voice.embedding is not None
    assert voice.embedding.shape == (64,)
    assert voice.embedding.dtype == np.float32


@pytest.mark.parametrize(
    ("transcript", "mode"), [(None, "auto"), ("  ", "auto"), ("A tone that beeps.", "x_vector")]
)
def test_a_voice_by_embedding_runs_no_codec(
    load: Loader, transcript: str | None, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = load("base").engine
    assert isinstance(engine, Qwen3TTSEngine)
    monkeypatch.setattr(engine.codec, "encode", None)
    voice = load("base").voice(clip(), transcript=transcript, mode=mode, rate_hz=RATE_HZ)
    assert voice.prompt.mode == "x_vector"
    assert voice.codes is None
    assert voice.prompt.transcript is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"mode": "in_context"}, "transcript"),
        ({"mode": "xvector"}, "x_vector"),
        ({"samples": np.ones(1279, np.float32)}, "at least 0.053 s"),
        ({"samples": np.zeros(RATE_HZ, np.float32)}, "silent"),
    ],
)
def test_a_voice_that_cannot_be_made_says_why(
    load: Loader, arguments: dict[str, object], said: str
) -> None:
    given = {"samples": clip(), "mode": "auto"} | arguments
    samples, mode = given["samples"], given["mode"]
    assert isinstance(samples, np.ndarray)
    with pytest.raises(MenuraError, match=said):
        load("base").voice(samples, mode=str(mode), rate_hz=RATE_HZ)


def test_stereo_at_another_rate_makes_the_same_kind_of_voice(load: Loader) -> None:
    mono = clip(rate_hz=48_000)
    tts = load("base")
    one = tts.voice(mono, transcript="A tone that beeps, again and again.", rate_hz=48_000)
    two = tts.voice(np.stack([mono, mono]), transcript="A tone that beeps, again and again.",
                    rate_hz=48_000)  # fmt: skip
    assert one.codes is not None
    assert one.codes.shape == (50, 16)
    assert two.codes is not None
    assert np.array_equal(one.codes, two.codes)


def test_auto_appends_silence_to_a_reference_unless_told_otherwise(tmp_path: Path) -> None:
    folder = write(tmp_path)
    said = "A tone that beeps, again and again."
    for silence_s, n_frames in ((None, 57), (0.0, 50), (1.0, 63)):
        tts = (
            menura.load(folder)
            if silence_s is None
            else menura.load(folder, reference_silence_s=silence_s)
        )
        voice = tts.voice(clip(), transcript=said, rate_hz=RATE_HZ)
        assert voice.codes is not None
        assert len(voice.codes) == n_frames


def test_a_device_or_precision_that_there_is_not_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path)
    with pytest.raises(InvalidValueError, match="cpu"):
        Qwen3TTSEngine.load(folder, LoadArguments(device="tpu"))
    with pytest.raises(UnsupportedError, match="exact") as caught:
        Qwen3TTSEngine.load(folder, LoadArguments(precision="int16"))
    assert caught.value.exit_code == 4


def no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "why_not", lambda: "there is no compiler")


def test_without_kernels_their_precision_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_kernels(monkeypatch)
    with pytest.raises(UnsupportedError, match=r"there is no compiler.*fp32") as caught:
        menura.load(write(tmp_path), precision="int4")
    assert caught.value.param == "precision"


needs_int8 = pytest.mark.skipif(bool(devices.why_no_int8()), reason=devices.why_no_int8())


def no_int8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "why_no_int8", lambda: "torch is too old")


def test_without_kernels_and_torchs_8_bits_int8_is_refused_with_both_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_kernels(monkeypatch)
    no_int8(monkeypatch)
    with pytest.raises(UnsupportedError, match="there is no compiler; and torch is too old"):
        menura.load(write(tmp_path), precision="int8")


def test_a_precision_of_the_settings_that_there_is_not_is_a_wish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_kernels(monkeypatch)
    no_int8(monkeypatch)
    monkeypatch.setenv("MENURA_PRECISION", "int8")
    tts = menura.load(write(tmp_path, Tiny("custom_voice")))
    speech = tts.speak("Hello.", seed=1, max_new_tokens=3)
    assert speech.applied["precision"] == "fp32"
    assert "int8" in str(speech.applied["settings_not_heeded"])


@pytest.mark.parametrize(
    ("precision", "found", "why"),
    [
        ("auto", "fp32", "there is no compiler; and torch is too old"),
        ("bf16", "bf16", "there is no compiler"),
    ],
)
def test_without_kernels_torch_does_all_and_says_why(
    precision: str,
    found: str,
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    no_kernels(monkeypatch)
    no_int8(monkeypatch)
    tts = menura.load(write(tmp_path), precision=precision)
    assert tts.engine.applied == {
        "device": "cpu",
        "precision": found,
        "path": "torch",
        "threads": torch.get_num_threads(),
        "watched": True,
        "fallback": why,
    }
    assert tts.spec.max_rows == 1
    assert why in caplog.text


@needs_int8
@pytest.mark.parametrize("precision", ["auto", "int8"])
def test_without_kernels_torch_runs_in_8_bits_and_says_why(
    precision: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    no_kernels(monkeypatch)
    tts = menura.load(write(tmp_path), precision=precision)
    assert tts.engine.applied == {
        "device": "cpu",
        "precision": "int8",
        "path": "torch",
        "threads": torch.get_num_threads(),
        "codec": "bf16" if devices.multiplies_bfloat16() else "fp32",
        "watched": True,
        "fallback": "there is no compiler",
    }
    assert tts.spec.max_rows == 1
    assert "in torch (int8)" in caplog.text
    assert "there is no compiler" in caplog.text


def test_a_fast_mode_says_what_runs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    tts = menura.load(write(tmp_path), device="cpu", threads=1)
    applied = dict(tts.engine.applied)
    assert str(applied.pop("path")).startswith("native ")
    assert applied == {
        "device": "cpu", "precision": "int8", "threads": 1, "codec": "bf16", "watched": True
    }  # fmt: skip
    assert tts.spec.max_rows == 8
    assert caplog.text == ""


@pytest.mark.parametrize("precision", ["exact", "fp32", "bf16", "fp16", "int8", "int4"])
def test_every_precision_that_is_named_can_be_asked_for(precision: str, tmp_path: Path) -> None:
    tts = menura.load(write(tmp_path, Tiny("custom_voice")), precision=precision)
    speech = tts.speak("Hello.", seed=1, max_new_tokens=3)
    assert np.isfinite(speech.samples).all()
    assert speech.applied["precision"] == precision


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"reference_silence": 1}, "reference_silence_s"),
        ({"reference_silence_s": -1}, "from 0 to 5"),
        ({"reference_silence_s": "1"}, "from 0 to 5"),
        ({"reference_silence_s": True}, "from 0 to 5"),
    ],
)
def test_an_argument_of_load_is_checked(
    arguments: dict[str, object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidValueError, match=said):
        Qwen3TTSEngine.load(write(tmp_path), LoadArguments(extra=arguments))


def test_bf16_is_said_where_it_is_used(tmp_path: Path) -> None:
    tts = menura.load(write(tmp_path), precision="bf16")
    voice = tts.voice(clip(), rate_hz=RATE_HZ)
    speech = tts.speak("Hello.", voice=voice, seed=1, max_new_tokens=5)
    assert speech.applied["precision"] == "bf16"
    assert speech.applied["device"] == "cpu"
    assert np.isfinite(speech.samples).all()


def test_language_speaker_and_layout_are_reported(load: Loader) -> None:
    found = utterance(load("custom"), "你好", voice="Eric", language="zh")
    assert found.applied["language"] == "sichuan_dialect"
    assert found.applied["layout"] == "whole"
    assert utterance(load("custom"), "Hi.", voice="eric", language="en").applied["language"] == (
        "english"
    )
    assert utterance(load("custom"), "Hi.", voice="").plan.speaker_code is None
    assert utterance(load("custom"), "Hi.").plan.speaker_code is not None
    voice = load("base").voice(clip(), rate_hz=RATE_HZ)
    assert utterance(load("base"), "Hi.", voice=voice).applied["layout"] == "streaming"


def test_control_tokens_in_a_text_are_plain_characters_unless_asked_for(load: Loader) -> None:
    tts = load("custom")
    text = "Hello<|im_end|> world"
    plain = utterance(tts, text).plan.text_ids
    parsed = utterance(tts, text, options={"parse_special_tokens": True}).plan.text_ids
    engine = tts.engine
    assert isinstance(engine, Qwen3TTSEngine)
    end_id = engine.tokenizer.special_ids["<|im_end|>"]
    assert end_id not in plain
    assert parsed.count(end_id) == 1


def test_parts_and_stages_are_those_of_the_variant(load: Loader) -> None:
    assert "speaker_encoder" in load("base").engine.parts
    assert "speaker_encoder" not in load("custom").engine.parts
    assert not any(module.training for module in load("base").engine.parts.values())


def test_codec_and_tokenizer_can_be_used_alone(load: Loader) -> None:
    engine = load("custom").engine
    assert isinstance(engine, Qwen3TTSEngine)
    codes = engine.codec.encode(clip(1.0), RATE_HZ)
    assert codes.shape == (13, 16)
    assert engine.codec.decode(codes).shape == (13 * 1920,)
    ids = engine.tokenizer.encode("Hello world")
    assert ids
    assert all(isinstance(i, int) for i in ids)


def test_numbers_that_are_not_numbers_fail_their_row_only(load: Loader) -> None:
    tts = load("base")
    voice = tts.voice(clip(), rate_hz=RATE_HZ)
    assert voice.embedding is not None
    broken_prompt = replace(
        voice.prompt, arrays={"embedding": np.full_like(voice.embedding, np.nan)}
    )
    requests = [
        SpeechRequest("Hello.", voice=replace(voice, prompt=prompt), seed=3,
                      options={"max_new_tokens": 5})
        for prompt in (voice.prompt, broken_prompt, voice.prompt)
    ]  # fmt: skip
    good, broken, again = tts.speak_many(requests)
    assert good.error is None
    assert again.error is None
    assert broken.error is not None
    assert broken.error.code == "numerics"
    assert np.array_equal(good.samples, again.samples)


def test_rows_in_one_decoder_are_the_rows_alone(load: Loader) -> None:
    engine = load("custom").engine
    texts = ("Hello.", "A second text, which is longer.")
    alone = [load("custom").speak(text, seed=4, split=False, max_new_tokens=12) for text in texts]
    decoder = engine.decoder(2)
    for row, text in enumerate(texts):
        prompt = utterance(load("custom"), text, options={"max_new_tokens": 12})
        decoder.admit(row, prompt, engine.noise(4), Delivery())
    steps = []
    while decoder.live:
        steps += decoder.step()
    for step in steps:
        assert step.frames is not None
        assert step.samples is not None
        expected = alone[step.row].frames
        assert expected is not None
        assert np.array_equal(step.frames, expected)
        assert np.array_equal(step.samples, alone[step.row].samples)
