import asyncio
import json
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wyoming.event import Event

from menura.errors import InvalidValueError, MenuraError
from menura.server.border.problems import Problem
from menura.server.live.wyoming_reader import (
    MAX_DATA_BYTES,
    MAX_LINE_BYTES,
    MAX_PAYLOAD_BYTES,
    read_event,
)

WRONG_LENGTHS: tuple[object, ...] = (10**12, -1, "5", 1.5, True, [1], {})


def read(sent: bytes, *, at_end: bool = True, limit_s: float = 30.0) -> tuple[Event, bytes]:
    """The first event in the bytes, and what is left of them."""

    async def reading() -> tuple[Event, bytes]:
        reader = asyncio.StreamReader(limit=MAX_LINE_BYTES)
        reader.feed_data(sent)
        if at_end:
            reader.feed_eof()
        event = await read_event(reader, await reader.read(1), limit_s)
        return event, await reader.read() if at_end else b""

    return asyncio.run(reading())


def line(**head: object) -> bytes:
    return json.dumps(head).encode() + b"\n"


def test_an_event_is_its_line_and_its_data_merged_and_its_payload_dropped() -> None:
    data = json.dumps({"text": "é", "b": 2}).encode()
    head = line(type="x", data={"a": 1, "b": 1}, data_length=len(data), payload_length=3)
    event, rest = read(head + data + b"abc" + b"next")
    assert event == Event("x", {"a": 1, "b": 2, "text": "é"}, None)
    assert rest == b"next"


def test_the_largest_lengths_are_read() -> None:
    data = b'{"a":"' + b"x" * (MAX_DATA_BYTES - 8) + b'"}'
    head = line(type="x", data_length=len(data), payload_length=MAX_PAYLOAD_BYTES)
    event, rest = read(head + data + bytes(MAX_PAYLOAD_BYTES) + b"!")
    assert len(event.data["a"]) == MAX_DATA_BYTES - 8
    assert rest == b"!"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("data_length", MAX_DATA_BYTES + 1),
        ("payload_length", MAX_PAYLOAD_BYTES + 1),
        *product(("data_length", "payload_length"), WRONG_LENGTHS),
    ],
)
def test_a_wrong_length_is_refused_before_anything_of_it_is_read(name: str, value: object) -> None:
    with pytest.raises(InvalidValueError) as caught:
        read(line(type="x", **{name: value}), at_end=False)
    assert caught.value.param == name


def test_a_line_without_an_end_is_refused_at_its_cap() -> None:
    with pytest.raises(InvalidValueError, match="the line of an event is over"):
        read(b'{"type": "' + b"x" * 2 * MAX_LINE_BYTES, at_end=False)


@pytest.mark.parametrize(
    "sent",
    [
        b"\n", b"{}\n", b"[]\n", b"null\n", b'{"type": 1}\n', b'{"type": "x", "data": []}\n',
        b'{"type": "x", "data_length": 2}\n[]', b'{"type": "x", "data_length": 1}\n{',
        b"\xff\xfe\n", b"[" * 60_000 + b"\n", b'{"type": "x", "type": "y"}\n', b"GET / HTTP/1.1\n",
    ],
)  # fmt: skip
def test_what_is_no_event_is_refused(sent: bytes) -> None:
    with pytest.raises((InvalidValueError, Problem)):
        read(sent)


@pytest.mark.parametrize(
    "sent",
    [b'{"type"', line(type="x", data_length=5) + b"{", line(type="x", payload_length=5) + b"abcd"],
)
def test_an_end_in_the_middle_is_one(sent: bytes) -> None:
    with pytest.raises(EOFError):
        read(sent)


@pytest.mark.parametrize(
    "sent",
    [b'{"type"', line(type="x", data_length=5) + b"{", line(type="x", payload_length=5) + b"abcd"],
)
def test_an_event_that_does_not_come_to_its_end_is_given_up(sent: bytes) -> None:
    with pytest.raises(TimeoutError):
        read(sent, at_end=False, limit_s=0)


@given(st.binary(max_size=300))
def test_any_bytes_give_an_event_or_one_of_the_known_errors(sent: bytes) -> None:
    if not sent:
        return
    try:
        event, _ = read(sent)
    except (MenuraError, Problem, EOFError):
        return
    assert isinstance(event.type, str)
