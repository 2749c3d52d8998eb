import io
import struct

import numpy as np
import pytest

from menura.audio.pcm import FloatArray
from menura.audio.riff import PcmWriter, WavWriter
from menura.audio.tags import NO_TAGS, Tags
from tests.unit.audio.reference_decoders import by_av, by_soundfile, tags_by_av, tone

RATE_HZ = 24_000
RIFF_SIZE_OF_RF64 = 0xFFFF_FFFF


def wav_bytes(
    samples: FloatArray,
    tags: Tags = NO_TAGS,
    *,
    streamed: bool = False,
    max_riff_bytes: int = 0xFFFF_FFFE,
) -> bytes:
    sink = io.BytesIO()
    writer = WavWriter(sink, RATE_HZ, tags, streamed=streamed, max_riff_bytes=max_riff_bytes)
    writer.write(samples)
    writer.close()
    return sink.getvalue()


def chunks_of(data: bytes) -> dict[bytes, bytes]:
    found = {}
    at = 12
    while at < len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        found[name] = data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
    return found


def test_a_streamed_wav_is_44_bytes_of_unknown_length_and_samples() -> None:
    samples = np.array([0.0, 0.5, -1.0], np.float32)
    assert wav_bytes(samples, streamed=True) == (
        b"RIFF\xff\xff\xff\xffWAVE"
        b"fmt \x10\0\0\0\x01\0\x01\0\xc0\x5d\0\0\x80\xbb\0\0\x02\0\x10\0"
        b"data\xff\xff\xff\xff"
        b"\x00\x00\x00\x40\x00\x80"
    )


def test_a_file_holds_its_true_sizes() -> None:
    data = wav_bytes(tone(2_400, RATE_HZ), Tags(title="T"))
    assert struct.unpack_from("<4sI4s", data) == (b"RIFF", len(data) - 8, b"WAVE")
    chunks = chunks_of(data)
    assert list(chunks) == [b"JUNK", b"fmt ", b"LIST", b"data"]
    assert len(chunks[b"data"]) == 4_800


def test_a_file_that_grows_past_the_limit_becomes_rf64() -> None:
    samples = tone(2_400, RATE_HZ)
    data = wav_bytes(samples, Tags(title="T"), max_riff_bytes=4_800)
    assert struct.unpack_from("<4sI4s4sI", data) == (
        b"RF64",
        RIFF_SIZE_OF_RF64,
        b"WAVE",
        b"ds64",
        28,
    )
    assert struct.unpack_from("<QQQI", data, 20) == (len(data) - 8, 4_800, 2_400, 0)
    for decoded in (by_soundfile(data), by_av(data)):
        np.testing.assert_allclose(decoded.samples, samples, atol=1 / 65_536)


@pytest.mark.parametrize(("max_riff_bytes", "magic"), [(4_872, b"RIFF"), (4_871, b"RF64")])
def test_the_limit_itself_still_fits(max_riff_bytes: int, magic: bytes) -> None:
    data = wav_bytes(tone(2_400, RATE_HZ), max_riff_bytes=max_riff_bytes)
    assert len(data) - 8 == 4_872
    assert data.startswith(magic)


@pytest.mark.slow
def test_four_gib_of_samples_are_rf64_without_being_told() -> None:
    sink = CountingSink()
    writer = WavWriter(sink, RATE_HZ, NO_TAGS, streamed=False)
    block = np.zeros(2**14, np.float32)
    for _ in range(2**17):
        writer.write(block)
    writer.close()
    assert sink.n_bytes == 2**32 + 80
    assert struct.unpack_from("<4sI4s4sI", sink.header) == (
        b"RF64",
        RIFF_SIZE_OF_RF64,
        b"WAVE",
        b"ds64",
        28,
    )
    assert struct.unpack_from("<QQQI", sink.header, 20) == (2**32 + 72, 2**32, 2**31, 0)


class CountingSink:
    """A file that forgets all but its first bytes."""

    def __init__(self) -> None:
        self.header = b""
        self.n_bytes = 0
        self._at = 0

    def write(self, data: bytes, /) -> None:
        if self._at == 0:
            self.header = data
        self._at += len(data)
        self.n_bytes = max(self.n_bytes, self._at)

    def seek(self, offset: int, whence: int = 0, /) -> int:
        assert whence == 0
        self._at = offset
        return offset

    def tell(self) -> int:
        return self._at

    def seekable(self) -> bool:
        return True


def test_an_empty_wav_is_valid() -> None:
    sink = io.BytesIO()
    WavWriter(sink, RATE_HZ, NO_TAGS, streamed=False).close()
    for decoded in (by_soundfile(sink.getvalue()), by_av(sink.getvalue())):
        assert decoded.samples.size == 0
    assert chunks_of(sink.getvalue())[b"data"] == b""


def test_a_wav_inside_a_longer_file_patches_its_own_header() -> None:
    sink = io.BytesIO()
    sink.write(b"before")
    writer = WavWriter(sink, RATE_HZ, NO_TAGS, streamed=False)
    writer.write(tone(10, RATE_HZ))
    writer.close()
    assert sink.getvalue() == b"before" + wav_bytes(tone(10, RATE_HZ))


@pytest.mark.parametrize("title", ["T", "Tï", "odd", "even"])
def test_tags_of_any_length_leave_the_samples_where_they_belong(title: str) -> None:
    data = wav_bytes(tone(10, RATE_HZ), Tags(title=title, artist="A", comment="C"))
    assert by_soundfile(data).samples.size == 10
    assert {**tags_by_av(data)} == {"title": title, "artist": "A", "comment": "C"}


def test_pcm_is_nothing_but_samples() -> None:
    sink = io.BytesIO()
    writer = PcmWriter(sink)
    writer.write(np.array([0.5, -0.5], np.float32))
    writer.close()
    assert sink.getvalue() == b"\x00\x40\x00\xc0"
