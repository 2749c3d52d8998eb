"""A desk, with the tone engine: what is heard says whose text it is."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import menura
from menura import settings
from menura.desk import Desk
from menura.errands import (
    Ask,
    Begun,
    Cancel,
    EndWords,
    Flush,
    GoOn,
    Heard,
    Hold,
    Say,
    SegmentDone,
)
from menura.errors import (
    InvalidValueError,
    ModelFilesError,
    NothingToSpeakError,
    NumericsError,
    UnsupportedError,
    VoiceNotFoundError,
)
from menura.speech import FinishReason, Manner, SpeechRequest
from menura.voice_library.library import VoiceLibrary
from tests.kept_voices import kept
from tests.tone.engine import FRAME, ToneEngine, TonePrompt, heard_hz, tone_hz
from tests.unit.letters import Letters, begun, ended, reports_of, samples_of, told

LONG = "\n\n".join(
    f"Paragraph {name} has a few words. It goes on for a second sentence of some length, "
    "so that it is long enough to be a segment of its own, and then it ends."
    for name in ("one", "two", "three", "four")
)


def ask(key: int, text: str, *, stream: bool = True, seed: int = 5, **options: object) -> Ask:
    return Ask(key, SpeechRequest(text, seed=seed, options=options), stream=stream)


def tones(text: str) -> list[int]:
    return [tone_hz(word) for word in text.split() for _ in range(2)]


def is_free(tts: menura.TTS) -> bool:
    assert isinstance(tts.engine, ToneEngine)
    return all(len(decoder.free_rows) == len(decoder._rows) for decoder in tts.engine.decoders)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("text", ["alpha beta gamma", LONG])
def test_a_request_is_what_speak_gives(tone: menura.TTS, text: str, stream: bool) -> None:
    speech = tone.speak(text, seed=5)
    events = told(tone, ask(1, text, stream=stream))
    assert isinstance(events[0], Begun)
    assert np.array_equal(samples_of(events, 1), speech.samples)
    assert tuple(reports_of(events, 1)) == speech.segments
    assert ended(events, 1).finish is FinishReason.STOP
    assert ended(events, 1).applied == speech.applied


def test_what_is_begun_is_known_before_the_audio(tone: menura.TTS) -> None:
    first = told(tone, ask(1, "alpha", seed=9))[0]
    assert isinstance(first, Begun)
    assert (first.seed, first.sample_rate_hz) == (9, 8_000)
    assert first.applied["voice"] == "low"
    assert first.applied["device"] == "cpu"


def test_streamed_audio_leaves_as_it_is_made_and_whole_audio_segment_by_segment(
    tone: menura.TTS,
) -> None:
    text = "a b c d e f g h"
    chunks = [len(e.chunk.samples) for e in told(tone, ask(1, text)) if isinstance(e, Heard)]
    assert chunks[0] == FRAME
    assert len(chunks) > 3
    whole = [e for e in told(tone, ask(1, text, stream=False)) if isinstance(e, Heard)]
    assert len(whole) == 1


def test_rows_join_while_others_are_live(tone: menura.TTS) -> None:
    letters = Letters(ask(1, "a b c d e f g h i j"))
    letters.put_at(3, ask(2, "x y"))
    letters.put_at(5, ask(3, "u"))
    events = list(Desk(tone, letters).run())
    keys = [event.key for event in events if isinstance(event, Heard)]
    assert keys.index(2) < len(keys) - 1 - keys[::-1].index(1)  # inside the first one's audio
    for key, text in ((1, "a b c d e f g h i j"), (2, "x y"), (3, "u")):
        assert np.array_equal(samples_of(events, key), tone.speak(text, seed=5).samples)
    assert is_free(tone)


def test_segments_of_a_stream_come_in_turn_and_of_whole_audio_together(tone: menura.TTS) -> None:
    assert isinstance(tone.engine, ToneEngine)
    n_free: list[int] = []
    for stream in (True, False):
        events = Desk(tone, Letters(ask(1, LONG, stream=stream))).run()
        while not isinstance(next(events), Heard):
            pass
        n_free.append(len(tone.engine.decoders[-1].free_rows))
        events.close()
    assert n_free[0] == 3
    assert n_free[1] <= 1


@pytest.mark.parametrize("n_before", range(1, 6))
def test_a_cancel_frees_the_row_and_the_other_goes_on(tone: menura.TTS, n_before: int) -> None:
    assert isinstance(tone.engine, ToneEngine)
    letters = Letters(ask(1, "a ENDLESS"), ask(2, "x y z u v w"))
    events = []
    for event in Desk(tone, letters).run():
        events.append(event)
        if len([e for e in events if e.key == 1 and isinstance(e, Heard)]) == n_before:
            letters.put(Cancel(1))
            n_before = -1
            steps_then = tone.engine.decoders[-1].n_steps
        if n_before == -1 and tone.engine.decoders[-1].n_steps > steps_then + 1:
            assert len(tone.engine.decoders[-1].free_rows) >= 3
    assert ended(events, 1).finish is FinishReason.CANCELLED
    assert heard_hz(samples_of(events, 2)) == tones("x y z u v w")
    assert is_free(tone)


def test_a_cancel_before_the_first_step_leaves_nothing_in_the_loop(tone: menura.TTS) -> None:
    events = told(tone, ask(1, "ENDLESS"), Cancel(1), ask(2, "x"))
    assert [type(event) for event in events if event.key == 1] == [Begun, type(ended(events, 1))]
    assert heard_hz(samples_of(events, 2)) == tones("x")


def test_errands_for_a_request_that_has_ended_are_nothing(tone: menura.TTS) -> None:
    late = (Cancel(1), Hold(1), GoOn(1), Say(1, "x"), Flush(1), EndWords(1))
    letters = Letters(ask(1, "a"))
    letters.put_at(10**6, *late, ask(2, "b"))
    events = list(Desk(tone, letters).run())
    assert ended(events, 1).finish is FinishReason.STOP
    assert heard_hz(samples_of(events, 2)) == tones("b")


@pytest.mark.parametrize(
    ("bad", "error"),
    [
        (SpeechRequest("x", voice="nobody"), VoiceNotFoundError),
        (SpeechRequest("x", options={"loudness": 7}), InvalidValueError),
        (SpeechRequest("x", options={"loudness": float("nan")}), InvalidValueError),
        (SpeechRequest(" ... "), NothingToSpeakError),
        (SpeechRequest("x", instruct="whisper"), UnsupportedError),
        (SpeechRequest("REFUSED"), UnsupportedError),
    ],
)
def test_a_bad_request_ends_with_its_error_and_touches_no_other(
    tone: menura.TTS, bad: SpeechRequest, error: type[menura.MenuraError]
) -> None:
    events = told(tone, ask(1, "x y z"), Ask(2, bad), ask(3, "u v"))
    end = ended(events, 2)
    assert end.finish is FinishReason.ERROR
    assert type(end.error) is error
    assert samples_of(events, 2).size == 0
    assert heard_hz(samples_of(events, 1)) == tones("x y z")
    assert heard_hz(samples_of(events, 3)) == tones("u v")


def test_a_bad_request_is_told_at_once_although_the_desk_has_nothing_else(tone: menura.TTS) -> None:
    letters = Letters(Ask(1, SpeechRequest("x", voice="nobody")))
    letters.put_at(1, ask(2, "a"))
    events = Desk(tone, letters).run()
    assert next(events).key == 1
    assert letters.n_looks == 1
    events.close()


def test_one_that_fails_while_it_is_spoken_keeps_what_was_heard(tone: menura.TTS) -> None:
    events = told(tone, ask(1, "one two NAN three", chunk_frames=1), ask(2, "x y z"))
    assert heard_hz(samples_of(events, 1)) == tones("one two")
    assert isinstance(ended(events, 1).error, NumericsError)
    assert heard_hz(samples_of(events, 2)) == tones("x y z")


def test_a_limit_is_told_as_such(tone: menura.TTS) -> None:
    assert ended(told(tone, ask(1, "a b LIMIT")), 1).finish is FinishReason.LENGTH


@pytest.mark.parametrize("where", ["plan", "prompt"])
def test_an_unforeseen_failure_is_one_requests_alone(where: str) -> None:
    class Broken(ToneEngine):
        def build_prompt(self, text: str | None, manner: Manner) -> TonePrompt:
            if where == "prompt" and text is not None and "poison" in text:
                raise ZeroDivisionError("poison")
            return super().build_prompt(text, manner)

    tts = menura.TTS(Broken(), settings.load())
    odd: SpeechRequest = SpeechRequest("poison")
    if where == "plan":
        odd = replace(odd, language=None, speed=1.0, options=5)  # type: ignore[arg-type]
    events = told(tts, Ask(1, odd), ask(2, "x"))
    error = ended(events, 1).error
    assert error is not None
    assert error.code == "failure"
    assert "poison" not in error.message
    assert heard_hz(samples_of(events, 2)) == tones("x")


def test_a_crash_of_the_whole_step_leaves_the_desk(tone: menura.TTS) -> None:
    with pytest.raises(RuntimeError, match="crashed"):
        told(tone, ask(1, "a CRASH"))
    assert is_free(tone)


def test_a_held_request_begins_no_further_segment_until_it_goes_on(tone: menura.TTS) -> None:
    letters = Letters(ask(1, LONG), Hold(1))
    letters.put_at(10**6, ask(2, "x"))
    letters.put_at(10**6 + 1, GoOn(1))
    events = list(Desk(tone, letters).run())
    order = [(event.key, type(event)) for event in events]
    assert order.index((2, Begun)) < order.index((1, Heard))
    assert np.array_equal(samples_of(events, 1), tone.speak(LONG, seed=5).samples)


def test_a_hold_lets_the_segment_that_is_spoken_run_to_its_end(tone: menura.TTS) -> None:
    letters = Letters(ask(1, LONG))
    letters.put_at(10**6, GoOn(1))
    events = []
    for event in Desk(tone, letters).run():
        events.append(event)
        if len(events) == 2:
            letters.put(Hold(1))
        if isinstance(event, SegmentDone) and event.report.start == 0:
            assert 10**6 in letters.later  # nobody has gone on yet
    assert len(reports_of(events, 1)) == len(tone.plan(SpeechRequest(LONG)).segments)


def test_a_saved_voice_takes_the_place_of_a_name(tone: menura.TTS, tmp_path: Path) -> None:
    clip = np.sin(np.arange(24_000) / 20).astype(np.float32)
    voice = tone.voice(clip, rate_hz=24_000)
    file = voice.save(tmp_path / "me.safetensors")
    request = SpeechRequest("alpha", seed=1)
    events = told(tone, Ask(1, request, voice_file=str(file)))
    assert begun(events, 1).applied["voice"] == voice.label
    assert np.array_equal(samples_of(events, 1), tone.speak("alpha", voice=voice, seed=1).samples)


@pytest.mark.parametrize("content", [None, b"damaged"])
def test_a_saved_voice_that_cannot_be_read_is_no_fault_of_who_asks(
    content: bytes | None, tone: menura.TTS, tmp_path: Path
) -> None:
    file = tmp_path / "me.safetensors"
    if content is not None:
        file.write_bytes(content)
    events = told(tone, Ask(1, SpeechRequest("x"), voice_file=str(file)), ask(2, "alpha"))
    error = ended(events, 1).error
    assert isinstance(error, ModelFilesError)  # its words name the path: they are for the log
    assert ended(events, 2).error is None


def test_a_voice_of_the_library_takes_the_place_of_a_name(tone: menura.TTS) -> None:
    voice = kept("Anna")
    request = SpeechRequest("alpha", seed=1)
    events = told(tone, Ask(1, request, voice_id=voice.id), ask(2, "alpha"))
    assert begun(events, 1).applied["voice"] == "Anna"
    assert begun(events, 1).applied["voice_id"] == voice.id
    expected = tone.speak("alpha", voice="lib:Anna", seed=1).samples
    assert np.array_equal(samples_of(events, 1), expected)
    assert "voice_id" not in begun(events, 2).applied


@pytest.mark.parametrize("words", [False, True])
def test_a_voice_that_was_removed_meanwhile_is_said(words: bool, tone: menura.TTS) -> None:
    voice = kept("Anna")
    VoiceLibrary().remove("Anna")
    text = "" if words else "alpha"
    asked = Ask(1, SpeechRequest(text), words=words, voice_id=voice.id)
    events = told(tone, asked, ask(2, "alpha"))
    assert isinstance(ended(events, 1).error, VoiceNotFoundError)
    assert ended(events, 2).error is None


def test_a_closed_inbox_cancels_what_is_left(tone: menura.TTS) -> None:
    letters = Letters(ask(1, "ENDLESS"), Ask(2, SpeechRequest(""), words=True))
    events = []
    for event in Desk(tone, letters).run():
        events.append(event)
        letters.open = len(events) < 5
    assert {ended(events, key).finish for key in (1, 2)} == {FinishReason.CANCELLED}
    assert is_free(tone)


def test_closing_the_events_frees_every_row(tone: menura.TTS) -> None:
    events = Desk(tone, Letters(ask(1, "ENDLESS"), ask(2, "ENDLESS"))).run()
    for _ in range(5):
        next(events)
    events.close()
    assert is_free(tone)


def test_more_requests_than_rows_wait_and_all_are_spoken() -> None:
    tts = menura.TTS(ToneEngine(max_rows=2), settings.load())
    texts = {key: f"request number {name}" for key, name in enumerate("abcdefg")}
    events = told(tts, *(ask(key, text) for key, text in texts.items()))
    for key, text in texts.items():
        assert heard_hz(samples_of(events, key)) == tones(text)


def test_speed_is_the_loops_own(tone: menura.TTS) -> None:
    request = SpeechRequest("alpha beta gamma", seed=1, speed=1.5)
    speech = tone.speak("alpha beta gamma", seed=1, speed=1.5)
    assert np.array_equal(samples_of(told(tone, Ask(1, request)), 1), speech.samples)


def test_a_segment_drawn_again_is_reported(tone: menura.TTS) -> None:
    request = SpeechRequest("UNLUCKY a", seed=1, options={"retries": 3})
    events = told(tone, Ask(1, request, stream=False))
    assert "retries" in ended(events, 1).applied
