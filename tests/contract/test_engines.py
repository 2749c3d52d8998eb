"""One suite over every registered engine: the verbs, seeds, cancelling, errors and options."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import menura
from menura import models
from menura.engines import registry
from menura.engines.contract import Capability, Decoder, Delivery, FinishReason, RowStep, Stage
from menura.errors import InvalidValueError, MenuraError, UnsupportedError, VoiceNotFoundError
from menura.speech import SpeechRequest, validate

NAMES = registry.names()
TEXT = "One short sentence. And another one."


@pytest.fixture(scope="module", params=NAMES)
def tts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> menura.TTS:
    """Each engine with its smallest weights, loaded by the folder where it has one."""
    folder = tmp_path_factory.mktemp("tiny")
    found = registry.engine_class(request.param).tiny(folder)
    return menura.load(found or request.param)


def voice_of(tts: menura.TTS) -> menura.Voice | None:
    """A voice, for the models that need one."""
    if tts.spec.default_voice is not None or tts.spec.speaks_without_voice:
        return None
    clip = np.sin(np.arange(4 * 24_000) / 20).astype(np.float32)
    return tts.voice(clip, rate_hz=24_000)


def steps_of(tts: menura.TTS, text: str, seed: int = 3) -> list[RowStep]:
    """Every step of one row, by the decoder itself."""
    manner = validate(SpeechRequest(text, voice=voice_of(tts)), tts.spec)
    decoder = tts.engine.decoder(1)
    decoder.admit(0, tts.engine.build_prompt(text, manner), tts.engine.noise(seed), Delivery(1, 2))
    steps: list[RowStep] = []
    while not steps or steps[-1].finish is None:
        steps += decoder.step()
    decoder.release(0)
    return steps


def test_the_registry_has_our_engine_and_the_one_of_the_entry_point() -> None:
    assert NAMES[0] == "builtin"
    assert "tone" in NAMES


def test_the_spec_is_complete(tts: menura.TTS) -> None:
    spec = tts.spec
    assert spec.engine in NAMES
    assert spec.sample_rate_hz >= 8_000
    assert spec.languages
    assert all(language == language.casefold() for language in spec.languages)
    assert (spec.reference is not None) == spec.clones
    names = [preset.name for preset in spec.voices]
    assert len({name.casefold() for name in names}) == len(names)
    assert spec.default_voice is None or spec.default_voice in names
    slowest, fastest = spec.native_speed
    assert slowest <= 1.0 <= fastest
    assert 1 <= spec.max_segment_s <= 60
    assert spec.max_rows >= 1


def test_the_tensors_that_the_engine_expects_are_those_of_its_smallest_weights(
    tts: menura.TTS, tmp_path: Path
) -> None:
    engine_class = registry.engine_class(tts.spec.engine)
    folder = engine_class.tiny(tmp_path)
    if folder is None:
        return
    expected = engine_class.expected_tensors(folder)
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*.safetensors")}
    assert expected.keys() == found
    assert models.verify(folder).ok


def test_the_description_without_weights_is_the_loaded_models_spec(
    tts: menura.TTS, tmp_path: Path
) -> None:
    engine_class = registry.engine_class(tts.spec.engine)
    assert engine_class.describe(engine_class.tiny(tmp_path), {}) == tts.spec


def test_every_option_has_help_and_a_default_that_it_allows(tts: menura.TTS) -> None:
    options = tts.spec.options
    assert dataclasses.is_dataclass(options)
    for facts in options.facts():
        assert facts.help.endswith(".")
        assert facts.check(facts.default) == facts.default
    assert options.parse({}) == options()


def test_parts_are_those_that_the_stages_name(tts: menura.TTS) -> None:
    named = {part for parts in tts.engine.stages.values() for part in parts}
    assert named == set(tts.engine.parts)


def test_a_row_ends_by_itself_and_gives_numbers(tts: menura.TTS) -> None:
    steps = steps_of(tts, TEXT)
    assert [step.finish for step in steps[:-1]] == [None] * (len(steps) - 1)
    # Random weights fill a window to its end: that is no silent success.
    has_window = steps[-1].done is not None
    assert steps[-1].finish is (FinishReason.LENGTH if has_window else FinishReason.STOP)
    assert bool(steps[-1].reason) == has_window
    samples = np.concatenate([step.samples for step in steps if step.samples is not None])
    assert samples.dtype == np.float32
    assert samples.ndim == 1
    assert np.isfinite(samples).all()
    assert len(samples) > 0


def test_a_seed_means_the_same_audio_and_another_seed_another(tts: menura.TTS) -> None:
    voice = voice_of(tts)
    first, again = (tts.speak(TEXT, voice=voice, seed=5) for _ in range(2))
    other = tts.speak(TEXT, voice=voice, seed=6)
    assert np.array_equal(first.samples, again.samples)
    assert len(first.samples) != len(other.samples) or not np.array_equal(
        first.samples, other.samples
    )
    assert first.applied["seed"] == 5


def test_streamed_and_whole_speech_are_the_same(tts: menura.TTS) -> None:
    voice = voice_of(tts)
    speech = tts.speak(TEXT, voice=voice, seed=5)
    chunks = list(tts.stream(TEXT, voice=voice, seed=5))
    assert np.array_equal(np.concatenate([chunk.samples for chunk in chunks]), speech.samples)
    assert chunks[-1].is_final


def test_a_row_does_not_know_its_neighbours(tts: menura.TTS) -> None:
    voice = voice_of(tts)
    texts = [TEXT, "A second request, somewhat longer than the first one was.", "A third one."]
    requests = [SpeechRequest(text, voice=voice, seed=9) for text in texts]
    together = tts.speak_many(requests)
    tolerance = tts.engine.applied.get("row_tolerance", 0.0)
    assert isinstance(tolerance, float)
    for request, speech in zip(requests, together, strict=True):
        alone = tts.speak(request.text, voice=voice, seed=9)
        assert len(alone.samples) == len(speech.samples)
        difference = np.linalg.norm(alone.samples - speech.samples)
        assert difference <= tolerance * np.linalg.norm(alone.samples)


def test_a_row_that_says_how_far_it_is_comes_to_the_end(tts: menura.TTS) -> None:
    shares = [step.done for step in steps_of(tts, TEXT)]
    if shares[-1] is None:
        assert set(shares) == {None}
        return
    numbers = [share for share in shares if share is not None]
    assert len(numbers) == len(shares)
    assert numbers == sorted(numbers)
    assert 0 < numbers[0] < 1
    assert numbers[-1] == 1


def test_a_stream_that_is_closed_frees_its_row(
    tts: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoders: list[Decoder] = []
    make = tts.engine.decoder

    def keep(rows: int) -> Decoder:
        decoders.append(make(rows))
        return decoders[-1]

    monkeypatch.setattr(tts.engine, "decoder", keep)
    stream = tts.stream(TEXT * 3, voice=voice_of(tts), seed=1)
    next(stream)
    stream.close()
    assert list(stream) == []
    assert decoders[0].live == 0
    assert len(decoders[0].free_rows) == tts.spec.max_rows or len(decoders[0].free_rows) == 1


def test_rows_are_free_again_after_release_whatever_their_state(tts: menura.TTS) -> None:
    manner = validate(SpeechRequest(TEXT, voice=voice_of(tts)), tts.spec)
    prompt = tts.engine.build_prompt(TEXT, manner)
    decoder = tts.engine.decoder(2)
    assert sorted(decoder.free_rows) == [0, 1]
    assert decoder.live == 0
    decoder.admit(1, prompt, tts.engine.noise(1), Delivery())
    assert list(decoder.free_rows) == [0]
    assert decoder.live == 1
    decoder.release(1)
    decoder.release(1)
    assert sorted(decoder.free_rows) == [0, 1]
    assert decoder.live == 0
    assert decoder.step() == []


def test_an_unknown_option_is_an_error_or_reported_as_ignored(tts: menura.TTS) -> None:
    voice = voice_of(tts)
    with pytest.raises(InvalidValueError, match="no_such_option"):
        tts.speak(TEXT, voice=voice, no_such_option=1)
    lenient = tts.speak("Yes, indeed.", voice=voice, strict=False, no_such_option=1)
    ignored = lenient.applied["ignored"]
    assert isinstance(ignored, dict)
    assert list(ignored) == ["no_such_option"]


def test_an_unknown_voice_is_an_error_that_lists_the_models_own(tts: menura.TTS) -> None:
    with pytest.raises(VoiceNotFoundError, match="no-such-voice") as caught:
        tts.speak(TEXT, voice="no-such-voice", strict=False)
    assert all(preset.name in caught.value.message for preset in tts.spec.voices)


def test_what_the_model_cannot_do_is_refused(tts: menura.TTS) -> None:
    if not tts.spec.takes_instructions:
        with pytest.raises(UnsupportedError, match="instruct"):
            tts.speak(TEXT, voice=voice_of(tts), instruct="Whisper.")
    if Capability.CLONE not in tts.spec.capabilities:
        with pytest.raises(UnsupportedError, match="recording"):
            tts.voice(np.zeros(24_000, np.float32), rate_hz=24_000)
    if not tts.spec.streams_text:
        with pytest.raises(UnsupportedError, match="whole text"):
            tts.stream(iter(["One ", "two."]), voice=voice_of(tts))


def test_every_failure_is_a_menura_error(tts: menura.TTS) -> None:
    for arguments in ({"seed": -1}, {"speed": 9.0}, {"language": "klingon"}, {"voice": 3}):
        with pytest.raises(MenuraError):
            tts.speak(TEXT, **arguments)


def test_the_working_memory_is_a_number_of_bytes(tts: menura.TTS) -> None:
    manner = validate(SpeechRequest(TEXT, voice=voice_of(tts)), tts.spec)
    prompt = tts.engine.build_prompt(TEXT, manner)
    assert all(tts.engine.working_bytes(stage, prompt) > 0 for stage in Stage)
