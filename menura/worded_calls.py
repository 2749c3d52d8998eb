"""Requests whose words come while they are spoken.

A model that takes words is given them as they come; a flush ends the utterance, and the next words
begin another (`StreamedCall`). Any other model speaks whole sentences, one after another, as soon
as they are complete (`SentenceCall`). Utterance k draws from the seed `derive(seed, k, 0)`. What is
told counts over the whole request, with the pauses between its utterances; what is spoken depends
on the words and flushes, and not on when they came.
"""

from abc import abstractmethod
from collections import Counter, deque
from dataclasses import replace

from menura.api import pauses_of
from menura.calls import Call, Floor
from menura.engines.contract import EndOfText, Words
from menura.errands import Ask
from menura.errors import NothingToSpeakError
from menura.planning import SpeechPlan, check_letters
from menura.runtime.seeding import derive
from menura.speech import FinishReason, Spoken
from menura.text.arriving import ArrivingText, boundary_after
from menura.text.scripts import speakable
from menura.text.turns import last_tag
from menura.utterances import Place, Utterance


def worded_call(ask: Ask, floor: Floor) -> "WordedCall":
    """The call for a request whose words come later, as its model can take them."""
    return (StreamedCall if floor.tts.spec.streams_text else SentenceCall)(ask, floor)


class WordedCall(Call):
    """A request of several utterances, one after another."""

    def __init__(self, ask: Ask, floor: Floor) -> None:
        super().__init__(ask, floor)
        request = replace(ask.request, text="")
        self._planned = floor.tts.plan(request, words=True)
        self._applied = {**self._planned.applied, **floor.tts.loop.applied}
        self._place = Place()
        self._said = ""  # the text of the utterance before
        self._before: Spoken | None = None
        self._n_utterances = 0
        self._is_limited = False
        self._is_complete = False

    def begin(self) -> None:
        """Say that words may come; nothing is in the loop before they do."""
        self._tell_begun(self._planned)
        if self._ask.request.text:
            self.hear(self._ask.request.text)

    def end_words(self) -> None:
        """Take what has come as complete, and speak the rest."""
        self._is_complete = True
        self.flush()

    def go_on(self) -> None:
        """Begin further utterances again."""
        super().go_on()
        self._move()

    @property
    @abstractmethod
    def _waits(self) -> bool:
        """Whether there are words that are not under way yet."""

    @abstractmethod
    def _go_further(self) -> bool:
        """Whether something of the waiting words was put under way, or passed over."""

    def _move(self) -> None:
        """Put under way what can be; end where nothing is left."""
        while not self._is_held and self._waits and self._go_further():
            pass
        if not self._is_complete or self._waits or self._now is not None:
            return
        if not self._n_utterances:
            raise NothingToSpeakError("the text came to its end without anything to speak.")
        self.end(FinishReason.LENGTH if self._is_limited else FinishReason.STOP)

    def _after(self, utterance: Utterance) -> None:
        self._place = utterance.after
        self._before = utterance.take.before
        self._is_limited |= utterance.take.finish is FinishReason.LENGTH
        self._move()

    @property
    def _seed(self) -> int:
        """The seed of the next utterance."""
        return derive(self._planned.seed, self._n_utterances, 0)

    def _begin_utterance(self, planned: SpeechPlan, utterance: Utterance) -> None:
        """Nothing; the utterance is in the loop, after the pause that belongs before it."""
        utterance.place = self._place
        utterance.take.before = self._before
        if self._n_utterances:
            silence_s = pauses_of(self._floor.tts.settings).after(boundary_after(self._said))
            rate_hz = self._floor.tts.spec.sample_rate_hz
            utterance.pause = round(silence_s / planned.speed * rate_hz)
        self._n_utterances += 1
        self._start(planned, utterance)


class SentenceCall(WordedCall):
    """Whole sentences: each is an utterance when it is complete and the one before is over."""

    def __init__(self, ask: Ask, floor: Floor) -> None:
        super().__init__(ask, floor)
        languages = floor.tts.spec.languages
        only = languages[0] if len(languages) == 1 else None
        self._arriving = ArrivingText(self._planned.manner.language or only)
        self._texts: deque[str] = deque()
        self._tag = ""  # of who speaks, for the models that read dialogue

    def hear(self, text: str) -> None:
        """Take in more words; the sentences that are complete now are spoken."""
        self._texts += self._arriving.add(text)
        self._move()

    def flush(self) -> None:
        """Speak what has come, complete or not."""
        if rest := self._arriving.flush():
            self._texts.append(rest)
        self._move()

    @property
    def _waits(self) -> bool:
        return bool(self._texts)

    def _go_further(self) -> bool:
        if self._now is not None:
            return False
        text = self._texts.popleft()
        if speakable(text):
            self._speak(text)
        else:
            self._place = replace(self._place, character=self._place.character + len(text))
        return True

    def _speak(self, text: str) -> None:
        pattern = self._floor.tts.spec.turn_tag
        before = f"{self._tag} " if self._tag else ""
        request = replace(self._ask.request, text=before + text, seed=self._seed)
        planned = self._floor.tts.plan(request)
        utterance = Utterance(self._take(planned), len(text), n_before=len(before))
        utterance.take.note({"dropped_characters": Counter(_dropped(planned))})
        self._begin_utterance(planned, utterance)
        self._said = text
        if pattern:
            self._tag = last_tag(text, pattern) or self._tag


class StreamedCall(WordedCall):
    """Words as they come: an utterance is open until a flush, or the end of all words."""

    def __init__(self, ask: Ask, floor: Floor) -> None:
        super().__init__(ask, floor)
        self._incoming: deque[Words | EndOfText] = deque()
        self._lead = ""  # what came since the last utterance and cannot begin one

    def hear(self, text: str) -> None:
        """Take in more words. Raises: UnsupportedError: letters that the model cannot read."""
        check_letters(text, self._floor.tts.spec)
        self._incoming.append(Words(text))
        self._move()

    def flush(self) -> None:
        """End the utterance with the words that have come."""
        self._incoming.append(EndOfText())
        self._move()

    @property
    def _waits(self) -> bool:
        return bool(self._incoming)

    def _go_further(self) -> bool:
        now = self._now
        if now is not None and now.is_closed:
            return False
        more = self._incoming.popleft()
        if isinstance(more, Words):
            self._feed(more.text)
        elif now is not None:
            now.is_closed = True
            self._floor.jobs.say(now.number, more)
        return True

    def _feed(self, text: str) -> None:
        """Give words to the utterance, which begins with the first that can be spoken."""
        self._lead += text
        if self._now is None and speakable(self._lead):
            planned = replace(self._planned, seed=self._seed)
            self._begin_utterance(planned, Utterance(self._take(planned), 0, hears=True))
            self._said = ""
        if self._now is not None:
            words, self._lead = self._lead, ""
            self._said = (self._said + words)[-1000:]
            self._now.n_characters += len(words)
            self._floor.jobs.say(self._now.number, Words(self._now.take.hear_piece(words)))


def _dropped(planned: SpeechPlan) -> dict[str, int]:
    """The characters that the plan leaves out, with their counts."""
    dropped = planned.applied["dropped_characters"]
    assert isinstance(dropped, dict)
    return dropped
