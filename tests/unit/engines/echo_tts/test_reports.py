"""What broke for users of this model elsewhere must not break here.

The numbers are those of the project's list of public reports. Other wishes of users have tests of
their own: streams of blocks and crops in `test_live_row.py`; several requests at once, the choice
of device and precision, and the licence in `test_engine.py`; presets that are numbers and options
that contradict each other in `test_options.py`; long references in bounded memory in
`test_voice_encoder.py`; the left quote and other oddities of texts in `test_tokenizer.py`.
"""

from pathlib import Path

import numpy as np
import pytest

import menura
from menura.engines.echo_tts.generate import SamplerRow
from menura.speech import FinishReason, FloatArray, SpeechRequest

FRAME_RATE_HZ = 44_100 / 2048
SENTENCE = "She opened the window, and the cold air of the morning came in. "


@pytest.fixture(scope="module")
def tts(checkpoint: Path) -> menura.TTS:
    return menura.load(checkpoint, device="cpu")


def test_13_a_minute_of_text_is_planned_into_windows_that_it_need_not_rush_through(
    tts: menura.TTS,
) -> None:
    text = SENTENCE * 15
    plan = tts.plan(SpeechRequest(text))
    assert plan.expected_s > 60
    assert len(plan.segments) >= 3
    assert max(segment.expected_s for segment in plan.segments) <= 25.0
    for length in ("auto", "full"):
        for segment in plan.segments:
            manner = tts.plan(SpeechRequest(text, options={"length": length})).manner
            applied = tts.engine.build_prompt(segment.text, manner).applied
            n_frames = applied["sequence_length"]
            assert isinstance(n_frames, int)
            assert segment.expected_s < n_frames / FRAME_RATE_HZ < 29.8
            assert "rushed" not in applied


def test_13_text_that_is_too_much_for_its_window_is_told(tts: menura.TTS) -> None:
    speech = tts.speak(SENTENCE * 11, seed=1, split=False, num_steps=1, sequence_length=64)
    told = speech.applied["rushed"]
    assert isinstance(told, list)
    assert [entry[-20:] for entry in told] == ["s of speech in 3.0 s"]


@pytest.mark.parametrize("text", ["Hello", "Hi!", "No", "7"])
def test_15_and_16_a_single_word_gives_two_seconds_at_most(tts: menura.TTS, text: str) -> None:
    speech = tts.speak(text, seed=2, num_steps=2)
    assert speech.seconds < 2.2
    [segment] = speech.segments
    # Random weights make no end: that is said, and it can be tried again.
    assert segment.finish is FinishReason.LENGTH
    assert segment.reason == "no end of speech within 2.0 s (44 frames)"
    again = tts.speak(text, seed=2, num_steps=2, retries=2)
    reasons = ["no end of speech within 2.0 s (44 frames)"] * 2
    assert again.applied["retries"] == [{"segment": 0, "reasons": reasons}]
    assert again.segments[0].seed != segment.seed


def test_15_what_follows_a_short_text_is_cut_and_its_length_is_reported(
    tts: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = SamplerRow.new_frames

    def flattened(row: SamplerRow) -> FloatArray | None:
        """The row's latents, flat from the thirtieth on."""
        frames = make(row)
        return None if frames is None else np.concatenate([frames[:30], 0 * frames[30:]])

    monkeypatch.setattr(SamplerRow, "new_frames", flattened)
    speech = tts.speak("Hello", seed=2, num_steps=2)
    [segment] = speech.segments
    assert segment.finish is FinishReason.STOP
    assert segment.trimmed_s == pytest.approx(14 / FRAME_RATE_HZ)
    assert len(speech.samples) == 30 * 2048
    assert np.isfinite(speech.samples).all()
