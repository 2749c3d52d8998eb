"""Frames on a pipe: a JSON head and raw bytes behind it, both bounded before they are read.

A frame is: the head's length and the payload's, each 4 bytes, little-endian; the head, a JSON
object in ASCII; the payload, bytes whose meaning the head tells. Whoever meets a wrong frame stops
reading: after it, nothing on the pipe can be trusted.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, BinaryIO, TypeVar

if TYPE_CHECKING:
    from asyncio import StreamReader

MAX_HEAD_BYTES = 16 * 2**20
MAX_PAYLOAD_BYTES = 16 * 2**20
_SIZES = Struct("<II")
_Value = TypeVar("_Value")


class FrameError(ValueError):
    """What came over the pipe is no frame, or not one that may come here."""


@dataclass(frozen=True)
class Frame:
    """A head, whose values are read with a type each, and the payload behind it.

    All methods raise FrameError where the value is missing or of another type.
    """

    head: Mapping[str, object]
    payload: bytes = b""

    def whole(self, name: str) -> int:
        """The whole number of this name."""
        return self._of(int, name)

    def number(self, name: str) -> float:
        """The number of this name."""
        is_whole = type(self.head.get(name)) is int
        return float(self.whole(name)) if is_whole else self._of(float, name)

    def flag(self, name: str) -> bool:
        """The flag of this name."""
        return self._of(bool, name)

    def text(self, name: str) -> str:
        """The text of this name."""
        return self._of(str, name)

    def has(self, name: str) -> bool:
        """Whether there is a value of this name that is not null."""
        return self.head.get(name) is not None

    def named(self, name: str) -> dict[str, object]:
        """The object of this name, as it stands."""
        return self._of(dict, name)

    def inside(self, name: str) -> "Frame":
        """The object of this name, to be read with types too."""
        return Frame(self.named(name))

    def listed(self, name: str) -> list[object]:
        """The list of this name, as it stands."""
        return self._of(list, name)

    def all_inside(self, name: str) -> "list[Frame]":
        """The objects in the list of this name, to be read with types too."""
        return [Frame({name: entry}).inside(name) for entry in self.listed(name)]

    def texts(self, name: str) -> tuple[str, ...]:
        """The texts in the list of this name."""
        return tuple(Frame({name: entry}).text(name) for entry in self.listed(name))

    def _of(self, kind: type[_Value], name: str) -> _Value:
        found = self.head.get(name)
        if type(found) is not kind:  # a flag is an int too, and must not pass for one
            what = "is missing" if found is None else f"is a {type(found).__name__}"
            raise FrameError(f"{name!r} {what}; it must be a {kind.__name__}")
        return found


def pack(head: Mapping[str, object], payload: bytes = b"") -> bytes:
    """The frame's bytes. Raises: FrameError: a part is over its cap."""
    text = json.dumps(head, separators=(",", ":")).encode("ascii")
    _check_sizes(len(text), len(payload))
    return b"".join((_SIZES.pack(len(text), len(payload)), text, payload))


def read(stream: BinaryIO) -> Frame | None:
    """The next frame of a stream, raw or buffered; None where it has ended between two frames.

    Raises: FrameError: it ends inside one, or this is none.
    """
    prefix = _exactly(stream, _SIZES.size)
    if not prefix:
        return None
    if len(prefix) < _SIZES.size:
        raise FrameError("the stream ended inside a frame")
    n_head, n_payload = _sizes(prefix)
    body = _exactly(stream, n_head + n_payload)
    if len(body) < n_head + n_payload:
        raise FrameError("the stream ended inside a frame")
    return _frame(body, n_head)


async def read_from(reader: "StreamReader") -> Frame | None:
    """The next frame, as `read` gives it."""
    try:
        prefix = await reader.readexactly(_SIZES.size)
    except EOFError as error:  # asyncio's IncompleteReadError, which has what came
        if getattr(error, "partial", b""):
            raise FrameError("the stream ended inside a frame") from error
        return None
    n_head, n_payload = _sizes(prefix)
    try:
        body = await reader.readexactly(n_head + n_payload)
    except EOFError as error:
        raise FrameError("the stream ended inside a frame") from error
    return _frame(body, n_head)


def _exactly(stream: BinaryIO, n_bytes: int) -> bytes:
    """So many bytes, or fewer where the stream ends; a raw stream gives them in parts."""
    parts: list[bytes] = []
    while n_bytes > 0 and (part := stream.read(n_bytes)):
        parts.append(part)
        n_bytes -= len(part)
    return b"".join(parts)


def _sizes(prefix: bytes) -> tuple[int, int]:
    n_head, n_payload = _SIZES.unpack(prefix)
    _check_sizes(n_head, n_payload)
    return n_head, n_payload


def _check_sizes(n_head: int, n_payload: int) -> None:
    if n_head > MAX_HEAD_BYTES or n_payload > MAX_PAYLOAD_BYTES:
        raise FrameError(
            f"a head of {n_head} and a payload of {n_payload} bytes: at most {MAX_HEAD_BYTES} and "
            f"{MAX_PAYLOAD_BYTES} are allowed"
        )


def _frame(body: bytes, n_head: int) -> Frame:
    try:
        head = json.loads(body[:n_head].decode("ascii"))
    except (ValueError, RecursionError) as error:  # not ASCII, not JSON, or nested without end
        raise FrameError(f"the head is no JSON ({type(error).__name__})") from error
    if not isinstance(head, dict):
        raise FrameError("the head is no JSON object")
    return Frame(head, body[n_head:])
