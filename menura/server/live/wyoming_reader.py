"""The events of a Wyoming peer, read with a cap on every length and on the time.

An event is a line of JSON, then `data_length` bytes of JSON, then `payload_length` bytes of
anything. The library's own parser believes all three, so a peer could fill the memory with one
line. Here a length over its cap, below zero or of another type ends the connection. Payloads are
read and dropped: no event that a speaker is sent needs one.
"""

import asyncio
from collections.abc import Mapping

from wyoming.event import Event

from menura.errors import InvalidValueError
from menura.server.border.json_body import parse

MAX_LINE_BYTES = 65_536
MAX_DATA_BYTES = 524_288
MAX_PAYLOAD_BYTES = 65_536
_PIECE_BYTES = 16_384


async def read_event(reader: asyncio.StreamReader, first: bytes, limit_s: float) -> Event:
    """The event that begins with the byte `first`; its line is at most the reader's limit long.

    Raises: Problem, InvalidValueError: it is no event, or over a cap; EOFError: the peer went
        in the middle of it; TimeoutError: it was not complete after `limit_s`.
    """
    async with asyncio.timeout(limit_s):
        head = _object(await _line(reader, first), "the line of an event")
        data_length = _length(head, "data_length", MAX_DATA_BYTES)
        payload_length = _length(head, "payload_length", MAX_PAYLOAD_BYTES)
        data = dict(_inner_object(head))
        if data_length:
            data |= _object(await reader.readexactly(data_length), "the data of an event")
        await _drop(reader, payload_length)
    kind = head.get("type")
    if not isinstance(kind, str):
        raise InvalidValueError("an event needs a type, a text.", param="type")
    return Event(kind, data)


async def _line(reader: asyncio.StreamReader, first: bytes) -> bytes:
    if first == b"\n":
        return first
    try:
        return first + await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError as error:
        raise InvalidValueError(
            f"the line of an event is over {MAX_LINE_BYTES:,} bytes: put long data after the line, "
            "and its length into data_length."
        ) from error


def _object(given: bytes, what: str) -> Mapping[str, object]:
    found = parse(given)
    if not isinstance(found, dict):
        raise InvalidValueError(f"{what} must be a JSON object.")
    return found


def _inner_object(head: Mapping[str, object]) -> Mapping[str, object]:
    data = head.get("data")
    if data is not None and not isinstance(data, dict):
        raise InvalidValueError("data must be a JSON object.", param="data")
    return data or {}


def _length(head: Mapping[str, object], name: str, maximum: int) -> int:
    value = head.get(name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= maximum:
        raise InvalidValueError(
            f"{name} is not allowed: it must be a whole number from 0 to {maximum:,}.", param=name
        )
    return value


async def _drop(reader: asyncio.StreamReader, n_bytes: int) -> None:
    while n_bytes:
        piece = await reader.read(min(n_bytes, _PIECE_BYTES))
        if not piece:
            raise asyncio.IncompleteReadError(b"", n_bytes)
        n_bytes -= len(piece)
