"""One request at a desk: from its plan to what is heard of it, and what all of them share.

A request whose text is complete is one utterance. For those whose words come later, see
`worded_calls.py`.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from menura.engines.contract import Delivery
from menura.errands import Ask, Begun, Ended, Event, Heard, SegmentDone
from menura.errors import MenuraError
from menura.planning import SpeechPlan
from menura.runtime.scheduler import Delivered, Jobs
from menura.speech import AudioChunk, FinishReason
from menura.streams import first_frame_on
from menura.takes import Take
from menura.utterances import Utterance

if TYPE_CHECKING:
    from menura.api import TTS

_Result = TypeVar("_Result")


@dataclass
class Floor:
    """What the calls of one desk share: the model, the loop's jobs, and what is to be told.

    `live`: the calls that have not ended, by their keys. `callers`: whose each of the loop's
    requests is.
    """

    tts: "TTS"
    jobs: Jobs
    live: "dict[int, Call]" = field(default_factory=dict)
    callers: "dict[int, Call]" = field(default_factory=dict)
    events: deque[Event] = field(default_factory=deque)


class Call:
    """A request on its way. This one's text is complete: what words come for it are nobody's."""

    def __init__(self, ask: Ask, floor: Floor) -> None:
        self._ask = ask
        self._floor = floor
        self._applied: dict[str, object] = {}
        self._now: Utterance | None = None
        self._is_held = False

    def begin(self) -> None:
        """Plan the request and put it into the loop. Raises: as `TTS.plan`."""
        planned = self._floor.tts.plan(self._ask.request)
        self._applied = dict(planned.applied)
        n_characters = len(self._ask.request.text)
        self._start(planned, Utterance(self._take(planned), n_characters))
        self._tell_begun(planned)

    def hear(self, text: str) -> None:
        """Take in more words."""

    def flush(self) -> None:
        """Take what has come as complete."""

    def end_words(self) -> None:
        """Take note that no more words come."""

    def hold(self) -> None:
        """Begin nothing more for now."""
        self._is_held = True
        if self._now is not None:
            self._floor.jobs.hold(self._now.number)

    def go_on(self) -> None:
        """Begin further segments again."""
        self._is_held = False
        if self._now is not None:
            self._floor.jobs.go_on(self._now.number)

    def add(self, delivered: Delivered) -> None:
        """Tell what a delivery of its utterance gives. Raises: MenuraError: it has failed."""
        now = self._now
        if now is None or now.number != delivered.request:
            return
        key = self._ask.key
        for news in now.add(delivered):
            self._tell(Heard(key, news) if isinstance(news, AudioChunk) else SegmentDone(key, news))
        if now.is_over:
            self._now = None
            del self._floor.callers[now.number]
            self._after(now)

    def end(self, finish: FinishReason, error: MenuraError | None = None) -> None:
        """Be over: free what is still in the loop, and tell how it ended."""
        if self._now is not None:
            self._floor.jobs.cancel(self._now.number)
            del self._floor.callers[self._now.number]
            self._now = None
        self._floor.live.pop(self._ask.key, None)
        self._tell(Ended(self._ask.key, finish, self._applied, error))

    def _after(self, utterance: Utterance) -> None:
        """Go on after an utterance that is over."""
        self.end(utterance.take.finish)

    def _take(self, planned: SpeechPlan) -> Take:
        """The utterance's take; what is really used is noted for the request as a whole."""
        take = Take(planned, self._floor.tts.spec, keep=False)
        take.applied = self._applied
        return take

    def _start(self, planned: SpeechPlan, utterance: Utterance) -> None:
        """Nothing; the utterance is in the loop."""
        floor, ask = self._floor, self._ask
        delivery = first_frame_on(planned) if ask.stream else Delivery()
        segments = [
            replace(job, build=partial(isolated, job.build))
            for job in floor.tts.loop.jobs_of(planned, utterance.take, delivery)
        ]
        # In turn, since a segment that runs beside the one that is heard would make it late.
        in_turn = ask.stream or planned.goes_on
        utterance.number = floor.jobs.submit(segments, in_turn=in_turn, hears=utterance.hears)
        if self._is_held:
            floor.jobs.hold(utterance.number)
        floor.callers[utterance.number] = self
        self._now = utterance

    def _tell_begun(self, planned: SpeechPlan) -> None:
        rate_hz = self._floor.tts.spec.sample_rate_hz
        self._tell(Begun(self._ask.key, dict(self._applied), rate_hz, planned.seed))

    def _tell(self, event: Event) -> None:
        self._floor.events.append(event)


def isolated(work: Callable[[], _Result]) -> _Result:
    """What the work gives. A failure that nobody foresaw is this request's alone.

    Raises: MenuraError.
    """
    try:
        return work()
    except MenuraError:
        raise
    except Exception as error:
        message = f"the request met a fault of Menura or its engine ({type(error).__name__})."
        raise MenuraError(message) from error
