"""An inbox for tests: what is put in comes out at the desk's next look."""

from collections import deque

import numpy as np

import menura
from menura.desk import Desk
from menura.errands import Begun, Ended, Errand, Event, Heard, SegmentDone
from menura.speech import FloatArray, SegmentReport


class Letters:
    """It closes when the desk waits and nothing was put in, so that a test ends."""

    def __init__(self, *errands: Errand) -> None:
        self.open = True
        self.n_looks = 0
        self.later: dict[int, list[Errand]] = {}
        self._errands = deque(errands)

    def put(self, *errands: Errand) -> None:
        """Let these come at the next look."""
        self._errands.extend(errands)

    def put_at(self, look: int, *errands: Errand) -> None:
        """Let these come at that look of the desk, counted from 0."""
        self.later.setdefault(look, []).extend(errands)

    def take(self, *, wait: bool) -> list[Errand]:
        self._errands.extend(self.later.pop(self.n_looks, []))
        self.n_looks += 1
        if wait and not self._errands and self.later:
            self._errands.extend(self.later.pop(min(self.later)))
        if wait and not self._errands:
            self.open = False
        errands = list(self._errands)
        self._errands.clear()
        return errands


def told(tts: menura.TTS, *errands: Errand) -> list[Event]:
    """All events of a desk that gets these errands at once."""
    return list(Desk(tts, Letters(*errands)).run())


def samples_of(events: list[Event], key: int) -> FloatArray:
    """What was heard of a request [n]."""
    chunks = [e.chunk.samples for e in events if isinstance(e, Heard) and e.key == key]
    return np.concatenate(chunks) if chunks else np.zeros(0, np.float32)


def reports_of(events: list[Event], key: int) -> list[SegmentReport]:
    """The reports of a request's segments."""
    return [e.report for e in events if isinstance(e, SegmentDone) and e.key == key]


def begun(events: list[Event], key: int) -> Begun:
    """The request's only beginning."""
    [found] = [event for event in events if isinstance(event, Begun) and event.key == key]
    return found


def ended(events: list[Event], key: int) -> Ended:
    """The request's only end, after which nothing of it is told."""
    of_key = [event for event in events if event.key == key]
    [found] = [event for event in of_key if isinstance(event, Ended)]
    assert of_key[-1] is found
    return found
