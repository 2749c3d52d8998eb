"""A whole engine with the codec beside the talker: the same samples, at any number of threads."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import menura
from menura.engines.qwen3_tts.native_rows import NativeRows
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.engines.qwen3_tts.utterance_row import Outcome, Row
from menura.errors import NumericsError
from menura.runtime.native import frame
from menura.speech import SpeechRequest

pytestmark = pytest.mark.skipif(bool(frame.why_not()), reason=frame.why_not())

TEXTS = ("Hello.", "The birch canoe slid on the smooth planks.", "Glue the sheet.")
SHAPES = ((1, 4), (1, 1), (3, 7))  # frames of the first piece and of the later ones


@pytest.fixture(scope="module")
def voices(tmp_path_factory: pytest.TempPathFactory) -> dict[int, menura.TTS]:
    """The same model on one thread, where nobody helps, and on two and three."""
    folder = write(tmp_path_factory.mktemp("model"), Tiny("custom_voice", endless=True))
    return {n: menura.load(folder, precision="int8", threads=n) for n in (1, 2, 3)}


def requests(shape: tuple[int, int]) -> list[SpeechRequest]:
    chunks = {"first_chunk_frames": shape[0], "chunk_frames": shape[1]}
    return [
        SpeechRequest(text, seed=i, options={"max_new_tokens": 20 + 7 * i, **chunks})
        for i, text in enumerate(TEXTS)
    ]


@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_many_together_speak_as_on_one_thread(
    voices: dict[int, menura.TTS], n_threads: int, shape: tuple[int, int]
) -> None:
    wanted = voices[1].speak_many(requests(shape))
    found = voices[n_threads].speak_many(requests(shape))
    for one, other in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(other.samples, one.samples)
        assert other.finish == one.finish


@pytest.mark.parametrize("n_frames", [1, 4, 7])
def test_a_stream_joins_to_the_whole(voices: dict[int, menura.TTS], n_frames: int) -> None:
    whole = voices[1].speak(TEXTS[1], seed=3, max_new_tokens=30, chunk_frames=n_frames)
    chunks = list(voices[2].stream(TEXTS[1], seed=3, max_new_tokens=30, chunk_frames=n_frames))
    np.testing.assert_array_equal(np.concatenate([c.samples for c in chunks]), whole.samples)


def test_streams_that_are_closed_early_leave_the_helper_free(
    voices: dict[int, menura.TTS],
) -> None:
    tts = voices[2]
    for seed in range(6):
        stream = tts.stream(TEXTS[1], seed=seed, max_new_tokens=30, chunk_frames=2)
        next(stream)
        next(stream)
        stream.close()
    speech = tts.speak(TEXTS[0], seed=1, max_new_tokens=20)
    np.testing.assert_array_equal(
        speech.samples, voices[1].speak(TEXTS[0], seed=1, max_new_tokens=20).samples
    )


def heard_before_an_error(tts: menura.TTS, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many samples a stream gives whose sixth frame fails, after pieces of one and of four."""
    count, whole = itertools.count(1), NativeRows.next_frames

    def next_frames(self: NativeRows, rows: Sequence[Row]) -> list[Outcome]:
        if next(count) == 6:
            return [NumericsError("no numbers") for _ in rows]
        return whole(self, rows)

    heard: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(NativeRows, "next_frames", next_frames)
        stream = tts.stream(TEXTS[1], seed=1, max_new_tokens=40)
        with pytest.raises(NumericsError, match="no numbers"):
            heard.extend(len(chunk.samples) for chunk in stream)
    return sum(heard)


def test_what_was_due_comes_before_an_error(
    voices: dict[int, menura.TTS], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = heard_before_an_error(voices[1], monkeypatch)
    assert wanted == 5 * voices[1].spec.sample_rate_hz * 80 // 1000
    assert heard_before_an_error(voices[2], monkeypatch) == wanted


def heard_before_each_word(tts: menura.TTS) -> list[int]:
    """How many samples were there when each word was asked for, and at the end."""
    n_heard = [0]

    def words() -> Iterator[str]:
        for word in ("The birch ", "canoe slid ", "on the smooth ", "planks."):
            n_heard.append(n_heard[-1])
            yield word

    for chunk in tts.stream(words(), seed=2, max_new_tokens=40, chunk_frames=1):
        n_heard[-1] += len(chunk.samples)
    return n_heard


def test_words_that_come_slowly_do_not_hold_back_what_was_said(
    voices: dict[int, menura.TTS],
) -> None:
    wanted = heard_before_each_word(voices[1])
    assert wanted[-1] > wanted[-2] > 0
    assert heard_before_each_word(voices[2]) == wanted
