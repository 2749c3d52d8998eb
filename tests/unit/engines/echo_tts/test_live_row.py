"""Rows from their latents to what is heard: crops, pieces, blocks, and segments that go on.

The model's last layer is set to zero here, so that the velocity is zero and a row's latents are its
noise: each test says by the noise what the model "made".
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np
import pytest
import torch

import menura
from menura.engines.contract import Delivery, RowStep
from menura.engines.echo_tts.engine import EchoTTSEngine
from menura.errors import NoAudioError
from menura.speech import FinishReason, FloatArray, Frames, SpeechRequest, validate

if TYPE_CHECKING:
    from pathlib import Path

FRAME = 2048
FRAME_S = FRAME / 44_100
TEXT = "Hello."


class Given(TypedDict, total=False):
    """The options that the tests use."""

    num_steps: int
    sequence_length: int
    block_sizes: str
    first_chunk_frames: int
    chunk_frames: int


QUICK: Given = {"num_steps": 2}
WINDOW: Given = {"num_steps": 2, "sequence_length": 44}
BLOCKS: Given = {"num_steps": 2, "block_sizes": "12,16,16"}


def speech(n_frames: int, seed: int = 0) -> FloatArray:
    """Latents [T, 80] that move."""
    draws = np.random.Generator(np.random.PCG64(seed)).standard_normal((n_frames, 80))
    return draws.astype(np.float32)


def flat(n_frames: int) -> FloatArray:
    """Latents [T, 80] that do not move."""
    return np.full((n_frames, 80), 0.05, np.float32)


class Script:
    """Noise that was written beforehand."""

    def __init__(self, latents: FloatArray) -> None:
        self.seed = 0
        self._latents = latents

    def draw(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        """The next latents [1, T, C]; a script that is too short is a test's mistake."""
        assert name == "latents"
        drawn, self._latents = self._latents[: shape[1]], self._latents[shape[1] :]
        return drawn.reshape(shape)


@pytest.fixture(scope="module", params=["auto", "exact"])
def tts(request: pytest.FixtureRequest, checkpoint: "Path") -> menura.TTS:
    return still(checkpoint, request.param)


@pytest.fixture(scope="module")
def auto(checkpoint: "Path") -> menura.TTS:
    return still(checkpoint, "auto")


@pytest.fixture(scope="module")
def exact(checkpoint: "Path") -> menura.TTS:
    return still(checkpoint, "exact")


def still(folder: "Path", precision: str) -> menura.TTS:
    """The tiny model whose latents stay what they were drawn as."""
    loaded = menura.load(folder, device="cpu", precision=precision)
    with torch.no_grad():
        for parameter in engine_of(loaded).dit.out_proj.parameters():
            parameter.zero_()
    return loaded


def engine_of(loaded: menura.TTS) -> EchoTTSEngine:
    assert isinstance(loaded.engine, EchoTTSEngine)
    return loaded.engine


def follow(monkeypatch: pytest.MonkeyPatch, loaded: menura.TTS, *latents: FloatArray) -> None:
    """Let every row make these latents."""
    script = np.concatenate(latents)
    monkeypatch.setattr(loaded.engine, "noise", lambda seed: Script(script))


def speak(loaded: menura.TTS, **options: Unpack[Given]) -> menura.Speech:
    return loaded.speak(TEXT, seed=1, **(QUICK | options))


def steps_of(
    loaded: menura.TTS, delivery: Delivery, latents: FloatArray, **options: Unpack[Given]
) -> Iterator[RowStep]:
    """The steps of one row that makes these latents."""
    manner = validate(SpeechRequest(TEXT, options={**QUICK, **options}), loaded.spec)
    decoder = loaded.engine.decoder(1)
    prompt = loaded.engine.build_prompt(TEXT, manner)
    decoder.admit(0, prompt, Script(latents), delivery)
    while decoder.live:
        yield from decoder.step()


def decoded(loaded: menura.TTS, latents: Frames) -> FloatArray:
    """The samples [n] of latents [T, 80], in one call."""
    return engine_of(loaded)._loaded.decoding.whole(latents.astype(np.float32))


def close(one: FloatArray, other: FloatArray) -> bool:
    """Whether two arrays are as long and within 1e-5 of each other."""
    return len(one) == len(other) and bool(
        np.linalg.norm(one - other) <= 1e-5 * np.linalg.norm(other)
    )


