"""Whatever the bytes are, decoding gives finite samples within the caps or one of two errors."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from menura.audio.decode import AudioCaps, decode
from menura.audio.encoders import encode_stream
from menura.errors import AudioTooLargeError, UnreadableAudioError

CAPS = AudioCaps(max_seconds=2.0)
NAMES = ("wav", "flac", "opus", "mp3", "aac", "m4a")
SEEDS = {
    name: b"".join(encode_stream([np.full(12_000, 0.1, np.float32)], name, 24_000))
    for name in NAMES
}


def check(data: bytes) -> None:
    try:
        found = decode(data, CAPS)
    except (UnreadableAudioError, AudioTooLargeError):
        return
    assert found.samples.ndim == 1
    assert found.samples.size > 0
    assert np.isfinite(found.samples).all()
    assert found.seconds <= CAPS.max_seconds
    assert found.n_channels <= CAPS.max_channels
    assert CAPS.min_rate_hz <= found.sample_rate_hz <= CAPS.max_rate_hz


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    changes=st.lists(st.tuples(st.integers(0, 2_000), st.integers(0, 255)), max_size=8),
    kept=st.floats(0.0, 1.0),
)
def test_damaged_files(name: str, changes: list[tuple[int, int]], kept: float) -> None:
    data = bytearray(SEEDS[name])
    for at, value in changes:
        data[at % len(data)] = value
    check(bytes(data[: round(kept * len(data))]))


@settings(max_examples=200, deadline=None)
@given(
    head=st.sampled_from([b"RIFF\x24\0\0\0WAVEfmt ", b"fLaC", b"OggS", b"\xff\xfb", b"\xff\xf1",
                          b"\0\0\0\x1cftypM4A ", b"\x1a\x45\xdf\xa3", b"FORM\0\0\0\0AIFF", b"caff",
                          b".snd", b"#!AMR\n", b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", b"ID3\x04"]),
    rest=st.binary(max_size=300),
)  # fmt: skip
def test_noise_behind_every_magic_number(head: bytes, rest: bytes) -> None:
    check(head + rest)
