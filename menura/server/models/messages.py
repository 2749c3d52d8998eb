"""The messages between the server and a model's process: one documented format, both ways.

Each is a frame (`frames.py`) whose head has its `type`; `key` is a request's number (`errands.py`).
Only `chunk` has a payload: its samples, float32, little-endian.

To the process, `load` first:

| type | head |
|---|---|
| load | model (a name, a folder or null), device, precision, threads, extra, describe_only |
| ask | key, request (fields of `SpeechRequest`), words, stream, voice_file and voice_id or nulls |
| say | key, text |
| flush, end_words, cancel, hold, go_on | key |
| close | nothing: stop after the step; so does the end of the stream, which is at once |

From it, `ready` or `failed` first; nothing follows `failed`, nor `ready` where only a description
was asked for:

| type | head |
|---|---|
| ready | facts (`facts_wire.py`), applied |
| failed | error |
| begun | key, applied, rate, seed |
| chunk | key, segment, rate, final |
| segment | key, report (the fields of `SegmentReport`) |
| ended | key, finish, applied, error (or null) |
| memory | rss_bytes (or null), live (the requests that have not ended) |

`memory` comes from the loop itself, after `ready` and then each second or so while requests live,
even where nothing is heard for long: it is the sign that the loop moves. An error has code,
message, param and needs, and becomes the same class again.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO, TypeVar

import numpy as np

from menura.errands import (
    Ask,
    Begun,
    Cancel,
    Ended,
    EndWords,
    Errand,
    Event,
    Flush,
    GoOn,
    Heard,
    Hold,
    Say,
    SegmentDone,
)
from menura.errors import MenuraError
from menura.server.models import facts_wire, frames, values_wire
from menura.server.models.frames import Frame, FrameError
from menura.server.models.model_facts import ModelFacts
from menura.server.models.values_wire import plain
from menura.speech import AudioChunk

if TYPE_CHECKING:
    from asyncio import StreamReader

_SAMPLES = np.dtype("<f4")
_Message = TypeVar("_Message")


@dataclass(frozen=True)
class Load:
    """The model that the process is for, as `menura.load` takes it.

    With `describe_only`, the process answers without weights, and ends.
    """

    model: str | None = None
    device: str | None = None
    precision: str | None = None
    threads: int | None = None
    extra: Mapping[str, object] = field(default_factory=dict)
    describe_only: bool = False


@dataclass(frozen=True)
class Close:
    """Stop after the step that is under way."""


@dataclass(frozen=True)
class Ready:
    """The model is loaded, or described. `applied`: device, precision, threads; empty if not
    loaded.
    """

    facts: ModelFacts
    applied: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Failed:
    """The model could not be loaded; the process ends."""

    error: MenuraError


@dataclass(frozen=True)
class Memory:
    """The loop moves: the process's resident memory, and how many requests have not ended."""

    rss_bytes: int | None
    live: int


ToProcess = Load | Errand | Close
FromProcess = Ready | Failed | Event | Memory


def encode(message: ToProcess | FromProcess) -> bytes:
    """The message's frame; of a chunk that is too long for one, its frames.

    Raises: FrameError: it is too large.
    """
    if isinstance(message, Heard):
        return b"".join(map(_chunk_frame, _in_pieces(message)))
    name, head = _head(message)
    return frames.pack({"type": name, **head})


def _chunk_frame(heard: Heard) -> bytes:
    chunk = heard.chunk
    head = {"type": "chunk", "key": heard.key, "segment": chunk.segment}
    head |= {"rate": chunk.sample_rate_hz, "final": chunk.is_final}
    return frames.pack(head, np.ascontiguousarray(chunk.samples, _SAMPLES).tobytes())


def _in_pieces(heard: Heard) -> Iterator[Heard]:
    """The chunk, in as few pieces as frames can hold; only the last may be final."""
    most, chunk = frames.MAX_PAYLOAD_BYTES // _SAMPLES.itemsize, heard.chunk
    for start in range(0, max(len(chunk.samples), 1), most):
        is_final = chunk.is_final and start + most >= len(chunk.samples)
        samples = chunk.samples[start : start + most]
        yield replace(heard, chunk=replace(chunk, samples=samples, is_final=is_final))


def to_process(frame: Frame) -> ToProcess:
    """The message that a frame to the process holds. Raises: FrameError."""
    return _decoded(frame, _TO_PROCESS)


def from_process(frame: Frame) -> FromProcess:
    """The message that a frame from the process holds. Raises: FrameError."""
    return _decoded(frame, _FROM_PROCESS)


def read(stream: BinaryIO) -> ToProcess | None:
    """The next message to the process; None at the stream's end. Raises: FrameError."""
    frame = frames.read(stream)
    return None if frame is None else to_process(frame)


async def read_from(reader: "StreamReader") -> FromProcess | None:
    """The next message from the process; None at the stream's end. Raises: FrameError."""
    frame = await frames.read_from(reader)
    return None if frame is None else from_process(frame)


