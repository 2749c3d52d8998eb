"""Rows of the decoder: limits, streams, clones, and text that comes while it is spoken."""

import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numpy.typing import NDArray

import menura
from menura.engines.contract import Delivery, EndOfText, FinishReason, RowStep, Words
from menura.engines.qwen3_tts.engine import Qwen3TTSEngine
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.errors import InvalidValueError
from menura.speech import FloatArray, SpeechRequest, validate

if TYPE_CHECKING:
    from pathlib import Path

Loader = Callable[..., menura.TTS]
RATE_HZ = 24_000
FRAME = 1920
TRANSCRIPT = "A tone that beeps, again and again."
TEXT = "Hello world, it's 9 o'clock; 你好!"


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Loader:
    """Tiny models, each written and loaded once."""
    folders: dict[Tiny, Path] = {}
    loaded: dict[tuple[Tiny, str], menura.TTS] = {}

    def model(variant: str = "custom_voice", precision: str = "exact", *, endless: bool = False
    ) -> menura.TTS:  # fmt: skip
        tiny = Tiny(variant, endless=endless)
        if tiny not in folders:
            folders[tiny] = write(tmp_path_factory.mktemp("tiny"), tiny)
        if (tiny, precision) not in loaded:
            loaded[tiny, precision] = menura.load(folders[tiny], precision=precision)
        return loaded[tiny, precision]

    return model


def clip(seconds: float = 4.0) -> FloatArray:
    """Bursts of a tone, with a pause at the end."""
    time = np.arange(round(seconds * RATE_HZ)) / RATE_HZ
    burst = (time % 0.5 < 0.4) & (time < seconds - 0.1)
    return (0.3 * np.sin(2 * np.pi * 180 * time) * burst).astype(np.float32)


def voice_of(tts: menura.TTS, mode: str = "auto") -> menura.Voice | None:
    if tts.spec.variant != "base":
        return None
    return tts.voice(clip(), transcript=TRANSCRIPT, mode=mode, rate_hz=RATE_HZ)


def speak(tts: menura.TTS, text: str, seed: int, limit: int, voice: menura.Voice | None = None
) -> menura.Speech:  # fmt: skip
    return tts.speak(text, voice=voice, seed=seed, max_new_tokens=limit)


def stream(tts: menura.TTS, text: str, seed: int, limit: int, voice: menura.Voice | None = None
) -> FloatArray:  # fmt: skip
    return joined(tts.stream(text, voice=voice, seed=seed, max_new_tokens=limit))


def joined(chunks: Iterator[menura.AudioChunk]) -> FloatArray:
    return np.concatenate([chunk.samples for chunk in chunks])


@pytest.mark.parametrize("n_frames", [1, 2, 7, pytest.param(301, marks=pytest.mark.slow)])
def test_a_limit_gives_one_frame_fewer_and_says_so(load: Loader, n_frames: int) -> None:
    tts = load(endless=True)
    speech = speak(tts, "Hello.", 1, n_frames + 1)
    assert speech.frames is not None
    assert speech.frames.shape == (n_frames, 16)
    assert speech.frames.dtype == np.int64
    assert len(speech.samples) == n_frames * FRAME
    assert speech.finish is FinishReason.LENGTH
    streamed = stream(tts, "Hello.", 1, n_frames + 1)
    assert len(streamed) == len(speech.samples)
    assert np.abs(streamed - speech.samples).max() <= 1e-5


