"""Messages: every kind crosses and is the same on the other side; none comes from the wrong one."""

import asyncio
import io
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from menura import errors
from menura.engines import registry
from menura.errands import (
    Ask,
    Begun,
    Cancel,
    Ended,
    EndWords,
    Flush,
    GoOn,
    Heard,
    Hold,
    Say,
    SegmentDone,
)
from menura.errors import InvalidValueError, MenuraError, NumericsError, UnsupportedError
from menura.server.models import facts_wire, frames, messages
from menura.server.models.frames import Frame, FrameError
from menura.server.models.messages import Close, Failed, FromProcess, Load, Memory, Ready, ToProcess
from menura.server.models.model_facts import facts_of
from menura.speech import (
    AudioChunk,
    FinishReason,
    FloatArray,
    Reference,
    SegmentReport,
    SpeechRequest,
    Voice,
)
from tests.tone.engine import RULES, ToneEngine

REQUEST = SpeechRequest(
    "Zoë said \ud800 «日本»\n",
    voice="low",
    language="english",
    instruct="softly",
    seed=2**63 - 1,
    speed=1.25,
    split=False,
    strict=False,
    options={"loudness": 0.5, "colour": "sine", "list": [1, 2], "nothing": None},
)
REPORT = SegmentReport("a b", 0, 3, 0, 1600, 7, FinishReason.LENGTH, "it was long", 0.25)

TO_PROCESS: list[ToProcess] = [
    Load(),
    Load("qwen", "cpu", "int8", 4, {"codec": "folder"}, describe_only=True),
    Ask(1, SpeechRequest("hello")),
    Ask(2**53, REQUEST, words=True, stream=False, voice_file="voices/me.safetensors"),
    Ask(3, SpeechRequest("hello"), voice_id="voice_0"),
    Say(1, "more \ud800"),
    Flush(1),
    EndWords(1),
    Cancel(1),
    Hold(1),
    GoOn(1),
    Close(),
]
FROM_PROCESS: list[FromProcess] = [
    Ready(facts_of(ToneEngine().spec), {"device": "cpu", "threads": 2}),
    Begun(1, {"seed": 7, "voice": None, "dropped_characters": {"U+0007": 1}}, 24_000, 7),
    SegmentDone(1, REPORT),
    Memory(123, 4),
    Memory(None, 0),
]


def to_process(content: bytes) -> ToProcess | None:
    return messages.read(io.BytesIO(content))


def from_process(content: bytes) -> list[FromProcess]:
    async def read() -> list[FromProcess]:
        reader = asyncio.StreamReader()
        reader.feed_data(content)
        reader.feed_eof()
        found = []
        while (message := await messages.read_from(reader)) is not None:
            found.append(message)
        return found

    return asyncio.run(read())


@pytest.mark.parametrize("message", TO_PROCESS)
def test_what_goes_to_the_process_arrives(message: ToProcess) -> None:
    assert to_process(messages.encode(message)) == message


@pytest.mark.parametrize("message", FROM_PROCESS)
def test_what_comes_from_the_process_arrives(message: FromProcess) -> None:
    assert from_process(messages.encode(message)) == [message]


def test_the_end_between_two_messages_is_none() -> None:
    assert to_process(b"") is None
    assert from_process(b"") == []


@pytest.mark.parametrize("is_final", [True, False])
@pytest.mark.parametrize("samples", [np.arange(5), np.zeros(0), np.arange(10)[::2]])
def test_samples_cross_bit_by_bit(samples: FloatArray, is_final: bool) -> None:
    chunk = AudioChunk((samples / 3).astype(np.float32), 44_100, 2, is_final)
    [heard] = from_process(messages.encode(Heard(9, chunk)))
    assert isinstance(heard, Heard)
    assert heard.key == 9
    assert heard.chunk.samples.dtype == np.float32
    assert np.array_equal(heard.chunk.samples, chunk.samples)
    assert (heard.chunk.sample_rate_hz, heard.chunk.segment) == (44_100, 2)
    assert heard.chunk.is_final is is_final


def test_a_chunk_that_no_frame_can_hold_crosses_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_PAYLOAD_BYTES", 16)
    samples = np.arange(10, dtype=np.float32)
    pieces = from_process(messages.encode(Heard(1, AudioChunk(samples, 8_000, 0, is_final=True))))
    chunks = [piece.chunk for piece in pieces if isinstance(piece, Heard)]
    assert [chunk.samples.tolist() for chunk in chunks] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [chunk.is_final for chunk in chunks] == [False, False, True]


