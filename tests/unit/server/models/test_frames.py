"""Frames: what is packed is read again, from any stream, and what is wrong is found."""

import asyncio
import io
from collections.abc import Callable
from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from menura.server.models import frames
from menura.server.models.frames import Frame, FrameError

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


class Dripping(io.RawIOBase):
    """A raw stream that gives one byte at a time, as a pipe may."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def read(self, size: int = -1) -> bytes:
        return self._content.read(min(size, 1))


def read_async(content: bytes) -> Frame | None:
    async def read() -> Frame | None:
        reader = asyncio.StreamReader()
        reader.feed_data(content)
        reader.feed_eof()
        return await frames.read_from(reader)

    return asyncio.run(read())


READERS: list[Callable[[bytes], Frame | None]] = [
    lambda content: frames.read(io.BytesIO(content)),
    lambda content: frames.read(Dripping(content)),  # type: ignore[arg-type]
    read_async,
]


@pytest.mark.parametrize("read", READERS)
def test_what_is_packed_is_read_again(read: Callable[[bytes], Frame | None]) -> None:
    head = {"type": "x", "text": "Zoë \ud800 日本", "key": 2**62}
    assert read(frames.pack(head, b"\x00\x01")) == Frame(head, b"\x00\x01")


@given(st.dictionaries(st.text(), _JSON, max_size=4), st.binary(max_size=100))
def test_any_head_and_payload_cross(head: dict[str, object], payload: bytes) -> None:
    stream = io.BytesIO(frames.pack(head, payload) * 2)
    assert frames.read(stream) == frames.read(stream) == Frame(head, payload)
    assert frames.read(stream) is None


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("n_bytes", [1, 7, 8, 12, -1])
def test_an_end_inside_a_frame_is_no_clean_end(
    read: Callable[[bytes], Frame | None], n_bytes: int
) -> None:
    content = frames.pack({"type": "x"}, b"1234")
    with pytest.raises(FrameError, match="ended inside"):
        read(content[:n_bytes])
    assert read(b"") is None


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize(
    "content",
    [
        pack("<II", frames.MAX_HEAD_BYTES + 1, 0) + b"{}",
        pack("<II", 2, frames.MAX_PAYLOAD_BYTES + 1) + b"{}",
        pack("<II", 2**32 - 1, 2**32 - 1),
    ],
)
def test_a_size_over_its_cap_is_refused_before_anything_is_read(
    read: Callable[[bytes], Frame | None], content: bytes
) -> None:
    with pytest.raises(FrameError, match="at most"):
        read(content)


@pytest.mark.parametrize(
    "head", [b"", b"[]", b"3", b"{", b"\xff", "ä".encode(), b"[" * 100_000, b'{"a":1}x']
)
def test_a_head_that_is_no_object_is_refused(head: bytes) -> None:
    with pytest.raises(FrameError, match="head is no JSON"):
        frames.read(io.BytesIO(pack("<II", len(head), 0) + head))


def test_too_much_is_not_packed() -> None:
    with pytest.raises(FrameError, match="at most"):
        frames.pack({}, bytes(frames.MAX_PAYLOAD_BYTES + 1))


FRAME = Frame(
    {"w": 3, "n": 0.5, "f": True, "t": "x", "o": {"a": 1}, "l": [{"a": 1}], "s": ["x"], "z": None}
)


def test_values_are_read_with_their_types() -> None:
    assert FRAME.whole("w") == 3
    assert (FRAME.number("n"), FRAME.number("w")) == (0.5, 3.0)
    assert FRAME.flag("f") is True
    assert FRAME.text("t") == "x"
    assert FRAME.named("o") == {"a": 1}
    assert FRAME.inside("o").whole("a") == 1
    assert FRAME.all_inside("l") == [Frame({"a": 1})]
    assert FRAME.texts("s") == ("x",)
    assert (FRAME.has("w"), FRAME.has("z"), FRAME.has("nothing")) == (True, False, False)


@pytest.mark.parametrize(
    "read",
    [
        lambda frame: frame.whole("f"),
        lambda frame: frame.whole("n"),
        lambda frame: frame.number("f"),
        lambda frame: frame.number("t"),
        lambda frame: frame.flag("w"),
        lambda frame: frame.text("w"),
        lambda frame: frame.text("z"),
        lambda frame: frame.text("nothing"),
        lambda frame: frame.named("l"),
        lambda frame: frame.all_inside("s"),
        lambda frame: frame.texts("l"),
        lambda frame: frame.listed("o"),
    ],
)
def test_another_type_is_refused(read: Callable[[Frame], object]) -> None:
    with pytest.raises(FrameError):
        read(FRAME)
