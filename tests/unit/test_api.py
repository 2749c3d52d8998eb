"""Speaking and streaming, with the tone engine: what is heard says whose text it is."""

import gc
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import menura
from menura.audio.decode import decode
from menura.engines.contract import RowStep
from menura.errors import (
    InvalidValueError,
    ModelNotFoundError,
    NoAudioError,
    NothingToSpeakError,
    NumericsError,
    SettingsError,
    UnsupportedError,
)
from menura.runtime.seeding import derive
from menura.speech import FinishReason, SpeechRequest
from tests.tone.engine import FRAME, RATE_HZ, ToneDecoder, ToneEngine, heard_hz, tone_hz

LONG = "\n\n".join(
    f"Paragraph {name} has a few words. It goes on for a second sentence of some length, "
    "so that it is long enough to be a segment of its own, and then it ends."
    for name in ("one", "two", "three", "four")
)


def tones(text: str, frames_per_word: int = 2) -> list[int]:
    return [tone_hz(word) for word in text.split() for _ in range(frames_per_word)]


def test_speech_is_the_words_in_order(tone: menura.TTS) -> None:
    speech = tone.speak("alpha beta gamma", seed=1)
    assert heard_hz(speech.samples) == tones("alpha beta gamma")
    assert speech.sample_rate_hz == RATE_HZ
    assert speech.seconds == pytest.approx(0.6)
    assert speech.finish is FinishReason.STOP
    assert speech.frames is not None
    assert speech.frames.dtype == np.int64
    assert speech.frames[:, 0].tolist() == tones("alpha beta gamma")


def test_a_long_text_is_several_segments_whose_spans_cover_it(tone: menura.TTS) -> None:
    speech = tone.speak(LONG, seed=1)
    assert len(speech.segments) >= 4
    assert "".join(LONG[s.start : s.end] for s in speech.segments) == LONG
    for segment in speech.segments:
        samples = speech.samples[segment.sample_start : segment.sample_end]
        assert heard_hz(samples) == tones(segment.text)


