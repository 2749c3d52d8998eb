"""A long recording cut at a pause, with its transcript kept in step.

It is cut only where it is known which words lie before the cut: between two words whose times are
known, both found in the transcript one after the other, with a pause in the sound between them.
Where no such place is found, the recording stays whole.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from menura.audio.clip_checks import BEST_S
from menura.audio.levels import BLOCK_S, Span, block_levels, heard_blocks, runs
from menura.audio.pcm import FloatArray
from menura.transcription import Word

LONG_S = 20.0  # shorter ones stay whole
ALIKE = 0.7  # recognisers mishear up to a third of the words

_SHORTEST_PAUSE_S = 0.12
_INACCURATE_S = 0.25  # of the times of words
_SENTENCE_END = (".", "!", "?", "。", "！", "？", "…")
_CLOSING = "\"'”’»)]」』】）"
_SENTENCE_IS_WORTH_S = 0.5  # of pause
_MOST_WORDS = 4_000
# Scripts without spaces are compared letter by letter.
_TOKEN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff]|[^\W_](?:['’]?[^\W_])*")


@dataclass(frozen=True)
class Cut:
    """Where a recording ends when it is shortened, and what is said until then."""

    end_s: float
    transcript: str


def shortened(
    samples: FloatArray, rate_hz: int, words: Sequence[Word], transcript: str | None
) -> Cut | None:
    """The best cut of samples [n] that leaves 5 to 15 s of sound, or None where there is none.

    Without a transcript it is what was heard. The end of a sentence and a long pause are best.
    """
    heard = heard_blocks(block_levels(samples, rate_hz))
    sounds = runs(heard)
    if not sounds or (sounds[-1][1] - sounds[0][0]) * BLOCK_S <= LONG_S:
        return None
    start_s = sounds[0][0] * BLOCK_S
    pauses = [(first * BLOCK_S, after * BLOCK_S) for first, after in runs(~heard)]
    text = "".join(word.text for word in words).strip() if transcript is None else transcript
    best: tuple[float, Cut] | None = None
    for index, kept in _texts_until(words, text):
        for pause in pauses:
            length_s = pause[1] - pause[0]
            if not BEST_S[0] <= pause[0] - start_s <= BEST_S[1] or length_s < _SHORTEST_PAUSE_S:
                continue
            if not _is_between(pause, words[index], words[index + 1]):
                continue
            if likeness(kept, "".join(word.text for word in words[: index + 1])) < ALIKE:
                continue
            is_sentence = kept.rstrip(_CLOSING).endswith(_SENTENCE_END)
            worth = length_s + (_SENTENCE_IS_WORTH_S if is_sentence else 0.0)
            if best is None or worth > best[0]:
                best = (worth, Cut((pause[0] + pause[1]) / 2, kept))
    return None if best is None else best[1]


def likeness(given: str, heard: str) -> float:
    """How much of the longer of two transcripts is in the other too, from 0 to 1, in its order."""
    ours, theirs = _tokens(given), _tokens(heard)
    longest = max(len(ours), len(theirs))
    return _n_same(ours, theirs) / longest if longest else 1.0


def _is_between(pause: Span, before: Word, after: Word) -> bool:
    """Whether a pause is the one between two words, as far as their times are known."""
    return (
        pause[0] >= before.end_s - _INACCURATE_S
        and pause[1] <= after.start_s + _INACCURATE_S
        and pause[1] > before.end_s - _INACCURATE_S
        and before.start_s < pause[0]
        and pause[1] < after.end_s
    )


def _texts_until(words: Sequence[Word], transcript: str) -> Iterator[tuple[int, str]]:
    """Each word that was found in the transcript with the next: its index, the text up to it."""
    tokens = list(_TOKEN.finditer(transcript))[:_MOST_WORDS]
    of_words = [(index, token) for index, word in enumerate(words) for token in _tokens(word.text)][
        :_MOST_WORDS
    ]
    matcher = SequenceMatcher(
        None, [token[0].casefold() for token in tokens], [t for _, t in of_words], autojunk=False
    )
    place = {
        block.b + offset: block.a + offset
        for block in matcher.get_matching_blocks()
        for offset in range(block.size)
    }
    for at in range(len(of_words) - 1):
        index, following = of_words[at][0], of_words[at + 1][0]
        here = place.get(at)
        if following == index or here is None or place.get(at + 1) != here + 1:
            continue
        # What closes the word goes with it; what opens the next does not.
        between = transcript[tokens[here].end() : tokens[here + 1].start()]
        closing = re.match(r"\S*", between)
        assert closing is not None
        yield index, transcript[: tokens[here].end()] + closing[0]


def _tokens(text: str) -> list[str]:
    return [token.casefold() for token in _TOKEN.findall(text)][:_MOST_WORDS]


def _n_same(ours: list[str], theirs: list[str]) -> int:
    blocks = SequenceMatcher(None, ours, theirs, autojunk=False).get_matching_blocks()
    return sum(block.size for block in blocks)
