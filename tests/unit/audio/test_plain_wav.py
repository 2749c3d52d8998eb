"""A plain wav is read as it was written; anything else is told what it should be."""

import io
import struct

import numpy as np
import pytest

from menura.audio.encoders import Encoder
from menura.audio.pcm import FloatArray
from menura.audio.plain_wav import PlainWav, read_header
from menura.errors import AudioTooLargeError, MenuraError, UnreadableAudioError

RAMP = np.linspace(-1, 0.99, 150_000, dtype=np.float32)


def wav(
    data: bytes, *, code: int = 1, channels: int = 1, rate: int = 24_000, bits: int = 16,
    before: bytes = b"", claimed: int | None = None,
) -> bytes:  # fmt: skip
    form = struct.pack("<HHIIHH", code, channels, rate, 0, channels * bits // 8, bits)
    size = len(data) if claimed is None else claimed
    inner = b"fmt " + struct.pack("<I", len(form)) + form + before
    inner += b"data" + struct.pack("<I", size) + data
    return b"RIFF" + struct.pack("<I", 0xFFFF_FFFF) + b"WAVE" + inner


def read(content: bytes) -> tuple[PlainWav, FloatArray]:
    file = io.BytesIO(content)
    header = read_header(file)
    return header, np.concatenate(list(header.blocks(file)))


def test_floats_come_back_as_they_are() -> None:
    header, samples = read(wav(RAMP.tobytes(), code=3, bits=32, rate=44_100))
    assert (header.sample_rate_hz, header.n_samples) == (44_100, RAMP.size)
    assert np.array_equal(samples, RAMP)


def test_what_our_encoder_writes_is_read() -> None:
    sink = io.BytesIO()
    with Encoder(sink, "wav", 24_000) as encoder:
        encoder.write(RAMP)
    _, samples = read(sink.getvalue())
    assert samples.size == RAMP.size
    assert np.abs(samples - RAMP).max() <= 0.5 / 32_768


def test_other_chunks_and_odd_lengths_are_passed_over() -> None:
    odd = b"LIST" + struct.pack("<I", 3) + b"abc\0" + b"JUNK" + struct.pack("<I", 0)
    _, samples = read(wav(struct.pack("<2h", 16_384, -32_768), before=odd))
    assert samples.tolist() == [0.5, -1.0]


@pytest.mark.parametrize("claimed", [0xFFFF_FFFF, 1_000, 4])
def test_a_length_that_is_not_true_gives_what_is_there(claimed: int) -> None:
    _, samples = read(wav(struct.pack("<2h", 1, 2) + b"\1" * (claimed == 1_000), claimed=claimed))
    assert samples.size == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "ends too early"),
        (b"OggS" + b"\0" * 60, "does not begin like one"),
        (wav(b"\0\0")[:30], "ends too early"),
        (wav(b"\0\0\0\0", channels=2), "2 channels of 16 bits"),
        (wav(b"\0\0\0", bits=24), "1 channels of 24 bits"),
        (wav(b"\0\0", code=6), "16 bits"),
        (wav(b"\0\0", channels=0), "0 channels"),
        (wav(b""), "no sample"),
        (wav(b"\0\0", rate=0), "0 Hz"),
        (wav(b"\0\0", rate=2**31), "2147483648 Hz"),
        (b"RIFF\0\0\0\0WAVEdata" + struct.pack("<I", 4) + b"\0" * 4, "before their format"),
        (b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<I", 2**31) + b"\0" * 40, "ends too early"),
        (b"RIFF\0\0\0\0WAVE" + (b"JUNK" + struct.pack("<I", 0)) * 100, "do not begin"),
        (wav(np.array([0, np.nan], np.float32).tobytes(), code=3, bits=32), "NaN"),
    ],
)  # fmt: skip
def test_what_is_no_plain_wav_is_told(content: bytes, words: str) -> None:
    with pytest.raises((UnreadableAudioError, AudioTooLargeError), match=words) as caught:
        read(content)
    assert isinstance(caught.value, MenuraError)
    assert 400 <= caught.value.http_status < 500