def test_chunks_have_the_frames_that_the_options_say(load: Loader) -> None:
    chunks = load(endless=True).stream(
        "Hello.", seed=1, max_new_tokens=12, first_chunk_frames=2, chunk_frames=4
    )
    assert [len(chunk.samples) // FRAME for chunk in chunks] == [2, 4, 4, 1]


@pytest.mark.parametrize("variant", ["base", "custom_voice", "voice_design"])
def test_in_auto_streamed_and_whole_audio_are_the_same_samples(load: Loader, variant: str) -> None:
    tts = load(variant, "auto")
    voice = voice_of(tts)
    speech = speak(tts, "Hello world.", 2, 20, voice)
    streamed = stream(tts, "Hello world.", 2, 20, voice)
    assert np.array_equal(streamed, speech.samples)


def test_fp32_draws_the_codes_of_exact(load: Loader) -> None:
    exact, plain = (speak(load(precision=p), "Hello.", 3, 20).frames for p in ("exact", "fp32"))
    assert exact is not None
    assert plain is not None
    assert np.array_equal(exact, plain)


def test_a_clone_in_context_gives_no_frame_of_its_reference(load: Loader) -> None:
    tts = load("base", endless=True)
    voice = voice_of(tts)
    n_reference = 50
    for n_frames in (3, 5, 8, 13):
        speech = speak(tts, "Hello.", 2, n_frames + 1, voice)
        share = n_reference / (n_reference + n_frames)
        n_cut = int(share * (n_reference + n_frames) * FRAME)
        assert speech.frames is not None
        assert len(speech.frames) == n_frames
        assert len(speech.samples) == (n_reference + n_frames) * FRAME - n_cut
        streamed = stream(tts, "Hello.", 2, n_frames + 1, voice)
        assert len(streamed) == n_frames * FRAME
        assert np.abs(streamed - speech.samples[-len(streamed) :]).max() <= 1e-5


def test_a_reference_is_decoded_once_for_many_utterances(
    load: Loader, monkeypatch: pytest.MonkeyPatch
) -> None:
    tts = load("base", "auto")
    engine = tts.engine
    assert isinstance(engine, Qwen3TTSEngine)
    voice = tts.voice(clip(3.5), transcript=TRANSCRIPT, rate_hz=RATE_HZ)
    first = speak(tts, "Hello.", 2, 4, voice)
    monkeypatch.setattr(engine.codec, "stream", None)
    again = speak(tts, "Hello.", 2, 4, voice)
    assert np.array_equal(first.samples, again.samples)


def test_an_utterance_that_never_ends_is_ended_by_its_texts_budget(load: Loader) -> None:
    watched = load(precision="auto", endless=True)
    speech = watched.speak("Hi.", seed=1)
    assert speech.finish is FinishReason.LENGTH
    assert 100 <= len(speech.samples) / FRAME <= 120
    chosen = speak(watched, "Hi.", 1, 131)
    assert len(chosen.samples) == 130 * FRAME


def pieces_of(text: str, seed: int) -> list[str]:
    """The text cut at random places, some pieces empty."""
    draws = random.Random(seed)
    cuts = sorted(draws.randrange(len(text) + 1) for _ in range(draws.randrange(12)))
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@pytest.mark.parametrize(
    ("variant", "mode"),
    [("custom_voice", ""), ("voice_design", ""), ("base", "x_vector"), ("base", "in_context")],
)
@pytest.mark.parametrize("seed", range(4))
def test_text_in_pieces_gives_the_codes_of_the_text_at_once(
    load: Loader, variant: str, mode: str, seed: int
) -> None:
    tts = load(variant, endless=True)
    voice = voice_of(tts, mode)
    text = TEXT if mode != "in_context" else TEXT * 3
    whole = tts.speak(
        text, voice=voice, seed=seed, split=False, non_streaming_mode=False, max_new_tokens=40
    )
    frames = frames_of(tts, pieces_of(text, seed), voice, seed)
    assert whole.frames is not None
    assert np.array_equal(frames, whole.frames)


def frames_of(
    tts: menura.TTS, pieces: list[str], voice: menura.Voice | None, seed: int
) -> NDArray[np.int64]:
    """The frames of a text in pieces, by the decoder itself, as eagerly as it can move."""
    engine = tts.engine
    manner = validate(SpeechRequest("", voice=voice, options={"max_new_tokens": 40}), tts.spec)
    decoder = engine.decoder(1)
    decoder.admit(0, engine.build_prompt(None, manner), engine.noise(seed), Delivery(1, 1))
    steps: list[RowStep] = []
    for piece in pieces:
        decoder.extend(0, Words(piece))
        while decoder.live:
            steps += decoder.step()
    decoder.extend(0, EndOfText())
    while decoder.live:
        steps += decoder.step()
    frames = [step.frames for step in steps if step.frames is not None]
    return np.concatenate(frames).astype(np.int64)


def test_audio_leaves_before_the_text_has_ended(load: Loader) -> None:
    taken: list[str] = []

    def words() -> Iterator[str]:
        for word in ("Hello ", "world, ", "this ", "is ", "a ", "text ", "that ", "comes."):
            taken.append(word)
            yield word

    chunks = load(endless=True).stream(words(), seed=1, max_new_tokens=60)
    next(chunks)
    assert len(taken) <= 2
    assert sum(1 for _ in chunks) > 1
    assert len(taken) == 8


def test_a_text_in_pieces_has_one_layout(load: Loader) -> None:
    with pytest.raises(InvalidValueError, match="non_streaming_mode"):
        list(load().stream(iter(["Hello."]), seed=1, non_streaming_mode=True))


def test_a_row_that_waits_for_words_is_not_live(load: Loader) -> None:
    tts = load(endless=True)
    manner = validate(SpeechRequest(""), tts.spec)
    decoder = tts.engine.decoder(1)
    decoder.admit(0, tts.engine.build_prompt(None, manner), tts.engine.noise(1), Delivery(1, 1))
    assert decoder.live == 0
    assert decoder.step() == []
    decoder.extend(0, Words("He"))
    assert decoder.live == 0  # "He" may still become "Hello", which is one word
    decoder.extend(0, Words("llo wo"))
    assert decoder.live == 1
