"""Requests whose words come while they are spoken, for models that take words and for those that
do not.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import menura
from menura import settings
from menura.desk import Desk
from menura.engines.contract import EngineSpec
from menura.errands import (
    Ask,
    Begun,
    Cancel,
    Ended,
    EndWords,
    Errand,
    Event,
    Flush,
    GoOn,
    Heard,
    Hold,
    Say,
)
from menura.errors import NothingToSpeakError, UnsupportedError
from menura.runtime.seeding import derive
from menura.speech import FinishReason, SpeechRequest
from tests.tone.engine import RATE_HZ, ToneEngine, heard_hz, tone_hz
from tests.unit.letters import Letters, begun, ended, reports_of, samples_of, told

TEXT = "Alpha and beta went out. They met gamma there. Then all came home again."
SENTENCES = ["Alpha and beta went out. ", "They met gamma there. ", "Then all came home again."]
PAUSE = round(0.15 * RATE_HZ)
ASK = Ask(1, SpeechRequest("", seed=5), words=True)


class Whole(ToneEngine):
    """It needs its text at once."""

    dialogue = ""
    alphabet: frozenset[str] | None = None

    @property
    def spec(self) -> EngineSpec:
        spec = replace(super().spec, capabilities=frozenset(), turn_tag=self.dialogue)
        return replace(spec, alphabet=self.alphabet)


@pytest.fixture
def whole() -> menura.TTS:
    return menura.TTS(Whole(), settings.load())


def tones(text: str) -> list[int]:
    return [tone_hz(word) for word in text.split() for _ in range(2)]


def say(*pieces: str) -> list[Say]:
    return [Say(1, piece) for piece in pieces]


def without_silence(events: list[Event], key: int = 1) -> list[int]:
    """The tones of all segments, without the pauses between them."""
    samples = samples_of(events, key)
    spans = [(report.sample_start, report.sample_end) for report in reports_of(events, key)]
    return heard_hz(np.concatenate([samples[start:end] for start, end in spans]))


def spoken(tts: menura.TTS, *errands: Errand) -> list[Event]:
    """The events where each errand comes only when the desk has nothing else to do."""
    letters = Letters(ASK)
    for number, errand in enumerate(errands):
        letters.put_at(10**6 + number, errand)
    return list(Desk(tts, letters).run())


# Models that take words as they come.


def test_words_are_what_the_stream_of_words_gives(tone: menura.TTS) -> None:
    pieces = ["one ", "two th", "ree ", "four"]
    events = spoken(tone, *say(*pieces), EndWords(1))
    stream = tone.stream(iter(pieces), seed=5)
    expected = np.concatenate([chunk.samples for chunk in stream])
    assert np.array_equal(samples_of(events, 1), expected)
    assert tuple(reports_of(events, 1)) == stream.segments
    assert ended(events, 1).applied == stream.applied
    assert ended(events, 1).finish is FinishReason.STOP


def test_a_worded_request_begins_before_any_word_has_come(tone: menura.TTS) -> None:
    letters = Letters(ASK)
    events = Desk(tone, letters).run()
    assert next(events) == begun([Begun(1, *_rest_of(tone))], 1)
    assert letters.n_looks == 1
    events.close()


def _rest_of(tone: menura.TTS) -> tuple[dict[str, object], int, int]:
    planned = tone.plan(ASK.request, words=True)
    return {**planned.applied, "device": "cpu"}, RATE_HZ, 5


def test_audio_leaves_before_the_last_word_has_come(tone: menura.TTS) -> None:
    letters = Letters(ASK, Say(1, "one two "))
    letters.put_at(10**6, Say(1, "three"), EndWords(1))
    events = Desk(tone, letters).run()
    heard = next(event for event in events if isinstance(event, Heard))
    assert letters.later
    assert heard_hz(heard.chunk.samples) == [tone_hz("one")]
    list(events)


def test_a_flush_ends_the_utterance_and_the_next_words_begin_another(tone: menura.TTS) -> None:
    events = spoken(tone, *say("one two."), Flush(1), *say(" three", " four."), EndWords(1))
    first, second = reports_of(events, 1)
    assert (first.text, first.start, first.end) == ("one two.", 0, 8)
    assert (second.text, second.start, second.end) == (" three four.", 8, 20)
    assert (first.seed, second.seed) == (5, derive(5, 1, 0))
    samples = samples_of(events, 1)
    assert second.sample_start == first.sample_end + PAUSE
    assert not samples[first.sample_end : second.sample_start].any()
    assert heard_hz(samples[first.sample_start : first.sample_end]) == tones("one two.")
    assert heard_hz(samples[second.sample_start : second.sample_end]) == tones("three four.")
    assert [e.chunk.segment for e in events if isinstance(e, Heard) and e.chunk.is_final] == [0, 1]


def test_words_behind_a_flush_wait_for_the_utterance_before_them(tone: menura.TTS) -> None:
    at_once = told(tone, ASK, *say("one two."), Flush(1), *say(" three"), EndWords(1))
    step_by_step = spoken(tone, *say("one two."), Flush(1), *say(" three"), EndWords(1))
    assert np.array_equal(samples_of(at_once, 1), samples_of(step_by_step, 1))
    assert reports_of(at_once, 1) == reports_of(step_by_step, 1)


@pytest.mark.parametrize("pieces", [[], [" ", "..."], [""]])
def test_a_request_without_a_word_has_nothing_to_speak(
    tone: menura.TTS, whole: menura.TTS, pieces: list[str]
) -> None:
    for tts in (tone, whole):
        end = ended(spoken(tts, *say(*pieces), Flush(1), EndWords(1)), 1)
        assert end.finish is FinishReason.ERROR
        assert isinstance(end.error, NothingToSpeakError)


def test_a_flush_without_words_is_nothing(tone: menura.TTS, whole: menura.TTS) -> None:
    for tts in (tone, whole):
        events = spoken(tts, Flush(1), *say("one two"), Flush(1), Flush(1), EndWords(1))
        assert without_silence(events) == tones("one two")
        assert ended(events, 1).finish is FinishReason.STOP


def test_controls_are_left_out_and_counted_while_places_count_what_was_said(
    tone: menura.TTS,
) -> None:
    events = spoken(tone, *say("one\x07 two"), Flush(1), *say(" three"), EndWords(1))
    first, second = reports_of(events, 1)
    assert (first.text, first.end) == ("one two", 8)
    assert (second.start, second.end) == (8, 14)
    assert ended(events, 1).applied["dropped_characters"] == {"U+0007 CONTROL CHARACTER": 1}


def test_held_words_are_not_given_to_the_model(tone: menura.TTS) -> None:
    events = spoken(
        tone, Hold(1), *say("one two"), EndWords(1), Ask(2, SpeechRequest("x")), GoOn(1)
    )
    order = [(event.key, type(event)) for event in events]
    assert order.index((2, Ended)) < order.index((1, Heard))
    assert without_silence(events) == tones("one two")


def test_words_and_whole_texts_share_the_rows(tone: menura.TTS) -> None:
    letters = Letters(ASK, Say(1, "one "), Ask(2, SpeechRequest("x y z", seed=1)))
    letters.put_at(10**6, Say(1, "two"), EndWords(1))
    events = list(Desk(tone, letters).run())
    assert heard_hz(samples_of(events, 2)) == tones("x y z")
    assert without_silence(events) == tones("one two")


def test_words_may_be_cancelled_at_any_time(tone: menura.TTS, whole: menura.TTS) -> None:
    for tts in (tone, whole):
        events = spoken(tts, *say("one two. three"), Cancel(1), *say("late"), EndWords(1))
        assert ended(events, 1).finish is FinishReason.CANCELLED


def test_an_utterance_that_reached_a_limit_makes_the_whole_so(tone: menura.TTS) -> None:
    events = spoken(tone, *say("one LIMIT "), Flush(1), *say("two"), EndWords(1))
    assert without_silence(events) == tones("one two")
    assert ended(events, 1).finish is FinishReason.LENGTH


def test_an_utterance_that_fails_ends_the_request(tone: menura.TTS, whole: menura.TTS) -> None:
    for tts in (tone, whole):
        events = spoken(tts, *say("one FAIL "), Flush(1), *say("two"), EndWords(1))
        assert ended(events, 1).finish is FinishReason.ERROR


# Models that need their text at once.


@pytest.mark.parametrize("pieces", [[TEXT], list(TEXT), [TEXT[:30], TEXT[30:]]])
def test_whole_sentences_are_spoken_one_after_another_however_they_come(
    whole: menura.TTS, pieces: list[str]
) -> None:
    events = spoken(whole, *say(*pieces), EndWords(1))
    reports = reports_of(events, 1)
    samples = samples_of(events, 1)
    assert [report.text for report in reports] == [sentence.strip() for sentence in SENTENCES]
    assert [TEXT[report.start : report.end] for report in reports] == SENTENCES
    assert [report.seed for report in reports] == [derive(5, k, 0) for k in range(3)]
    for k, report in enumerate(reports):
        alone = whole.speak(SENTENCES[k], seed=derive(5, k, 0))
        assert np.array_equal(samples[report.sample_start : report.sample_end], alone.samples)
    for before, after in pairwise(reports):
        assert after.sample_start - before.sample_end == PAUSE
    assert reports[-1].sample_end == len(samples)
    assert ended(events, 1).finish is FinishReason.STOP
    assert ended(events, 1).applied["seed"] == 5


def test_a_sentence_is_spoken_when_the_next_begins(whole: menura.TTS) -> None:
    letters = Letters(ASK, Say(1, "Alpha and beta went out. T"))
    letters.put_at(10**6, Say(1, "hey met gamma there."), EndWords(1))
    events = Desk(whole, letters).run()
    assert any(isinstance(event, Heard) for event in events)
    assert letters.later
    list(events)


def test_a_flush_speaks_what_is_no_whole_sentence(whole: menura.TTS) -> None:
    events = spoken(whole, *say("alpha beta"), Flush(1), *say(" gamma. Delta"), EndWords(1))
    spans = [(report.start, report.end) for report in reports_of(events, 1)]
    assert spans == [(0, 10), (10, 23)]  # "gamma." alone is too short for an utterance
    assert without_silence(events) == tones("alpha beta gamma. Delta")


def test_all_that_comes_at_once_is_what_comes_bit_by_bit(whole: menura.TTS) -> None:
    at_once = told(whole, ASK, *say(TEXT), EndWords(1))
    bit_by_bit = spoken(whole, *say(*TEXT), EndWords(1))
    assert np.array_equal(samples_of(at_once, 1), samples_of(bit_by_bit, 1))
    assert ended(at_once, 1).applied == ended(bit_by_bit, 1).applied


def test_a_held_request_begins_no_further_sentence(whole: menura.TTS) -> None:
    letters = Letters(ASK, *say(TEXT), Hold(1), EndWords(1))
    letters.put_at(10**6, Ask(2, SpeechRequest("x")))
    letters.put_at(10**6 + 1, GoOn(1))
    events = list(Desk(whole, letters).run())
    order = [(event.key, type(event)) for event in events]
    assert order.index((2, Ended)) < order.index((1, Heard))
    assert len(reports_of(events, 1)) == 3


def test_a_turn_goes_on_in_the_next_sentence() -> None:
    class Dialogue(Whole):
        dialogue = r"\[S\d\]"

    tts = menura.TTS(Dialogue(), settings.load())
    text = "[S1] Alpha and beta went out. They met gamma there. [S2] Then all came home."
    reports = reports_of(spoken(tts, *say(text), EndWords(1)), 1)
    assert "".join(text[r.start : r.end] for r in reports) == text
    assert reports[1].text.startswith("[S1] They met")


def test_letters_that_the_model_cannot_read_end_the_request() -> None:
    class Latin(Whole):
        alphabet = frozenset("abcdefghijklmnopqrstuvwxyz")

    tts = menura.TTS(Latin(), settings.load())
    end = ended(spoken(tts, *say("alpha бета. "), Flush(1)), 1)
    assert isinstance(end.error, UnsupportedError)


def test_words_in_the_request_itself_come_first(tone: menura.TTS, whole: menura.TTS) -> None:
    for tts in (tone, whole):
        first = Ask(1, SpeechRequest("one two ", seed=5), words=True)
        assert without_silence(told(tts, first, *say("three"), EndWords(1))) == tones(
            "one two three"
        )
