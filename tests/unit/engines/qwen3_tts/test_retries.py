"""Utterances that never end, and drawing them again (reports 1, 4 and 8)."""

from pathlib import Path

import numpy as np
import pytest

import menura
from menura.engines.qwen3_tts.engine import Qwen3TTSEngine
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.errors import InvalidValueError, NumericsError
from menura.runtime.seeding import derive
from menura.speech import FinishReason

TEXT = "Hello."


def load(tmp_path: Path, precision: str = "auto", *, endless: bool = False) -> menura.TTS:
    return menura.load(write(tmp_path, Tiny("custom_voice", endless=endless)), precision=precision)


def n_frames(tts: menura.TTS, seed: int) -> int:
    frames = tts.speak(TEXT, seed=seed).frames
    assert frames is not None
    return len(frames)


def test_an_utterance_that_reaches_the_limit_is_drawn_again(tmp_path: Path) -> None:
    tts = load(tmp_path)
    seed = next(
        seed for seed in range(40) if n_frames(tts, seed) > n_frames(tts, derive(seed, 0, 1)) + 1
    )
    limit = n_frames(tts, derive(seed, 0, 1)) + 2
    again = tts.speak(TEXT, seed=seed, max_new_tokens=limit, retries=1)
    alone = tts.speak(TEXT, seed=derive(seed, 0, 1))
    assert np.array_equal(again.samples, alone.samples)
    assert again.finish is FinishReason.STOP
    assert again.segments[0].seed == derive(seed, 0, 1)
    assert again.segments[0].reason == ""
    assert again.applied["seed"] == seed
    reasons = [f"it reached max_new_tokens={limit}"]
    assert again.applied["retries"] == [{"segment": 0, "reasons": reasons}]
    without = tts.speak(TEXT, seed=seed, max_new_tokens=limit)
    assert without.finish is FinishReason.LENGTH
    assert without.segments[0].reason == reasons[0]
    assert "retries" not in without.applied


def test_an_utterance_that_never_ends_says_so_and_why(tmp_path: Path) -> None:
    tts = load(tmp_path, endless=True)
    speech = tts.speak("Hi. Ho.", seed=1, max_new_tokens=3, retries=2, split=False)
    assert speech.finish is FinishReason.LENGTH
    assert speech.segments[0].seed == derive(1, 0, 2)
    reason = "it reached max_new_tokens=3"
    assert speech.segments[0].reason == reason
    assert speech.applied["retries"] == [{"segment": 0, "reasons": [reason, reason]}]
    options = speech.applied["options"]
    assert isinstance(options, dict)
    assert options["retries"] == 2


def test_what_ran_past_its_text_is_named(tmp_path: Path) -> None:
    speech = load(tmp_path, endless=True).speak("Hi.", seed=1)
    assert speech.finish is FinishReason.LENGTH
    assert speech.segments[0].reason == "it ran far past the time that its text should take"


def test_a_stream_that_has_begun_is_not_drawn_again(tmp_path: Path) -> None:
    stream = load(tmp_path, endless=True).stream("Hi.", seed=1, max_new_tokens=4, retries=3)
    assert sum(len(chunk.samples) for chunk in stream) == 3 * 1920
    assert stream.finish is FinishReason.LENGTH
    assert stream.segments[0].seed == 1
    assert "retries" not in stream.applied


@pytest.mark.parametrize("streams", [True, False])
def test_numbers_that_were_none_are_drawn_again_before_anything_is_heard(
    streams: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tts = load(tmp_path)
    alone = tts.speak(TEXT, seed=derive(1, 0, 1), max_new_tokens=9)
    calls: list[int] = []
    engine = tts.engine
    assert isinstance(engine, Qwen3TTSEngine)
    start = engine.running.frames.start

    def failing_once(*arguments: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            raise NumericsError("no numbers.")
        return start(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(engine.running.frames, "start", failing_once)
    if streams:
        stream = tts.stream(TEXT, seed=1, retries=1, max_new_tokens=9)
        samples = np.concatenate([chunk.samples for chunk in stream])
        applied = stream.applied
    else:
        speech = tts.speak(TEXT, seed=1, retries=1, max_new_tokens=9)
        samples, applied = speech.samples, speech.applied
    assert np.array_equal(samples, alone.samples)
    assert applied["retries"] == [{"segment": 0, "reasons": ["no numbers."]}]


def test_exact_mode_draws_once(tmp_path: Path) -> None:
    tts = load(tmp_path, "exact")
    with pytest.raises(InvalidValueError, match="precision='exact'") as caught:
        tts.speak(TEXT, seed=1, retries=1)
    assert caught.value.param == "retries"
    speech = tts.speak(TEXT, seed=1, retries=0, max_new_tokens=3)
    assert len(speech.samples) > 0
