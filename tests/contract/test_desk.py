"""The desk over every registered engine: many at once are what each is alone."""

from dataclasses import replace

import numpy as np
import pytest

import menura
from menura.desk import Desk
from menura.engines import registry
from menura.errands import Ask, Cancel, Ended, EndWords, Event, Flush, Heard, Say
from menura.errors import VoiceNotFoundError
from menura.runtime.seeding import derive
from menura.speech import FinishReason, FloatArray, SpeechRequest
from tests.unit.letters import Letters, begun, ended, reports_of, samples_of, told

TEXTS = ("One short sentence.", "And another one, that is longer than it.", "The third.")
# Rows of one packed pass add up in another order than a row alone (echo_tts/decoder.py).
BOUNDS = {"echo-tts": 1e-5}


@pytest.fixture(scope="module", params=registry.names())
def tts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> menura.TTS:
    folder = tmp_path_factory.mktemp("tiny")
    found = registry.engine_class(request.param).tiny(folder)
    return menura.load(found or request.param)


@pytest.fixture(scope="module")
def like(tts: menura.TTS) -> SpeechRequest:
    """A request that the model can follow, but for its text."""
    if tts.spec.default_voice is not None or tts.spec.speaks_without_voice:
        return SpeechRequest("", seed=3)
    clip = np.sin(np.arange(4 * 24_000) / 20).astype(np.float32)
    return SpeechRequest("", voice=tts.voice(clip, rate_hz=24_000), seed=3)


def alone(tts: menura.TTS, request: SpeechRequest, *, stream: bool) -> FloatArray:
    """The samples of the same request by itself."""
    if not stream:
        return tts.speak(request.text, voice=request.voice, seed=request.seed).samples
    stream_of = tts.stream(request.text, voice=request.voice, seed=request.seed)
    return np.concatenate([chunk.samples for chunk in stream_of])


def same(tts: menura.TTS, found: FloatArray, expected: FloatArray) -> bool:
    """Whether two speeches are equal: bit by bit, but for models with a bound of their own."""
    bound = BOUNDS.get(tts.spec.engine)
    if bound is None:
        return np.array_equal(found, expected)
    return len(found) == len(expected) and np.allclose(found, expected, rtol=0, atol=bound)


@pytest.mark.parametrize("stream", [True, False])
def test_requests_that_join_one_another_are_what_they_are_alone(
    tts: menura.TTS, like: SpeechRequest, stream: bool
) -> None:
    asks = [
        Ask(key, replace(like, text=text, seed=3 + key), stream=stream)
        for key, text in enumerate(TEXTS)
    ]
    letters = Letters(asks[0])
    letters.put_at(2, asks[1])
    letters.put_at(3, asks[2])
    events = list(Desk(tts, letters).run())
    for ask in asks:
        found = samples_of(events, ask.key)
        assert same(tts, found, alone(tts, ask.request, stream=stream))
        assert reports_of(events, ask.key)[-1].sample_end == len(found)
        assert ended(events, ask.key).finish in (FinishReason.STOP, FinishReason.LENGTH)
        assert begun(events, ask.key).seed == ask.request.seed


def test_one_request_is_what_speak_gives_and_says_the_same_of_itself(
    tts: menura.TTS, like: SpeechRequest
) -> None:
    request = replace(like, text=" ".join(TEXTS))
    speech = tts.speak(request.text, voice=request.voice, seed=request.seed)
    events = told(tts, Ask(1, request, stream=False))
    assert np.array_equal(samples_of(events, 1), speech.samples)
    assert tuple(reports_of(events, 1)) == speech.segments
    assert ended(events, 1).applied == speech.applied


def test_a_cancelled_request_leaves_the_desk_free(tts: menura.TTS, like: SpeechRequest) -> None:
    first = Ask(1, replace(like, text=" ".join(TEXTS)))
    second = Ask(2, replace(like, text=TEXTS[0]))
    letters = Letters(first, second)
    letters.put_at(2, Cancel(1))
    events = list(Desk(tts, letters).run())
    assert isinstance(ended(events, 1), Ended)
    assert same(tts, samples_of(events, 2), alone(tts, second.request, stream=True))


def test_a_bad_request_touches_no_other(tts: menura.TTS, like: SpeechRequest) -> None:
    good = Ask(1, replace(like, text=TEXTS[0]))
    events = told(tts, good, Ask(2, replace(like, text="x", voice="no such voice")))
    assert isinstance(ended(events, 2).error, VoiceNotFoundError)
    assert same(tts, samples_of(events, 1), alone(tts, good.request, stream=True))


def worded(tts: menura.TTS, like: SpeechRequest, *pieces: str | None) -> list[Event]:
    """What is told of a request that says these pieces, one after another; None is a flush."""
    letters = Letters(Ask(1, like, words=True))
    for number, piece in enumerate(pieces):
        letters.put_at(10**6 + number, Flush(1) if piece is None else Say(1, piece))
    letters.put_at(10**6 + len(pieces), EndWords(1))
    return list(Desk(tts, letters).run())


def test_words_are_spoken_by_every_engine_in_their_order(
    tts: menura.TTS, like: SpeechRequest
) -> None:
    text = " ".join(TEXTS)
    pieces = [text[:10], text[10:33], text[33:]]
    events = worded(tts, like, *pieces)
    assert ended(events, 1).error is None
    reports = reports_of(events, 1)
    assert "".join(text[report.start : report.end] for report in reports) == text
    samples = samples_of(events, 1)
    if tts.spec.streams_text:
        stream = tts.stream(iter(pieces), voice=like.voice, seed=like.seed)
        assert np.array_equal(samples, np.concatenate([chunk.samples for chunk in stream]))
        return
    for number, report in enumerate(reports):
        request = replace(like, text=text[report.start : report.end], seed=derive(3, number, 0))
        place = slice(report.sample_start, report.sample_end)
        assert same(tts, samples[place], alone(tts, request, stream=True))


def test_a_flush_makes_two_utterances_of_every_engine(tts: menura.TTS, like: SpeechRequest) -> None:
    events = worded(tts, like, TEXTS[0], None, TEXTS[1])
    reports = reports_of(events, 1)
    assert [report.start for report in reports] == [0, len(TEXTS[0])]
    assert [report.seed for report in reports] == [3, derive(3, 1, 0)]
    assert reports[1].sample_start > reports[0].sample_end
    chunks = [event.chunk for event in events if isinstance(event, Heard)]
    assert [chunk.segment for chunk in chunks if chunk.is_final] == [0, 1]