def test_pauses_stand_between_segments_and_not_at_the_end(tone: menura.TTS) -> None:
    speech = tone.speak(LONG, seed=1)
    gaps = [
        after.sample_start - before.sample_end
        for before, after in zip(speech.segments, speech.segments[1:], strict=False)
    ]
    assert gaps == [RATE_HZ // 2] * (len(speech.segments) - 1)
    assert not speech.samples[speech.segments[0].sample_end : speech.segments[1].sample_start].any()
    assert speech.segments[-1].sample_end == len(speech.samples)


def test_one_segment_made_again_from_its_own_seed_is_the_same(tone: menura.TTS) -> None:
    speech = tone.speak(LONG, seed=11)
    for segment in speech.segments:
        again = tone.speak(segment.text, seed=segment.seed, split=False)
        assert np.array_equal(
            again.samples, speech.samples[segment.sample_start : segment.sample_end]
        )


def test_streamed_chunks_join_to_the_whole_speech(tone: menura.TTS) -> None:
    speech = tone.speak(LONG, seed=2)
    stream = tone.stream(LONG, seed=2)
    chunks = list(stream)
    assert np.array_equal(np.concatenate([chunk.samples for chunk in chunks]), speech.samples)
    assert stream.segments == speech.segments
    assert stream.finish is FinishReason.STOP
    assert stream.applied == speech.applied
    assert len(chunks[0].samples) == FRAME
    assert [c.segment for c in chunks if c.is_final] == list(range(len(speech.segments)))


def test_no_split_hands_the_text_over_as_it_is(tone: menura.TTS) -> None:
    speech = tone.speak(f"  {LONG}\n", split=False, seed=1)
    assert [segment.text for segment in speech.segments] == [f"  {LONG}\n"]


@pytest.mark.parametrize("speed", [0.25, 0.5, 1.5, 2.0, 4.0])
def test_speed_works_for_a_model_that_has_none_streamed_as_whole(
    tone: menura.TTS, speed: float
) -> None:
    plain = tone.speak("alpha beta gamma delta", seed=1, frames_per_word=10)
    speech = tone.speak("alpha beta gamma delta", seed=1, speed=speed, frames_per_word=10)
    assert len(speech.samples) == round(len(plain.samples) / speed)
    assert speech.applied["stretched"] == speed
    chunks = list(tone.stream("alpha beta gamma delta", seed=1, speed=speed, frames_per_word=10))
    assert np.array_equal(np.concatenate([chunk.samples for chunk in chunks]), speech.samples)


def test_many_requests_run_together_and_each_hears_its_own_text(tone: menura.TTS) -> None:
    texts = [f"request number {name}" for name in ("one", "two", "three", "four", "five", "six")]
    speeches = tone.speak_many([SpeechRequest(text) for text in texts])
    assert [heard_hz(speech.samples) for speech in speeches] == [tones(text) for text in texts]
    assert isinstance(tone.engine, ToneEngine)
    assert len(tone.engine.decoders[-1].free_rows) == 4


def test_a_request_that_fails_says_so_and_the_others_are_whole(tone: menura.TTS) -> None:
    good, bad, late = tone.speak_many(
        [SpeechRequest("alpha beta"), SpeechRequest("one FAIL two"), SpeechRequest("gamma")]
    )
    assert heard_hz(good.samples) == tones("alpha beta")
    assert heard_hz(late.samples) == tones("gamma")
    assert bad.finish is FinishReason.ERROR
    assert bad.error is not None


@pytest.mark.parametrize(
    ("word", "error"),
    [("FAIL", menura.MenuraError), ("NAN", NumericsError), ("SILENT", NoAudioError)],
)
def test_a_failure_is_raised_from_speak_and_from_the_stream(
    tone: menura.TTS, word: str, error: type[menura.MenuraError]
) -> None:
    with pytest.raises(error):
        tone.speak(word)
    with pytest.raises(error):
        list(tone.stream(word))


def test_a_limit_is_seen_in_the_finish(tone: menura.TTS) -> None:
    assert tone.speak("alpha LIMIT beta").finish is FinishReason.LENGTH


def test_an_endless_speech_ends_when_its_stream_is_closed(tone: menura.TTS) -> None:
    stream = tone.stream("ENDLESS", seed=1)
    assert heard_hz(next(stream).samples) == [tone_hz("ENDLESS")]
    assert stream.finish is FinishReason.CANCELLED
    stream.close()
    assert isinstance(tone.engine, ToneEngine)
    assert tone.engine.decoders[-1].live == 0


def test_two_streams_of_one_thread_go_on_side_by_side(tone: menura.TTS) -> None:
    with tone.stream("one two three", seed=1) as first, tone.stream("four five six") as second:
        pairs = list(zip(first, second, strict=True))
    assert heard_hz(np.concatenate([a.samples for a, _ in pairs])) == tones("one two three")
    assert heard_hz(np.concatenate([b.samples for _, b in pairs])) == tones("four five six")


def test_a_stream_closed_by_another_thread_ends_after_its_step(tone: menura.TTS) -> None:
    stream = tone.stream("ENDLESS", seed=1)
    heard = threading.Event()

    def listen() -> None:
        for _ in stream:
            heard.set()

    listener = threading.Thread(target=listen)
    listener.start()
    heard.wait()
    stream.close()
    listener.join(timeout=60)
    assert not listener.is_alive()
    assert isinstance(tone.engine, ToneEngine)
    assert tone.engine.decoders[-1].live == 0


def test_an_abandoned_stream_may_be_collected_in_the_middle_of_a_step(
    tone: menura.TTS, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Player:
        def __init__(self) -> None:
            self.stream = tone.stream("alpha beta gamma", seed=1)
            self.stop = self.stream.close
            self.me = self  # a cycle: only the collector ends it

    next(Player().stream)
    step = ToneDecoder.step

    def collecting(self: ToneDecoder) -> list[RowStep]:
        gc.collect()
        return step(self)

    monkeypatch.setattr(ToneDecoder, "step", collecting)
    assert heard_hz(tone.speak("delta", seed=1).samples) == tones("delta")
    assert isinstance(tone.engine, ToneEngine)
    assert all(decoder.live == 0 for decoder in tone.engine.decoders)


def test_threads_share_one_model_without_mixing_their_audio(tone: menura.TTS) -> None:
    texts = [" ".join([f"thread{number}"] * 20) for number in range(6)]
    found: dict[str, list[int]] = {}

    def speak(text: str) -> None:
        found[text] = heard_hz(tone.speak(text).samples)

    threads = [threading.Thread(target=speak, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {text: tones(text) for text in texts}


def test_segments_that_go_on_know_the_one_before(tone: menura.TTS) -> None:
    speech = tone.speak(LONG, seed=1, continue_segments=True)
    texts = [segment.text for segment in speech.segments]
    assert len(texts) > 1
    n_frames = [2 * len(text.split()) for text in texts]
    before = [f"{text} {n}" for text, n in zip(texts, n_frames, strict=True)]
    expected = list(dict.fromkeys(before[:-1]))  # a list of applied names each entry once
    assert speech.applied["went_on_from"] == expected
    stream = tone.stream(LONG, seed=1, continue_segments=True)
    samples = np.concatenate([chunk.samples for chunk in stream])
    assert np.array_equal(samples, speech.samples)
    assert stream.applied["went_on_from"] == expected


def test_options_may_shorten_the_segments(tone: menura.TTS) -> None:
    text = " ".join(f"Sentence number {name} is here." for name in "abcdefghijklmnopq")
    shorter = tone.plan(SpeechRequest(text, options={"continue_segments": True}))
    assert len(shorter.segments) > len(tone.plan(SpeechRequest(text)).segments)
    longest_s = tone.spec.max_segment_s / 5
    assert max(segment.expected_s for segment in shorter.segments) <= longest_s


def test_a_stream_says_how_far_it_is_before_anything_is_heard(tone: menura.TTS) -> None:
    stream = tone.stream("TOIL", seed=1)
    moves = [(chunk is None, stream.done) for chunk in stream.moves()]
    assert moves[:4] == [(True, 0.25), (True, 0.5), (True, 0.75), (False, 0.75)]
    assert moves[-1] == (False, 1.0)


def test_how_far_a_stream_is_counts_every_segment_by_its_length(tone: menura.TTS) -> None:
    stream = tone.stream("One.\n\nTOIL and a second sentence of some length.", seed=1)
    shares = [stream.done for _ in stream.moves()]
    assert shares == sorted(shares)
    assert shares[0] < 0.25
    assert shares[-1] == 1.0


def test_words_are_spoken_while_they_come(tone: menura.TTS) -> None:
    asked = []

    def words() -> Iterator[str]:
        for piece in ("alpha be", "ta gam", "ma"):
            asked.append(piece)
            yield piece

    stream = tone.stream(words(), seed=4)
    assert heard_hz(next(stream).samples) == [tone_hz("alpha")]
    assert asked == ["alpha be"]
    list(stream)
    [segment] = stream.segments
    assert segment.text == "alpha beta gamma"
    assert (segment.start, segment.end) == (0, 16)


@given(data=st.data(), text=st.text("ab c", min_size=1, max_size=40).filter(lambda t: t.strip()))
@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
def test_pieces_of_a_text_give_what_the_whole_text_gives(
    tone: menura.TTS, data: st.DataObject, text: str
) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=8).map(sorted))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole = tone.speak(text, split=False, seed=8)
    chunks = list(tone.stream(iter(pieces), seed=8))
    assert np.array_equal(np.concatenate([chunk.samples for chunk in chunks]), whole.samples)


def test_words_are_cleaned_as_they_come_and_that_is_reported(tone: menura.TTS) -> None:
    stream = tone.stream(iter(["al\x00pha\u202e be", "ta\ud800"]), seed=1)
    samples = np.concatenate([chunk.samples for chunk in stream])
    assert heard_hz(samples) == tones("alpha beta")
    dropped = stream.applied["dropped_characters"]
    assert isinstance(dropped, dict)
    assert sorted(dropped.values()) == [1, 1, 1]


def test_words_that_hold_nothing_to_speak_are_an_error(tone: menura.TTS) -> None:
    for words in ([], ["", " "], ["...", "\n"]):
        with pytest.raises(NothingToSpeakError):
            list(tone.stream(iter(words)))


def test_pieces_that_are_no_text_are_an_error(tone: menura.TTS) -> None:
    with pytest.raises(InvalidValueError, match="bytes"):
        list(tone.stream(iter(["one ", b"two"])))  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["", "   ", "\n\t\n", "...", "?!", "😄", "😄 🎉", "\u200b", "***"])
def test_a_text_with_nothing_to_speak_is_one_clear_error(tone: menura.TTS, text: str) -> None:
    with pytest.raises(NothingToSpeakError):
        tone.speak(text)
    with pytest.raises(NothingToSpeakError):
        tone.stream(text)


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_a_blank_text_is_refused_without_splitting_too(tone: menura.TTS, text: str) -> None:
    with pytest.raises(NothingToSpeakError):
        tone.speak(text, split=False)


def test_the_seed_that_was_drawn_is_reported_and_repeats_the_speech(tone: menura.TTS) -> None:
    speech = tone.speak("alpha beta")
    seed = speech.applied["seed"]
    assert isinstance(seed, int)
    assert np.array_equal(tone.speak("alpha beta", seed=seed).samples, speech.samples)
    assert speech.applied["seed"] != tone.speak("alpha beta").applied["seed"]


def test_applied_says_what_is_really_used(tone: menura.TTS) -> None:
    applied = tone.speak(
        "alpha\u202e beta", voice="HIGH", language="zh", seed=1, loudness=0.25
    ).applied
    assert applied["voice"] == "high"
    assert applied["language"] == "chinese"
    assert applied["options"] == {
        "frames_per_word": 2,
        "loudness": 0.25,
        "colour": "sine",
        "chunk_frames": 4,
        "retries": 0,
        "continue_segments": False,
    }
    assert applied["device"] == "cpu"
    assert applied["tones"] is True
    dropped = applied["dropped_characters"]
    assert isinstance(dropped, dict)
    assert sum(dropped.values()) == 1


def test_a_voice_is_made_from_samples_a_file_or_its_bytes(tone: menura.TTS, tmp_path: Path) -> None:
    clip = tone.speak("alpha beta", seed=1)
    file = clip.save(tmp_path / "me.wav")
    made = tone.voice(clip.samples, rate_hz=RATE_HZ)
    for source in (file, str(file), file.read_bytes()):
        voice = tone.voice(source, transcript="alpha beta")
        assert voice.prompt.transcript == "alpha beta"
        assert voice.embedding == pytest.approx(made.embedding, abs=1e-4)
        assert voice.codes is None
    assert tone.voice(file).label == "me"
    assert tone.speak("gamma", voice=tone.voice(file)).applied["voice"] == "me"


def test_samples_without_a_rate_are_refused(tone: menura.TTS) -> None:
    with pytest.raises(InvalidValueError, match="rate_hz"):
        tone.voice(np.zeros(100, np.float32))


@pytest.mark.parametrize(
    ("clip", "rate_hz", "param"),
    [
        (np.zeros(0, np.float32), 8_000, "clip"),
        (np.zeros((2, 2, 2), np.float32), 8_000, "clip"),
        (np.array(["a"]), 8_000, "clip"),
        (np.array([np.nan], np.float32), 8_000, "clip"),
        (np.ones(9, np.float32), 0, "rate_hz"),
        (np.ones(9, np.float32), "8000", "rate_hz"),
        ([0.0, 1.0], 8_000, "clip"),
        ([0.0, 1.0], None, "clip"),
        ("me.wav", 8_000, "rate_hz"),
        (menura.Reference(np.array([np.nan], np.float32), 8_000), None, "clip"),
        (menura.Reference(np.ones(9, np.float32), 8_000), 8_000, "rate_hz"),
    ],
)
def test_a_clip_that_cannot_be_one_is_refused_by_name(
    tone: menura.TTS, clip: object, rate_hz: object, param: str
) -> None:
    with pytest.raises(InvalidValueError) as caught:
        tone.voice(clip, rate_hz=rate_hz)  # type: ignore[arg-type]
    assert caught.value.param == param


def test_integer_samples_and_channels_become_what_they_mean(tone: menura.TTS) -> None:
    level = np.full(100, 0.5, np.float32)
    made = [
        tone.voice(samples, rate_hz=RATE_HZ).embedding
        for samples in (
            level,
            np.full(100, 16_384, np.int16),
            np.full(100, 192, np.uint8),
            np.stack([level, level], axis=1),
            np.stack([level, level]),
        )
    ]
    assert made == [pytest.approx(0.5)] * 5
    with_words = tone.voice(menura.Reference(level, RATE_HZ, "a"), transcript="b")
    assert with_words.prompt.transcript == "b"


def test_another_weights_voice_is_refused(tone: menura.TTS) -> None:
    voice = tone.voice(np.ones(100, np.float32), rate_hz=RATE_HZ)
    other = menura.Voice(voice.label, replace(voice.prompt, fingerprint="2"))
    with pytest.raises(UnsupportedError, match="other weights"):
        tone.speak("alpha", voice=other)


def test_another_engines_voice_is_refused(tone: menura.TTS) -> None:
    voice = tone.voice(np.ones(100, np.float32), rate_hz=RATE_HZ)
    with pytest.raises(UnsupportedError, match="tone"):
        menura.load().speak("Hello.", voice=voice)


@pytest.mark.parametrize(
    ("ending", "padding_s"),
    [("wav", 0), ("flac", 0), ("opus", 0), ("m4a", 0.13), ("mp3", 0.15), ("aac", 0.26)],
)
def test_a_speech_is_saved_in_the_format_of_its_ending(
    tone: menura.TTS, tmp_path: Path, ending: str, padding_s: float
) -> None:
    speech = tone.speak("alpha beta gamma", seed=1, frames_per_word=10)
    saved = decode(speech.save(tmp_path / f"speech.{ending}"))
    seconds = len(saved.samples) / saved.sample_rate_hz
    assert 3.0 - 1e-4 <= seconds <= 3.0 + padding_s + 1e-4


def test_an_unknown_ending_is_refused_and_nothing_is_written(
    tone: menura.TTS, tmp_path: Path
) -> None:
    with pytest.raises(InvalidValueError, match="xyz"):
        tone.speak("alpha").save(tmp_path / "speech.xyz")
    assert not (tmp_path / "speech.xyz").exists()


def test_a_name_that_nobody_knows_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError):
        menura.load("no-such-model")
    with pytest.raises(menura.MenuraError, match="no engine recognises"):
        menura.load(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "param"),
    [
        ({"seed": -1}, "seed"),
        ({"seed": 2**63}, "seed"),
        ({"seed": True}, "seed"),
        ({"seed": "7"}, "seed"),
        ({"speed": 0.2}, "speed"),
        ({"speed": 4.1}, "speed"),
        ({"speed": float("nan")}, "speed"),
        ({"speed": "fast"}, "speed"),
        ({"language": "jp"}, "language"),
        ({"language": 5}, "language"),
        ({"instruct": 5}, "instruct"),
        ({"voice": b"low"}, "voice"),
        ({"loudness": 2}, "loudness"),
        ({"frames_per_wrod": 2}, "frames_per_wrod"),
    ],
)
def test_a_bad_value_is_refused_by_its_name(
    tone: menura.TTS, arguments: dict[str, object], param: str
) -> None:
    with pytest.raises(InvalidValueError) as caught:
        tone.speak("alpha", **arguments)  # type: ignore[arg-type]
    assert caught.value.param == param


