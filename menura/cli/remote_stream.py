"""A speech that another process makes, chunk by chunk, as `SpeechStream` gives one of this process.

The server sends an event a line: `menura.begun` with what will be used, `speech.audio.delta` with
samples (float32, little-endian, at the model's rate), and `speech.audio.done` with the reports, or
`error`. An answer that ends without one of the last two was cut.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np

from menura.errors import MenuraError
from menura.speech import AudioChunk, FinishReason, SegmentReport, SpeechRequest
from menura.text.duration import expected_seconds

if TYPE_CHECKING:
    import httpx

BEGUN, DELTA, DONE, ERROR = "menura.begun", "speech.audio.delta", "speech.audio.done", "error"
_DATA = "data: "
_NEARLY = 0.99
# The names that the server has for what the user typed.
_OUR_NAMES = {"input": "text", "instructions": "instruct"}

Event = Mapping[str, object]


class RemoteStream:
    """The chunks of one speech as they come, and what is known of it so far.

    Leaving its `with` closes what it keeps, its connection: the server's row is free then.
    """

    def __init__(self, answer: "httpx.Response", request: SpeechRequest) -> None:
        self.applied: dict[str, object] = {}
        self.segments: tuple[SegmentReport, ...] = ()
        self.finish = FinishReason.CANCELLED
        self.sample_rate_hz = 0
        self._request = request
        self._open_things = ExitStack()
        self._made_s = 0.0
        self._events = events_of(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._open_things.close()

    def keeping(self, open_things: ExitStack) -> Self:
        """The stream itself, which closes these things from now on."""
        self._open_things = open_things
        return self

    def begin(self) -> None:
        """Nothing; what will be used is known. Raises: MenuraError: no speech comes."""
        begun = next(self._events, {})
        if begun.get("type") == ERROR:
            raise error_in(begun)
        applied, rate_hz = begun.get("applied"), begun.get("sample_rate_hz")
        if begun.get("type") != BEGUN or not isinstance(applied, dict) or type(rate_hz) is not int:
            raise MenuraError("the server sent something else than speech.")
        self.applied, self.sample_rate_hz = applied, rate_hz

    @property
    def sampled_s(self) -> float:
        """About how much audio is made, in seconds."""
        return expected_seconds(self._request.text) / self._request.speed

    @property
    def done(self) -> float:
        """About the share that is done, from 0 to 1: the server does not tell it."""
        if self.finish is not FinishReason.CANCELLED:
            return 1.0
        return min(self._made_s / self.sampled_s, _NEARLY) if self.sampled_s else 0.0

    def moves(self) -> Iterator[AudioChunk]:
        """The chunks. Raises: MenuraError: the speech failed, or the connection broke."""
        for event in self._events:
            kind = event.get("type")
            if kind == DELTA:
                samples = np.frombuffer(base64.b64decode(str(event["audio"])), "<f4")
                self._made_s += len(samples) / self.sample_rate_hz
                yield AudioChunk(samples, self.sample_rate_hz, segment=0, is_final=False)
            elif kind == DONE:
                self._end(event["menura"])
                return
            elif kind == ERROR:
                raise error_in(event)
        raise MenuraError("the server broke off in the middle of the speech.")

    def _end(self, outcome: object) -> None:
        if not isinstance(outcome, dict):
            raise MenuraError("the server ended the speech without its reports.")
        self.applied = outcome["applied"]
        self.finish = FinishReason(outcome["finish"])
        self.segments = tuple(
            SegmentReport(**{**report, "finish": FinishReason(report["finish"])})
            for report in outcome["segments"]
        )


def events_of(answer: "httpx.Response") -> Iterator[Event]:
    """The events of an answer. Raises: MenuraError: the connection broke."""
    import httpx  # noqa: PLC0415

    try:
        for line in answer.iter_lines():
            if line.startswith(_DATA):
                yield json.loads(line.removeprefix(_DATA))
    except httpx.HTTPError as error:
        raise MenuraError(f"the server broke off in the middle of the speech ({error}).") from error


def error_in(body: Event) -> MenuraError:
    """The error that an event or an answer's body tells, of the class that its code names."""
    told = body.get("error")
    words = told if isinstance(told, dict) else {}
    classes = {each.code: each for each in MenuraError.__subclasses__()}
    kind = classes.get(str(words.get("code")), MenuraError)
    param = words.get("param")
    theirs = str(param).removeprefix("options.")
    named = None if param is None else _OUR_NAMES.get(theirs, theirs)
    return kind(str(words.get("message", "the server gave no reason.")), param=named)
