"""The engine on its tiny checkpoint: what it says of itself, and what it says when it cannot."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypedDict

import av
import numpy as np
import pytest
import torch
from torch import nn

import menura
from menura.engines import registry
from menura.engines.contract import Capability, Delivery, LoadArguments
from menura.engines.echo_tts import accelerate, tiny
from menura.engines.echo_tts.engine import EchoTTSEngine
from menura.errors import InvalidValueError, MenuraError, ModelFilesError, UnsupportedError
from menura.runtime.onednn import OneDnnLinear, is_available
from menura.speech import FinishReason, FloatArray, SpeechRequest, validate

Loader = Callable[..., menura.TTS]
RATE_HZ = 44_100
FRAME = 2048


class Quick(TypedDict):
    """An option that keeps the tests short."""

    num_steps: int


QUICK: Quick = {"num_steps": 3}


@pytest.fixture(scope="module")
def load(checkpoint: Path) -> Loader:
    """The tiny model in a precision, loaded once for each."""
    loaded: dict[str, menura.TTS] = {}

    def model(precision: str = "auto") -> menura.TTS:
        if precision not in loaded:
            loaded[precision] = menura.load(checkpoint, device="cpu", precision=precision)
        return loaded[precision]

    return model


def clip(seconds: float = 6.0) -> FloatArray:
    """Bursts of a tone."""
    time = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    return (0.3 * np.sin(2 * np.pi * 180 * time) * (time % 0.5 < 0.4)).astype(np.float32)


def engine_of(tts: menura.TTS) -> EchoTTSEngine:
    assert isinstance(tts.engine, EchoTTSEngine)
    return tts.engine


def test_the_spec_says_what_it_is(load: Loader) -> None:
    spec = load().spec
    assert spec.model == "echo-tts-base"
    assert spec.capabilities == {Capability.CLONE}
    assert spec.speaks_without_voice
    assert spec.max_segment_s == 25.0
    assert spec.max_segment_bytes == 762
    assert (spec.max_rows, spec.segments_ahead) == (4, 0)
    assert spec.licence == spec.output_licence == "CC-BY-NC-SA-4.0"
    assert spec.sample_rate_hz == RATE_HZ


def test_a_folder_is_recognised_by_its_tensors(checkpoint: Path, tmp_path: Path) -> None:
    assert registry.recognise(checkpoint) == "echo-tts"
    assert EchoTTSEngine.recognises(tmp_path) is None
    (tmp_path / "pca_state.safetensors").write_bytes(b"damaged")
    assert registry.recognise(tmp_path) == "echo-tts"  # so that loading says what is damaged


def test_the_autoencoder_may_be_beside_or_be_named(checkpoint: Path, tmp_path: Path) -> None:
    model, codec = tmp_path / "model", tmp_path / "codec"
    tiny.write_pair(model, codec)
    expected = menura.load(checkpoint).speak("Hello.", seed=1, **QUICK)
    for given in (codec, str(codec)):
        tts = menura.load(str(model), autoencoder=given, device="cpu", precision="auto")
        assert np.array_equal(tts.speak("Hello.", seed=1, **QUICK).samples, expected.samples)
    beside = tmp_path / "fish-s1-dac-min"
    shutil.move(codec, beside)
    assert menura.load(model).spec == menura.load(checkpoint).spec


def test_a_missing_autoencoder_is_named_with_both_ways_to_bring_it(tmp_path: Path) -> None:
    tiny.write_pair(tmp_path / "model", tmp_path / "codec")
    with pytest.raises(
        ModelFilesError, match=r"'fish-s1-dac-min'.*menura models pull.*autoencoder="
    ):
        EchoTTSEngine.load(tmp_path / "model", LoadArguments())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"autoencodr": "x"}, "Did you mean 'autoencoder'"),
        ({"autoencoder": 3}, "must be the folder"),
        ({"autoencoder": ""}, "must be the folder"),
        ({"autoencoder": "nowhere"}, "'nowhere' is no folder"),
    ],
)
def test_an_argument_of_load_is_checked(
    arguments: dict[str, object], said: str, checkpoint: Path
) -> None:
    with pytest.raises(InvalidValueError, match=said):
        EchoTTSEngine.load(checkpoint, LoadArguments(extra=arguments))
    with pytest.raises(InvalidValueError, match=said):
        EchoTTSEngine.describe(checkpoint, arguments)


def test_the_parts_that_outside_checks_use_work_alone(load: Loader) -> None:
    engine = engine_of(load("exact"))
    z_q = engine.autoencoder.encode(clip(1.0))
    assert z_q.shape == (22, engine.config.autoencoder.latent_dim)
    assert z_q.dtype == np.float32
    assert engine.autoencoder.decode(z_q).shape == (22 * FRAME,)
    assert bytes(engine.tokenizer.encode("Hi.")) == b"\0[S1] Hi."
    assert bytes(engine.tokenizer.encode("Hi.", normalize=False)) == b"\0Hi."
    assert not any(part.training for part in engine.parts.values())


def test_exact_makes_the_whole_window_and_auto_one_by_the_text(load: Loader) -> None:
    whole = load("exact").speak("Hello.", seed=1, **QUICK)
    assert whole.frames is not None
    assert whole.frames.shape == (640, 80)
    assert whole.frames.dtype == np.float32
    assert whole.applied["length"] == "full"
    assert whole.finish is FinishReason.LENGTH  # random weights never end
    short = load("auto").speak("Hello.", seed=1, **QUICK)
    assert short.frames is not None
    assert len(short.frames) == short.applied["sequence_length"] == 44
    assert short.applied["length"] == "auto"


@pytest.mark.parametrize(
    "options",
    [
        {"preset": "Independent-Low-CFG-Flat", "num_steps": 3},
        {"num_steps": 3, "sequence_length": 22},
        {"num_steps": 9, "block_sizes": "8,16", "block_steps": "3,2"},
    ],
)
def test_the_options_that_were_applied_give_the_same_samples_again(
    load: Loader, options: dict[str, object]
) -> None:
    text = "Hello there. And again, hello."
    first = load().speak_many([SpeechRequest(text, seed=1, options=options)])[0]
    given = first.applied["options"]
    assert isinstance(given, dict)
    [again] = load().speak_many([SpeechRequest(text, seed=1, options=given)])
    assert np.array_equal(again.samples, first.samples)
    assert again.applied["options"] == given


def test_a_stream_tells_how_much_audio_is_made_by_its_windows(load: Loader) -> None:
    with load().stream("Hello.", seed=1, sequence_length=220, num_steps=1) as stream:
        assert stream.sampled_s < 2.0  # by the text
        next(stream.moves())
        assert stream.sampled_s == pytest.approx(220 * FRAME / RATE_HZ)


@pytest.mark.parametrize("text", ["Hello", "Hi!", "No", "7"])
def test_a_single_word_is_never_30_s_of_noise(load: Loader, text: str) -> None:
    speech = load().speak(text, seed=2, **QUICK)
    assert speech.seconds < 2.2
    [segment] = speech.segments
    assert segment.finish is FinishReason.LENGTH  # random weights never end, and it is told
    assert segment.reason == "no end of speech within 2.0 s (44 frames)"


def test_the_licence_of_the_audio_is_reported_and_tagged(load: Loader, tmp_path: Path) -> None:
    speech = load().speak("Hello.", seed=1, **QUICK)
    assert speech.applied["output_licence"] == "CC-BY-NC-SA-4.0"
    path = speech.save(tmp_path / "a.flac")
    with av.open(str(path)) as file:
        assert file.metadata["comment"].startswith("Licence of this audio: CC-BY-NC-SA-4.0")


@pytest.mark.parametrize("precision", ["exact", "fp32", "bf16"])
def test_how_it_runs_is_reported(load: Loader, precision: str) -> None:
    speech = load(precision).speak("Hi.", seed=1, sequence_length=16, **QUICK)
    assert np.isfinite(speech.samples).all()
    names = {"exact": "exact", "fp32": "float32", "bf16": "bfloat16"}
    assert speech.applied["precision"] == names[precision]
    assert speech.applied["device"] == "cpu"
    assert speech.applied["row_tolerance"] == (0.05 if precision == "bf16" else 1e-5)
    assert speech.applied["guidance"] == "independent"
    assert speech.applied["linear"] == (
        "onednn" if precision == "fp32" and is_available() else "torch"
    )


@pytest.mark.parametrize(("is_quick", "dtype"), [(True, "bfloat16"), (False, "float32")])
def test_auto_is_bfloat16_where_the_cpu_multiplies_it(
    is_quick: bool, dtype: str, checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accelerate, "multiplies_bfloat16", lambda: is_quick)
    tts = menura.load(checkpoint, device="cpu")
    speech = tts.speak("Hi.", seed=1, sequence_length=16, **QUICK)
    assert speech.applied["precision"] == dtype
    engine = engine_of(tts)
    assert {str(p.dtype) for p in engine.dit.parameters()} == {f"torch.{dtype}"}
    others = [part for name, part in engine.parts.items() if name != "dit"]
    assert {p.dtype for part in others for p in part.parameters()} == {torch.float32}


@pytest.mark.skipif(not is_available(), reason="this torch has no oneDNN")
def test_what_is_faster_makes_the_same_latents(load: Loader) -> None:
    options = {"num_steps": 6, "block_sizes": "8,16"}
    request = SpeechRequest("Hello there.", seed=4, options=options)
    [plain], [quick] = (load(name).speak_many([request]) for name in ("exact", "fp32"))
    assert (plain.applied["linear"], quick.applied["linear"]) == ("torch", "onednn")
    blockwise = engine_of(load("fp32")).dit.blockwise
    assert blockwise is not None
    kinds = {type(part) for part in blockwise.modules() if isinstance(part, nn.Linear)}
    assert kinds == {OneDnnLinear}
    assert plain.frames is not None
    assert quick.frames is not None
    distance = np.linalg.norm(quick.frames - plain.frames)
    assert 0 < distance <= 1e-5 * np.linalg.norm(plain.frames)


def test_a_voice_changes_the_speech_and_belongs_to_its_weights(load: Loader) -> None:
    tts = load()
    voice = tts.voice(clip(), rate_hz=RATE_HZ)
    with_voice = tts.speak("Hello.", voice=voice, seed=1, **QUICK)
    without = tts.speak("Hello.", seed=1, **QUICK)
    assert not np.array_equal(with_voice.samples, without.samples)
    other = replace(voice, prompt=replace(voice.prompt, fingerprint="other"))
    with pytest.raises(UnsupportedError, match="other weights"):
        tts.speak("Hello.", voice=other, **QUICK)


@pytest.mark.parametrize("shape", [(0, 80), (39, 80), (40, 79), (40,)])
def test_a_voice_whose_latents_do_not_fit_is_refused(load: Loader, shape: tuple[int, ...]) -> None:
    tts = load()
    voice = tts.voice(clip(), rate_hz=RATE_HZ)
    arrays = {"latents": np.ones(shape, np.float32)}
    broken = replace(voice, prompt=replace(voice.prompt, arrays=arrays))
    with pytest.raises(MenuraError) as caught:
        tts.speak("Hello.", voice=broken, **QUICK)
    assert caught.value.param == "voice"


def test_retries_are_refused_where_upstreams_numbers_are_asked_for(load: Loader) -> None:
    with pytest.raises(InvalidValueError, match="retries=1"):
        load("exact").speak("Hello.", retries=1, **QUICK)
    again = load().speak("Hello.", seed=1, retries=2, **QUICK)
    assert len(str(again.applied["retries"]).split("no end of speech")) == 3


def test_blocks_are_refused_by_a_checkpoint_without_their_tensors(
    load: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    tts = load("fp32")
    monkeypatch.setattr(type(engine_of(tts)._parts), "has_blockwise", False)
    with pytest.raises(UnsupportedError, match="block_sizes needs"):
        tts.speak("Hello.", block_sizes="8,8")
    with pytest.raises(UnsupportedError, match="continue_segments needs") as caught:
        tts.speak("Hello.", continue_segments=True)
    assert caught.value.param == "continue_segments"


def test_nothing_of_the_blocks_is_loaded_unless_asked(checkpoint: Path) -> None:
    tts = menura.load(checkpoint)
    tts.speak("Hello.", seed=1, **QUICK)
    assert engine_of(tts).dit.blockwise is None
    tts.speak("Hello.", seed=1, block_sizes="8,8", **QUICK)
    assert engine_of(tts).dit.blockwise is not None


def test_a_text_that_is_too_long_for_one_segment_is_split_or_refused(load: Loader) -> None:
    text = "One small step after another. " * 30
    with pytest.raises(InvalidValueError, match="at most 768"):
        load().speak(text, split=False, **QUICK)
    planned = load().plan(SpeechRequest(text))
    assert len(planned.segments) > 1
    assert all(len(segment.text.encode()) <= 762 for segment in planned.segments)
    assert all(segment.expected_s <= 25.0 for segment in planned.segments)


class NoNumbers:
    """Noise that holds no numbers."""

    seed = 0

    def draw(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        """NaN [shape]."""
        del name
        return np.full(shape, np.nan, np.float32)


def test_numbers_that_are_not_numbers_fail_their_row_only(load: Loader) -> None:
    tts = load()
    engine = engine_of(tts)
    manner = validate(SpeechRequest("Hello.", options={**QUICK}), tts.spec)
    decoder = engine.decoder(2)
    decoder.admit(0, engine.build_prompt("Hello.", manner), NoNumbers(), Delivery())
    decoder.admit(1, engine.build_prompt("Hello.", manner), engine.noise(3), Delivery())
    first = decoder.step()
    assert [step.finish for step in first] == [FinishReason.ERROR, None]
    assert first[0].error is not None
    assert first[0].error.code == "numerics"
    assert decoder.live == 1
    steps = first
    while decoder.live:
        steps = decoder.step()
    [last] = steps
    assert last.frames is not None
    alone = tts.speak("Hello.", seed=3, **QUICK).frames
    assert alone is not None
    tolerance = tts.engine.applied["row_tolerance"]
    assert isinstance(tolerance, float)
    assert np.linalg.norm(last.frames - alone) <= tolerance * np.linalg.norm(alone)


def test_rows_at_different_times_are_each_the_row_alone(load: Loader) -> None:
    """Texts, voices, step counts, windows and guidance differ; a row joins while others move."""
    tts = load("exact")
    voice = tts.voice(clip(), rate_hz=RATE_HZ)
    requests = [
        SpeechRequest("Hello.", voice, options={"num_steps": 6, "sequence_length": 40}),
        SpeechRequest("A second text.", options={"num_steps": 3, "sequence_length": 24}),
        SpeechRequest("And a third.", voice, options={
            "num_steps": 4, "block_sizes": "8,16", "guidance": "joint", "cfg_scale_text": 2}),
    ]  # fmt: skip
    engine = engine_of(tts)
    decoder = engine.decoder(3)
    frames: dict[int, list[FloatArray]] = {0: [], 1: [], 2: []}
    waiting = list(enumerate(requests))
    while waiting or decoder.live:
        if waiting:
            row, request = waiting.pop(0)
            prompt = engine.build_prompt(request.text, validate(request, tts.spec))
            decoder.admit(row, prompt, engine.noise(row), Delivery())
        for step in decoder.step():
            if step.frames is not None:
                frames[step.row].append(np.asarray(step.frames, np.float32))
            if step.finish is not None:
                decoder.release(step.row)
    for row, request in enumerate(requests):
        [alone] = tts.speak_many([replace(request, seed=row)])
        assert alone.frames is not None
        together = np.concatenate(frames[row])
        assert np.linalg.norm(together - alone.frames) <= 1e-5 * np.linalg.norm(alone.frames)
