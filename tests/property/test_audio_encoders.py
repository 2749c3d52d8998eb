"""What an encoder writes does not depend on how the samples were cut, and its lengths hold."""

import io

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from menura.audio.encoders import FORMATS, Encoder, encode_stream
from menura.audio.pcm import FloatArray, to_s16
from tests.unit.audio.reference_decoders import by_av, by_soundfile

RATES_HZ = st.sampled_from([8_000, 16_000, 24_000, 44_100, 48_000])


def noise(n_samples: int) -> FloatArray:
    rng = np.random.default_rng(n_samples)
    return (0.2 * rng.standard_normal(n_samples)).astype(np.float32)


def pieces(samples: FloatArray, cuts: list[int]) -> list[FloatArray]:
    return np.split(samples, sorted(min(cut, samples.size) for cut in cuts))


def file_bytes(parts: list[FloatArray], name: str, rate_hz: int) -> bytes:
    sink = io.BytesIO()
    with Encoder(sink, name, rate_hz) as encoder:
        for part in parts:
            encoder.write(part)
    return sink.getvalue()


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(FORMATS)),
    rate_hz=RATES_HZ,
    n_samples=st.integers(0, 12_000),
    cuts=st.lists(st.integers(0, 12_000), max_size=6),
)
def test_the_bytes_do_not_depend_on_the_cuts(
    name: str, rate_hz: int, n_samples: int, cuts: list[int]
) -> None:
    samples = noise(n_samples)
    parts = pieces(samples, cuts)
    assert file_bytes(parts, name, rate_hz) == file_bytes([samples], name, rate_hz)
    assert b"".join(encode_stream(parts, name, rate_hz)) == b"".join(
        encode_stream([samples], name, rate_hz)
    )


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(["wav", "flac"]), rate_hz=RATES_HZ, n_samples=st.integers(1, 12_000))
def test_lossless_files_hold_exactly_the_samples(name: str, rate_hz: int, n_samples: int) -> None:
    samples = noise(n_samples)
    data = file_bytes([samples], name, rate_hz)
    for decoded in (by_av(data), by_soundfile(data)):
        np.testing.assert_array_equal(to_s16(decoded.samples), to_s16(samples))


@settings(max_examples=40, deadline=None)
@given(rate_hz=RATES_HZ, n_samples=st.integers(1, 12_000))
def test_opus_has_the_exact_length(rate_hz: int, n_samples: int) -> None:
    codec_hz = 48_000 if rate_hz == 44_100 else rate_hz
    n_coded = (2 * n_samples * codec_hz + rate_hz) // (2 * rate_hz)
    data = b"".join(encode_stream([noise(n_samples)], "opus", rate_hz))
    assert by_av(data).samples.size == n_coded * 48_000 // codec_hz
    assert by_soundfile(data).samples.size == n_coded


@settings(max_examples=40, deadline=None)
@given(
    rate_hz=st.sampled_from([8_000, 24_000, 44_100, 48_000]), n_samples=st.integers(2_400, 12_000)
)
def test_mp3_and_aac_end_within_a_frame_of_the_speech(rate_hz: int, n_samples: int) -> None:
    samples = noise(n_samples)
    mp3_frame = 1_152 if rate_hz >= 32_000 else 576
    mp3 = by_av(b"".join(encode_stream([samples], "mp3", rate_hz)), "mp3").samples.size
    assert 0 <= mp3 - 1_105 - n_samples < mp3_frame + 47
    # FFmpeg does not recognise every mp3 of a few frames by itself, so it is told.
    whole = by_av(file_bytes([samples], "mp3", rate_hz), "mp3").samples.size
    assert 0 <= whole - n_samples <= 47
    aac = by_av(file_bytes([samples], "aac", rate_hz)).samples.size
    assert 0 <= aac - 1_024 - n_samples < 1_024
