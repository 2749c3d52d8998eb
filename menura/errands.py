"""What is asked of a desk, and what it tells: plain data, so that both can cross a process border.

Every errand names its request by a key, a number that the asker chose and never uses twice. Each
`Ask` is answered by exactly one `Ended`, whatever happens; between them come one `Begun`, and
`Heard` and `SegmentDone` in the order in which they are to be heard. An errand for a key that has
ended is nothing: it crossed the end on its way.
"""

from dataclasses import dataclass

from menura.errors import MenuraError
from menura.speech import AudioChunk, FinishReason, SegmentReport, SpeechRequest


@dataclass(frozen=True)
class Ask:
    """Speak this. With `words`, the request's text is empty and comes later, by `Say`.

    `stream`: audio leaves as it is made; else each segment leaves whole. `voice_file` is a saved
    voice that takes the place of the request's: only who owns the desk may name files. So does
    `voice_id`, the id of a voice in the library.
    """

    key: int
    request: SpeechRequest
    words: bool = False
    stream: bool = True
    voice_file: str | None = None
    voice_id: str | None = None


@dataclass(frozen=True)
class Say:
    """A further piece of a request's text."""

    key: int
    text: str


@dataclass(frozen=True)
class Flush:
    """What has been said so far is complete: speak all of it without waiting for more."""

    key: int


@dataclass(frozen=True)
class EndWords:
    """The request's text is complete."""

    key: int


@dataclass(frozen=True)
class Cancel:
    """Nobody listens any more: the rows are free after the step that they are in."""

    key: int


@dataclass(frozen=True)
class Hold:
    """The listener is slow: begin nothing more of this request. What is begun runs to its end."""

    key: int


@dataclass(frozen=True)
class GoOn:
    """The listener has caught up."""

    key: int


Errand = Ask | Say | Flush | EndWords | Cancel | Hold | GoOn


@dataclass(frozen=True)
class Begun:
    """The request is sound and planned. `applied` is what is known so far; no audio has left."""

    key: int
    applied: dict[str, object]
    sample_rate_hz: int
    seed: int


@dataclass(frozen=True, eq=False)
class Heard:
    """A piece of the request's audio."""

    key: int
    chunk: AudioChunk


@dataclass(frozen=True)
class SegmentDone:
    """A segment has left whole. Its places count over the whole request."""

    key: int
    report: SegmentReport


@dataclass(frozen=True, eq=False)
class Ended:
    """The last word of a request. With `FinishReason.ERROR`, `error` says why."""

    key: int
    finish: FinishReason
    applied: dict[str, object]
    error: MenuraError | None = None


Event = Begun | Heard | SegmentDone | Ended