def test_a_language_that_this_model_lacks_names_one_that_has_it(tone: menura.TTS) -> None:
    with pytest.raises(UnsupportedError, match="qwen3-tts") as caught:
        tone.speak("alpha", language="de")
    assert caught.value.exit_code == 4
    lenient = tone.speak("alpha", language="german", strict=False)
    assert list(lenient.applied["ignored"]) == ["language"]  # type: ignore[call-overload]


def test_numbers_of_numpy_are_numbers(tone: menura.TTS) -> None:
    speech = tone.speak("alpha", seed=np.int64(5), speed=np.float32(1.0))  # type: ignore[arg-type]
    assert speech.applied["seed"] == 5
    assert type(speech.applied["seed"]) is int


@pytest.mark.parametrize("model", ["", b"x", 5])
def test_a_model_that_is_no_name_is_refused(model: object) -> None:
    with pytest.raises(InvalidValueError, match="name or a folder"):
        menura.load(model)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [None, 5, b"bytes"])
def test_a_text_that_is_none_is_refused(tone: menura.TTS, text: object) -> None:
    with pytest.raises(InvalidValueError, match="text"):
        tone.speak(text)  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="text"):
        tone.stream(text)  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="SpeechRequest"):
        tone.speak_many([text])  # type: ignore[list-item]