def _head(message: ToProcess | FromProcess) -> tuple[str, dict[str, object]]:
    """The message's type and the rest of its head."""
    head: dict[str, object]
    match message:
        case Ask(key, request):
            name, head = "ask", {"key": key, "request": values_wire.request_head(request)}
            head |= {"words": message.words, "stream": message.stream}
            head |= {"voice_file": message.voice_file, "voice_id": message.voice_id}
        case Begun(key, applied, rate_hz, seed):
            name, head = "begun", {"key": key, "applied": plain(applied)}
            head |= {"rate": rate_hz, "seed": seed}
        case SegmentDone(key, report):
            name, head = "segment", {"key": key, "report": asdict(report)}
        case Ended(key, finish, applied, error):
            name, head = "ended", {"key": key, "finish": finish, "applied": plain(applied)}
            head["error"] = None if error is None else values_wire.error_head(error)
        case Ready(facts, applied):
            name, head = "ready", {"facts": facts_wire.to_json(facts), "applied": plain(applied)}
        case Failed(error):
            name, head = "failed", {"error": values_wire.error_head(error)}
        case Load(extra=extra):
            name, head = "load", {**asdict(replace(message, extra={})), "extra": plain(extra)}
        case _:
            name, head = _NAMES[type(message)], asdict(message)
    return name, head


def _decoded(frame: Frame, readers: Mapping[str, Callable[[Frame], _Message]]) -> _Message:
    name = frame.text("type")
    if name not in readers:
        raise FrameError(f"a message of the type {name!r} may not come here")
    return readers[name](frame)


def _load_in(frame: Frame) -> Load:
    return Load(
        model=frame.text("model") if frame.has("model") else None,
        device=frame.text("device") if frame.has("device") else None,
        precision=frame.text("precision") if frame.has("precision") else None,
        threads=frame.whole("threads") if frame.has("threads") else None,
        extra=frame.named("extra"),
        describe_only=frame.flag("describe_only"),
    )


def _ask_in(frame: Frame) -> Ask:
    request = values_wire.request_of(frame.inside("request"))
    return Ask(
        key=frame.whole("key"),
        request=request,
        words=frame.flag("words"),
        stream=frame.flag("stream"),
        voice_file=frame.text("voice_file") if frame.has("voice_file") else None,
        voice_id=frame.text("voice_id") if frame.has("voice_id") else None,
    )


def _ready_in(frame: Frame) -> Ready:
    return Ready(facts_wire.from_json(frame.inside("facts")), frame.named("applied"))


def _begun_in(frame: Frame) -> Begun:
    rate_hz, seed = frame.whole("rate"), frame.whole("seed")
    return Begun(frame.whole("key"), frame.named("applied"), rate_hz, seed)


def _heard_in(frame: Frame) -> Heard:
    if len(frame.payload) % _SAMPLES.itemsize:
        raise FrameError(f"{len(frame.payload)} bytes are no whole number of samples")
    chunk = AudioChunk(
        samples=np.frombuffer(frame.payload, _SAMPLES).astype(np.float32, copy=False),
        sample_rate_hz=frame.whole("rate"),
        segment=frame.whole("segment"),
        is_final=frame.flag("final"),
    )
    return Heard(frame.whole("key"), chunk)


def _segment_in(frame: Frame) -> SegmentDone:
    return SegmentDone(frame.whole("key"), values_wire.report_of(frame.inside("report")))


def _ended_in(frame: Frame) -> Ended:
    error = values_wire.error_of(frame.inside("error")) if frame.has("error") else None
    finish = values_wire.finish_of(frame)
    return Ended(frame.whole("key"), finish, frame.named("applied"), error)


def _memory_in(frame: Frame) -> Memory:
    rss_bytes = frame.whole("rss_bytes") if frame.has("rss_bytes") else None
    return Memory(rss_bytes, frame.whole("live"))


def _key_alone_reader(
    kind: type[Flush | EndWords | Cancel | Hold | GoOn],
) -> Callable[[Frame], Errand]:
    return lambda frame: kind(frame.whole("key"))


_KEY_ALONE: Mapping[str, type[Flush | EndWords | Cancel | Hold | GoOn]] = {
    "flush": Flush, "end_words": EndWords, "cancel": Cancel, "hold": Hold, "go_on": GoOn,
}  # fmt: skip

_NAMES: Mapping[type, str] = {
    Load: "load", Say: "say", Close: "close", Memory: "memory",
    **{kind: name for name, kind in _KEY_ALONE.items()},
}  # fmt: skip

_TO_PROCESS: Mapping[str, Callable[[Frame], ToProcess]] = {
    "load": _load_in,
    "ask": _ask_in,
    "say": lambda frame: Say(frame.whole("key"), frame.text("text")),
    "close": lambda _: Close(),
    **{name: _key_alone_reader(kind) for name, kind in _KEY_ALONE.items()},
}

_FROM_PROCESS: Mapping[str, Callable[[Frame], FromProcess]] = {
    "ready": _ready_in,
    "failed": lambda frame: Failed(values_wire.error_of(frame.inside("error"))),
    "begun": _begun_in,
    "chunk": _heard_in,
    "segment": _segment_in,
    "ended": _ended_in,
    "memory": _memory_in,
}
