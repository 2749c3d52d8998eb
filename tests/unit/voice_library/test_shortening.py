import numpy as np
import pytest

from menura.audio.pcm import FloatArray
from menura.transcription import Word
from menura.voice_library.shortening import likeness, shortened

RATE_HZ = 1_000


def spoken(*words: tuple[str, float, float]) -> tuple[tuple[Word, ...], FloatArray]:
    """Words with (text, seconds of sound, seconds of pause after it), and how they sound."""
    found, parts, at = [], [], 0.0
    for text, sound_s, pause_s in words:
        found.append(Word(f" {text}", at, at + sound_s))
        parts += [np.tile([0.5, -0.5], round(sound_s * RATE_HZ / 2))]
        parts += [np.zeros(round(pause_s * RATE_HZ))]
        at += sound_s + pause_s
    return tuple(found), np.concatenate(parts).astype(np.float32)


def story(
    n_words: int = 30, pauses: dict[int, float] | None = None
) -> tuple[str, tuple[Word, ...], FloatArray]:
    """Words of 0.7 s without a pause between them but where one is asked for."""
    texts = [f"word{index}" for index in range(n_words)]
    words, samples = spoken(
        *[(text, 0.7, (pauses or {}).get(i, 0.0)) for i, text in enumerate(texts)]
    )
    return " ".join(texts), words, samples


def test_it_is_cut_in_the_pause_and_the_transcript_at_the_same_word() -> None:
    text, words, samples = story(pauses={12: 0.4})
    cut = shortened(samples, RATE_HZ, words, text)
    assert cut is not None
    assert cut.end_s == pytest.approx(13 * 0.7 + 0.2)
    assert cut.transcript == text.split(" word13")[0]


def test_without_a_transcript_it_is_what_was_heard() -> None:
    text, words, samples = story(pauses={12: 0.4})
    assert shortened(samples, RATE_HZ, words, None) == shortened(samples, RATE_HZ, words, text)


def test_the_longest_pause_is_best_but_a_sentence_that_ends_is_better() -> None:
    text, words, samples = story(pauses={9: 0.3, 12: 0.6, 15: 0.2})
    longest = shortened(samples, RATE_HZ, words, text)
    assert longest is not None
    assert longest.transcript.endswith("word12")
    sentence = shortened(samples, RATE_HZ, words, text.replace("word9 ", "“word9!” "))
    assert sentence is not None
    assert sentence.transcript.endswith("“word9!”")


@pytest.mark.parametrize("pauses", [{}, {3: 0.5}, {25: 0.5}, {12: 0.1}])
def test_without_a_pause_after_5_to_15_seconds_it_stays_whole(pauses: dict[int, float]) -> None:
    text, words, samples = story(pauses=pauses)
    assert shortened(samples, RATE_HZ, words, text) is None


def test_short_recordings_stay_whole() -> None:
    text, words, samples = story(n_words=28, pauses={12: 0.4})
    assert len(samples) == 20_000
    assert shortened(samples, RATE_HZ, words, text) is None
    assert shortened(np.zeros(30_000, np.float32), RATE_HZ, words, text) is None


def test_a_transcript_in_which_the_word_is_not_found_stays_whole() -> None:
    text, words, samples = story(pauses={12: 0.4})
    assert shortened(samples, RATE_HZ, words, text.replace("word13", "other")) is None
    assert shortened(samples, RATE_HZ, words, "Something quite different.") is None
    assert shortened(samples, RATE_HZ, (), text) is None


def test_two_words_that_happen_to_be_there_are_not_enough() -> None:
    _, words, samples = story(pauses={12: 0.4})
    text = "These are other words but here are word12 word13 and more of them"
    assert shortened(samples, RATE_HZ, words, text) is None


def test_a_pause_inside_a_word_is_not_used() -> None:
    texts = [(f"word{i}", 0.7, 0.0) for i in range(30)]
    words, samples = spoken(*texts)
    samples[9_300:9_500] = 0  # in the middle of the word from 9.1 to 9.8 s
    assert shortened(samples, RATE_HZ, words, None) is None


@pytest.mark.parametrize(
    ("given", "heard", "expected"),
    [
        ("One two three four.", "one, two: THREE four", 1.0),
        ("One two.", "One two three four.", 0.5),
        ("One two three four.", "One two.", 0.5),
        ("你好，世界", "你好世界", 1.0),
        ("你好", "世界", 0.0),
        ("", "", 1.0),
        ("...", "word", 0.0),
    ],
)
def test_transcripts_are_compared_by_their_words(given: str, heard: str, expected: float) -> None:
    assert likeness(given, heard) == expected