def test_a_default_voice_of_the_settings_that_is_wrong_names_the_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MENURA_DEFAULT_VOICE", "hart")
    with pytest.raises(SettingsError, match="MENURA_DEFAULT_VOICE"):
        menura.load().speak("Hello.")


def test_results_can_be_compared_and_hashed(tone: menura.TTS) -> None:
    speech = tone.speak("alpha", seed=1)
    assert speech == speech  # noqa: PLR0124
    assert speech != tone.speak("alpha", seed=1)
    assert len({speech, speech}) == 1


def test_the_plan_is_what_is_then_spoken(tone: menura.TTS) -> None:
    request = SpeechRequest(LONG, seed=3)
    planned = tone.plan(request)
    speech = tone.speak(LONG, seed=3)
    assert [(s.start, s.end, s.text) for s in planned.segments] == [
        (s.start, s.end, s.text) for s in speech.segments
    ]
    assert planned.expected_s > 20


# Two paragraphs that are too long to be one segment.
_TWO = f"{'alpha beta gamma delta ' * 10}.\n\nUNLUCKY {'epsilon zeta eta theta ' * 10}"


def seed_with(n_odd: int) -> int:
    """An even seed with which the second segment's seed is odd for this many attempts."""
    for seed in range(0, 1000, 2):
        parities = [derive(seed, 1, attempt) % 2 for attempt in range(n_odd + 1)]
        if parities == [1] * n_odd + [0]:
            return seed
    raise AssertionError


