"""A desk: one loaded model that speaks for many at once, who come and go while it speaks.

It is the house's one loop (`runtime/scheduler.py`), whose requests arrive through an inbox between
two steps. What comes of them leaves as events, each with the key of its request.
"""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from menura.calls import Call, Floor, isolated
from menura.errands import (
    Ask,
    Cancel,
    Ended,
    EndWords,
    Errand,
    Event,
    Flush,
    GoOn,
    Hold,
    Say,
)
from menura.errors import InvalidValueError, MenuraError, ModelFilesError
from menura.runtime.recently_used import RecentlyUsed
from menura.runtime.scheduler import Delivered, Jobs
from menura.speech import FinishReason, Voice
from menura.voice_files import load_voice
from menura.voice_library.labels import LIBRARY_PREFIX
from menura.worded_calls import worded_call

if TYPE_CHECKING:
    from menura.api import TTS

_VOICES_KEPT = 32


class Inbox(Protocol):
    """Where errands come in."""

    @property
    def open(self) -> bool:
        """Whether the desk is to go on; where it is not, all that is left is cancelled."""
        ...

    def take(self, *, wait: bool) -> Sequence[Errand]:
        """What has come, oldest first. With `wait`, blocks until something has, or it is closed."""
        ...


class Desk:
    """Speaks what comes through the inbox, until that is closed."""

    def __init__(self, tts: "TTS", inbox: Inbox) -> None:
        self._tts = tts
        self._inbox = inbox
        self._floor = Floor(tts, Jobs(ahead=tts.spec.segments_ahead, arrivals=self))
        self._voices: RecentlyUsed[tuple[str, int], Voice] = RecentlyUsed(_VOICES_KEPT)

    def run(self) -> Generator[Event, None, None]:
        """The events, as they come. Closing the generator frees all rows at once."""
        floor = self._floor
        with closing(self._tts.loop.run(floor.jobs, self._tts.spec.max_rows)) as deliveries:
            for delivered in deliveries:
                self._hand_on(delivered)
                while floor.events:
                    yield floor.events.popleft()
        yield from floor.events

    # For the loop: its arrivals are what comes through the inbox.

    @property
    def open(self) -> bool:
        """Whether more may come."""
        return self._inbox.open

    def take_in(self, jobs: Jobs, *, wait: bool) -> bool:
        """Do the errands that have come; whether there is something to tell."""
        assert jobs is self._floor.jobs
        for errand in self._inbox.take(wait=wait):
            self._do(errand)
        if not self._inbox.open:
            for call in tuple(self._floor.live.values()):
                call.end(FinishReason.CANCELLED)
        return bool(self._floor.events)

    def _do(self, errand: Errand) -> None:
        """Nothing; what goes wrong is told as the request's end."""
        if isinstance(errand, Ask):
            self._begin(errand)
            return
        call = self._floor.live.get(errand.key)
        if call is None:
            return  # it ended while the errand was on its way
        try:
            isolated(partial(_pass_on, errand, call))
        except MenuraError as error:
            call.end(FinishReason.ERROR, error)

    def _begin(self, ask: Ask) -> None:
        assert ask.key not in self._floor.live, "the key of a request is its own"
        try:
            call = isolated(partial(self._call, ask))
        except MenuraError as error:
            self._floor.events.append(Ended(ask.key, FinishReason.ERROR, {}, error))
            return
        self._floor.live[ask.key] = call
        try:
            isolated(call.begin)
        except MenuraError as error:
            call.end(FinishReason.ERROR, error)

    def _call(self, ask: Ask) -> Call:
        """The call for what is asked. Raises: MenuraError: the voice, or the manner, is wrong."""
        if ask.voice_file is not None:
            voice = self._saved_voice(ask.voice_file)
            ask = replace(ask, request=replace(ask.request, voice=voice))
        elif ask.voice_id is not None:
            ask = replace(
                ask, request=replace(ask.request, voice=f"{LIBRARY_PREFIX}{ask.voice_id}")
            )
        return worded_call(ask, self._floor) if ask.words else Call(ask, self._floor)

    def _saved_voice(self, path: str) -> Voice:
        """The voice of a file, read again only where the file has changed.

        Raises: ModelFilesError: it is gone or damaged. Who asks for it cannot help that.
        """
        try:
            key = (path, Path(path).stat().st_mtime_ns)
            voice = self._voices.get(key) or load_voice(path)
        except (OSError, InvalidValueError) as error:
            raise ModelFilesError(
                f"a saved voice cannot be used: {error}", param="voice"
            ) from error
        self._voices.keep(key, voice)
        return voice

    def _hand_on(self, delivered: Delivered) -> None:
        """Give a delivery to its call; news of arrivals is nobody's."""
        call = self._floor.callers.get(delivered.request)
        if call is None:
            return
        try:
            isolated(partial(call.add, delivered))
        except MenuraError as error:
            call.end(FinishReason.ERROR, error)


def _pass_on(errand: Errand, call: Call) -> None:
    """Nothing; the call has what the errand brings it."""
    match errand:
        case Say(_, text):
            call.hear(text)
        case Flush():
            call.flush()
        case EndWords():
            call.end_words()
        case Cancel():
            call.end(FinishReason.CANCELLED)
        case Hold():
            call.hold()
        case GoOn():
            call.go_on()