@pytest.mark.parametrize(
    "error",
    [
        MenuraError("it failed"),
        NumericsError("no numbers"),
        InvalidValueError("top_k is wrong", param="top_k"),
        UnsupportedError("it cannot", param="voice", needs="clone"),
    ],
)
def test_an_error_is_of_the_same_class_again(error: MenuraError) -> None:
    end = Ended(3, FinishReason.ERROR, {"seed": 1}, error)
    for message in (end, Failed(error)):
        [found] = from_process(messages.encode(message))
        assert isinstance(found, Ended | Failed)
        again = found.error
        assert type(again) is type(error)
        assert vars(again) == vars(error)


def test_an_end_without_an_error_has_none() -> None:
    [found] = from_process(messages.encode(Ended(3, FinishReason.STOP, {"seed": 1})))
    assert isinstance(found, Ended)
    assert (found.key, found.finish, found.applied) == (3, FinishReason.STOP, {"seed": 1})
    assert found.error is None


def test_an_error_that_this_side_does_not_know_is_a_plain_one() -> None:
    head = {"code": "of_tomorrow", "message": "new", "param": None, "needs": ""}
    found = messages.from_process(Frame({"type": "failed", "error": head}))
    assert isinstance(found, Failed)
    assert type(found.error) is MenuraError


def test_every_error_of_the_table_crosses_or_is_a_plain_one() -> None:
    kinds = [k for k in vars(errors).values() if isinstance(k, type) and issubclass(k, MenuraError)]
    for kind in kinds:
        head = {"code": kind.code, "message": "m", "param": None, "needs": ""}
        found = messages.from_process(Frame({"type": "failed", "error": head}))
        assert isinstance(found, Failed)
        assert type(found.error) in (kind, MenuraError)


def test_what_is_applied_becomes_plain() -> None:
    applied = {
        "path": Path("a"),
        "n": np.int64(3),
        "t": (1, 2),
        "s": {"x"},
        "d": {1: np.float32(2)},
    }
    [found] = from_process(messages.encode(Begun(1, applied, 8_000, 1)))
    assert isinstance(found, Begun)
    assert found.applied == {"path": "a", "n": 3, "t": [1, 2], "s": ["x"], "d": {"1": 2.0}}


def test_a_voice_crosses_only_by_its_name_or_as_a_file() -> None:
    reference = Reference(np.ones(10, np.float32), 8_000)
    voice = Voice("me", ToneEngine().encode_voice(reference, "auto"))
    with pytest.raises(FrameError, match="by its name"):
        messages.encode(Ask(1, SpeechRequest("x", voice=voice)))


@pytest.mark.parametrize("message", TO_PROCESS)
def test_the_server_takes_nothing_that_only_it_may_send(message: ToProcess) -> None:
    with pytest.raises(FrameError, match="may not come here"):
        from_process(messages.encode(message))


@pytest.mark.parametrize("message", FROM_PROCESS)
def test_the_process_takes_nothing_that_only_it_may_send(message: FromProcess) -> None:
    with pytest.raises(FrameError, match="may not come here"):
        to_process(messages.encode(message))


@pytest.mark.parametrize(
    "frame",
    [
        Frame({}),
        Frame({"type": "nothing"}),
        Frame({"type": "begun", "key": "1", "applied": {}, "rate": 1, "seed": 1}),
        Frame({"type": "chunk", "key": 1, "rate": 1, "segment": 0, "final": True}, b"12345"),
        Frame({"type": "ended", "key": 1, "finish": "bored", "applied": {}, "error": None}),
        Frame({"type": "memory", "rss_bytes": 1.5, "live": 0}),
    ],
)
def test_a_message_that_is_not_whole_is_refused(frame: Frame) -> None:
    with pytest.raises(FrameError):
        messages.from_process(frame)


@pytest.mark.parametrize("name", registry.names())
def test_the_facts_of_every_engine_cross(name: str, tmp_path: Path) -> None:
    engine_class = registry.engine_class(name)
    facts = facts_of(engine_class.describe(engine_class.tiny(tmp_path), {}))
    [ready] = from_process(messages.encode(Ready(facts)))
    assert isinstance(ready, Ready)
    assert ready.facts == facts


def test_facts_with_odd_values_are_refused() -> None:
    good = facts_wire.to_json(facts_of(ToneEngine().spec))
    for name, odd in (
        ("native_speed", [1.0]),
        ("options", [{}]),
        ("voices", ["x"]),
        ("reference", {}),
        ("reference", {**asdict(RULES), "transcript": "perhaps"}),
        ("reference", {**asdict(RULES), "good_s": [1.0, "x"]}),
    ):
        with pytest.raises(FrameError):
            facts_wire.from_json(Frame({**good, name: odd}))