@pytest.mark.parametrize("n_odd", [0, 1, 2])
def test_only_the_segment_that_went_wrong_is_drawn_again(tone: menura.TTS, n_odd: int) -> None:
    seed = seed_with(n_odd)
    speech = tone.speak(_TWO, seed=seed, retries=2)
    assert [segment.seed for segment in speech.segments] == [seed, derive(seed, 1, n_odd)]
    assert [segment.finish for segment in speech.segments] == [FinishReason.STOP] * 2
    reasons = ["segment 1: the model gave no audio."] * n_odd
    expected = [{"segment": 1, "reasons": reasons}] if n_odd else None
    assert speech.applied.get("retries") == expected


def test_a_segment_that_was_drawn_again_can_be_made_again_from_its_report(
    tone: menura.TTS,
) -> None:
    speech = tone.speak(_TWO, seed=seed_with(1), retries=1)
    report = speech.segments[1]
    alone = tone.speak(report.text, seed=report.seed, split=False)
    assert np.array_equal(alone.samples, speech.samples[report.sample_start : report.sample_end])


def test_a_speech_that_fails_in_the_end_says_what_was_tried(tone: menura.TTS) -> None:
    [speech] = tone.speak_many([menura.SpeechRequest("NAN", seed=1, options={"retries": 2})])
    assert speech.error is not None
    tried = ["segment 0: the model gave samples that are not numbers."] * 2
    assert speech.applied["retries"] == [{"segment": 0, "reasons": tried}]


def test_a_stream_draws_again_what_was_not_heard(tone: menura.TTS) -> None:
    seed = seed_with(1)
    with tone.stream(_TWO, seed=seed, retries=1) as stream:
        samples = np.concatenate([chunk.samples for chunk in stream])
    assert np.array_equal(samples, tone.speak(_TWO, seed=seed, retries=1).samples)
    assert stream.segments[1].seed == derive(seed, 1, 1)