def test_what_follows_the_speech_is_cut_before_it_is_decoded_and_told(
    tts: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = np.concatenate([speech(20), flat(24)])
    follow(monkeypatch, tts, script)
    found = speak(tts, sequence_length=44)
    assert found.frames is not None
    assert np.array_equal(found.frames, script)  # all of them, before the cut
    assert len(found.samples) == 20 * FRAME
    assert close(found.samples, decoded(tts, script[:20]))
    [segment] = found.segments
    assert segment.finish is FinishReason.STOP
    assert segment.trimmed_s == pytest.approx(24 * FRAME_S)


@pytest.mark.parametrize("options", [WINDOW, BLOCKS])
def test_a_window_full_of_speech_is_kept_whole_and_ended_at_a_limit(
    options: Given, tts: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(monkeypatch, tts, speech(44))
    found = speak(tts, **options)
    assert len(found.samples) == 44 * FRAME
    [segment] = found.segments
    assert segment.finish is found.finish is FinishReason.LENGTH
    assert segment.reason == "no end of speech within 2.0 s (44 frames)"
    assert segment.trimmed_s == 0.0


def test_a_window_without_any_speech_is_an_error(
    tts: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(monkeypatch, tts, flat(44))
    with pytest.raises(NoAudioError):
        speak(tts, sequence_length=44)


def test_a_stream_gives_pieces_as_the_options_say(
    tts: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(monkeypatch, tts, speech(30), flat(14))
    options: Given = {**WINDOW, "first_chunk_frames": 2, "chunk_frames": 12}
    whole = speak(tts, **options)
    chunks = list(tts.stream(TEXT, seed=1, **options))
    assert [len(chunk.samples) // FRAME for chunk in chunks] == [2, 12, 12, 4]
    assert close(np.concatenate([chunk.samples for chunk in chunks]), whole.samples)


def test_in_auto_streamed_and_whole_audio_are_the_same_samples(
    auto: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(monkeypatch, auto, speech(30), flat(14))
    for options in (WINDOW, BLOCKS):
        whole = speak(auto, **options)
        chunks = list(auto.stream(TEXT, seed=1, **options))
        assert np.array_equal(np.concatenate([c.samples for c in chunks]), whole.samples)


def test_every_step_says_how_far_the_row_is(tts: menura.TTS) -> None:
    script = np.concatenate([speech(20), flat(24)])
    steps = list(steps_of(tts, Delivery(8, 8), script, sequence_length=44))
    shares = [step.done for step in steps]
    assert all(share is not None for share in shares)
    assert shares == sorted(share for share in shares if share is not None)
    # 2 lanes, then 1, and 3 for decoding, of which 8 of 20 frames and the 24 that are cut are done
    assert shares[:2] == pytest.approx([2 / 6, (2 + 1 + 3 * 32 / 44) / 6])
    assert shares[-1] == 1.0
    assert [step.is_news for step in steps] == [True, False, False, False]


def test_a_block_is_heard_before_the_next_one_is_sampled(auto: menura.TTS) -> None:
    steps = list(steps_of(auto, Delivery(8, 32), speech(32), block_sizes="16,16"))
    heard = [0 if step.samples is None else len(step.samples) // FRAME for step in steps]
    #        2 Euler steps, then what is left of block 1, then 2 more, then block 2
    assert heard == [0, 8, 8, 0, 16]
    assert steps[-1].finish is FinishReason.LENGTH


def test_blocks_end_with_the_speech_but_upstream_makes_them_all(
    auto: menura.TTS, exact: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    for loaded, n_frames in ((auto, 32), (exact, 64)):
        script = np.concatenate([speech(10), flat(22), speech(32)])
        follow(monkeypatch, loaded, script)
        found = speak(loaded, block_sizes="32,32")
        assert found.frames is not None
        assert np.array_equal(found.frames, script[:n_frames])
        assert close(found.samples, decoded(loaded, script[:10]))
        assert found.segments[0].trimmed_s == pytest.approx((n_frames - 10) * FRAME_S)
        assert found.finish is FinishReason.STOP


def test_a_stream_of_blocks_never_takes_back_what_was_heard(
    tts: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(monkeypatch, tts, speech(28), flat(4), flat(32))
    whole = speak(tts, block_sizes="32,32")
    streamed = [chunk.samples for chunk in tts.stream(TEXT, seed=1, block_sizes="32,32", **QUICK)]
    assert len(whole.samples) == 28 * FRAME
    assert close(np.concatenate(streamed), whole.samples)


def test_a_segment_that_goes_on_is_decoded_after_the_one_before(
    tts: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = [np.concatenate([speech(22), flat(26)]), np.concatenate([speech(12, 1), flat(24)])]
    waiting = [Script(np.concatenate([script, flat(640)])) for script in scripts]
    monkeypatch.setattr(tts.engine, "noise", lambda seed: waiting.pop(0))
    text = "The first sentence of them all, and it is a rather long one. " * 4
    found = tts.speak(text, seed=1, continue_segments=True, length="auto", **QUICK)
    assert len(found.segments) == 2
    first, second = found.segments
    assert first.sample_end == 22 * FRAME
    # it goes on from 20 of the 22 latents of speech, which are whole patches
    together = decoded(tts, np.concatenate([scripts[0][:20], scripts[1][:12]]))
    heard = found.samples[second.sample_start : second.sample_end]
    assert close(heard, together[20 * FRAME :])


def test_a_stream_that_went_wrong_is_drawn_again_like_whole_speech(
    auto: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    never_ends, ends = speech(44), np.concatenate([speech(22), flat(22)])

    def noise(seed: int) -> Script:
        return Script(never_ends if seed == 1 else ends)

    monkeypatch.setattr(auto.engine, "noise", noise)
    whole = auto.speak(TEXT, seed=1, retries=1, **WINDOW)
    stream = auto.stream(TEXT, seed=1, retries=1, **WINDOW)
    samples = np.concatenate([chunk.samples for chunk in stream])
    assert whole.finish is FinishReason.STOP
    assert len(whole.samples) == 22 * FRAME
    assert np.array_equal(samples, whole.samples)
    assert stream.applied["retries"] == whole.applied["retries"]


def test_where_nothing_is_drawn_again_a_stream_leaves_as_it_is_made(
    auto: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow(monkeypatch, auto, speech(44))
    chunks = list(auto.stream(TEXT, seed=1, first_chunk_frames=8, chunk_frames=16, **WINDOW))
    assert [len(chunk.samples) // FRAME for chunk in chunks] == [8, 16, 16, 4]
