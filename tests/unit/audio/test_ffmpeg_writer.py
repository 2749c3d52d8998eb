"""Lengths, tails and tags of the coded formats, by two decoders that know nothing of Menura."""

import io
import struct
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest
import soundfile

from menura.audio.encoders import FORMATS, Encoder, Tags, encode_stream
from menura.audio.pcm import FloatArray, to_s16
from menura.audio.tags import MARK_FIELD, NO_TAGS, read_mark, synthetic_mark
from tests.unit.audio.reference_decoders import (
    Decoded,
    by_av,
    by_soundfile,
    silence_between_tones,
    tags_by_av,
    tone,
)

MP3_PRIMING = 1_105
AAC_PRIMING = 1_024
LAME_TAIL = 47
STREAMINFO_END = 42
MARK = synthetic_mark("menura/0.1.0", voice="heart")
TAGS = Tags(title="Tïtle", artist="Ann", comment="hello", synthetic=MARK)


def file_bytes(samples: FloatArray, name: str, rate_hz: int, tags: Tags = NO_TAGS) -> bytes:
    sink = io.BytesIO()
    with Encoder(sink, name, rate_hz, tags=tags) as encoder:
        encoder.write(samples)
    return sink.getvalue()


def stream_bytes(samples: FloatArray, name: str, rate_hz: int, tags: Tags = NO_TAGS) -> bytes:
    pieces = [samples[start : start + 1_920] for start in range(0, samples.size, 1_920)]
    return b"".join(encode_stream(pieces, name, rate_hz, tags))


def same_at_the_end(decoded: FloatArray, samples: FloatArray) -> bool:
    """Whether the last 50 ms correlate as only the same tone in the same place does."""
    last = slice(samples.size - 1_200, samples.size)
    return bool(np.corrcoef(decoded[last], samples[last])[0, 1] > 0.95)


def decoded_by(data: bytes, name: str) -> list[Decoded]:
    """By both decoders; libsndfile knows neither aac nor m4a."""
    both = (by_av,) if name in {"aac", "m4a"} else (by_av, by_soundfile)
    return [decode(data) for decode in both]


@pytest.mark.parametrize("rate_hz", [24_000, 44_100])
@pytest.mark.parametrize("seconds", [0.1, 3.0, pytest.param(600.0, marks=pytest.mark.slow)])
def test_flac_is_exact_to_the_sample(rate_hz: int, seconds: float) -> None:
    samples = tone(round(seconds * rate_hz), rate_hz)
    file = file_bytes(samples, "flac", rate_hz)
    for decoded in decoded_by(file, "flac"):
        assert decoded.rate_hz == rate_hz
        assert np.array_equal(to_s16(decoded.samples), to_s16(samples))
    streamed = stream_bytes(samples, "flac", rate_hz)
    assert streamed[STREAMINFO_END:] == file[STREAMINFO_END:]
    assert np.array_equal(by_av(streamed).samples, by_av(file).samples)


@pytest.mark.parametrize("rate_hz", [24_000, 44_100])
@pytest.mark.parametrize("seconds", [0.1, 3.0])
def test_opus_has_the_exact_length_and_its_tail(rate_hz: int, seconds: float) -> None:
    check_opus(tone(round(seconds * rate_hz), rate_hz), rate_hz)


@pytest.mark.slow
def test_ten_minutes_of_opus() -> None:
    check_opus(silence_between_tones(600.0, 24_000), 24_000)


def check_opus(samples: FloatArray, rate_hz: int) -> None:
    codec_hz = 24_000 if rate_hz == 24_000 else 48_000
    n_coded = round(samples.size * codec_hz / rate_hz)
    for data in (file_bytes(samples, "opus", rate_hz), stream_bytes(samples, "opus", rate_hz)):
        assert last_granule(data) - pre_skip(data) == n_coded * 48_000 // codec_hz
        av_samples, sndfile = decoded_by(data, "opus")
        assert av_samples.samples.size == n_coded * 48_000 // codec_hz
        assert (sndfile.samples.size, sndfile.rate_hz) == (n_coded, codec_hz)
        if codec_hz == rate_hz:
            assert same_at_the_end(sndfile.samples, samples)


def pre_skip(ogg: bytes) -> int:
    (found,) = struct.unpack_from("<H", ogg, ogg.index(b"OpusHead") + 10)
    assert isinstance(found, int)
    return found


def last_granule(ogg: bytes) -> int:
    at = ogg.rindex(b"OggS")
    assert ogg[at + 5] & 0x04, "the last page does not end the stream"
    (found,) = struct.unpack_from("<q", ogg, at + 6)
    assert isinstance(found, int)
    return found


@pytest.mark.parametrize(("rate_hz", "frame"), [(24_000, 576), (44_100, 1_152)])
@pytest.mark.parametrize("seconds", [0.1, 3.0])
def test_mp3_is_within_its_priming_and_a_frame(rate_hz: int, frame: int, seconds: float) -> None:
    check_mp3(tone(round(seconds * rate_hz), rate_hz), rate_hz, frame)


@pytest.mark.slow
def test_ten_minutes_of_mp3() -> None:
    check_mp3(silence_between_tones(600.0, 24_000), 24_000, 576)


def check_mp3(samples: FloatArray, rate_hz: int, frame: int) -> None:
    for decoded in decoded_by(file_bytes(samples, "mp3", rate_hz), "mp3"):
        assert decoded.rate_hz == rate_hz
        assert 0 <= decoded.samples.size - samples.size <= LAME_TAIL
        assert same_at_the_end(decoded.samples, samples)
    for decoded in decoded_by(stream_bytes(samples, "mp3", rate_hz), "mp3"):
        unprimed = decoded.samples[MP3_PRIMING:]
        assert 0 <= unprimed.size - samples.size < frame + LAME_TAIL
        assert same_at_the_end(unprimed, samples)


@pytest.mark.parametrize("rate_hz", [24_000, 44_100])
@pytest.mark.parametrize("seconds", [0.1, 3.0])
def test_aac_is_within_its_priming_and_a_frame(rate_hz: int, seconds: float) -> None:
    check_aac(tone(round(seconds * rate_hz), rate_hz), rate_hz)


@pytest.mark.slow
def test_ten_minutes_of_aac() -> None:
    check_aac(silence_between_tones(600.0, 24_000), 24_000)


def check_aac(samples: FloatArray, rate_hz: int) -> None:
    for data in (file_bytes(samples, "aac", rate_hz), stream_bytes(samples, "aac", rate_hz)):
        (decoded,) = decoded_by(data, "aac")
        assert decoded.samples.size == 1_024 * n_adts_frames(data)
        unprimed = decoded.samples[AAC_PRIMING:]
        assert 0 <= unprimed.size - samples.size < 1_024
        assert same_at_the_end(unprimed, samples)


def n_adts_frames(data: bytes) -> int:
    """The frames, counted by their own headers; their lengths must lead exactly to the end."""
    n_frames = at = 0
    while at < len(data):
        assert data[at : at + 2] == b"\xff\xf1"
        at += (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5
        n_frames += 1
    assert at == len(data)
    return n_frames


@pytest.mark.parametrize("rate_hz", [24_000, 44_100])
@pytest.mark.parametrize("seconds", [0.1, 3.0])
def test_m4a_hides_its_priming_and_states_the_exact_length(rate_hz: int, seconds: float) -> None:
    check_m4a(tone(round(seconds * rate_hz), rate_hz), rate_hz)


@pytest.mark.slow
def test_ten_minutes_of_m4a() -> None:
    check_m4a(silence_between_tones(600.0, 24_000), 24_000)


def check_m4a(samples: FloatArray, rate_hz: int) -> None:
    file = file_bytes(samples, "m4a", rate_hz)
    edit = file.index(b"elst") + 12
    assert struct.unpack_from(">Ii", file, edit) == (samples.size, AAC_PRIMING)
    for data in (file, stream_bytes(samples, "m4a", rate_hz)):
        (decoded,) = decoded_by(data, "m4a")
        assert 0 <= decoded.samples.size - samples.size < 1_024
        assert same_at_the_end(decoded.samples, samples)


def test_a_streamed_mp3_has_no_length_frame_and_a_file_has_one() -> None:
    samples = tone(24_000, 24_000)
    assert b"Info" in file_bytes(samples, "mp3", 24_000)[:600]
    streamed = stream_bytes(samples, "mp3", 24_000)
    assert b"Info" not in streamed
    assert b"Xing" not in streamed


@pytest.mark.parametrize(
    ("name", "start"),
    [("flac", b"fLaC"), ("opus", b"OggS"), ("m4a", b"ftyp"), ("aac", b"\xff\xf1"), ("mp3", b"ID3")],
)
def test_a_stream_is_one_container(name: str, start: bytes) -> None:
    data = stream_bytes(tone(72_000, 24_000), name, 24_000, TAGS)
    assert start in data[:8]
    head = {"opus": b"OpusHead", "m4a": b"moov", "flac": b"fLaC", "mp3": b"ID3"}.get(name)
    assert head is None or data.count(head) == 1


@pytest.mark.parametrize("encode", [file_bytes, stream_bytes])
@pytest.mark.parametrize("name", ["wav", "flac", "opus", "mp3", "m4a"])
def test_title_artist_comment_and_mark_are_read_back(
    name: str, encode: Callable[[FloatArray, str, int, Tags], bytes]
) -> None:
    found = tags_by_av(encode(tone(24_000, 24_000), name, 24_000, TAGS))
    assert (found["title"], found["artist"]) == ("Tïtle", "Ann")
    assert found["comment"] == f"hello\n{MARK}"
    assert read_mark(found["comment"]) == read_mark(MARK)
    if name in {"flac", "opus", "mp3"}:
        assert found[MARK_FIELD.lower()] == MARK


@pytest.mark.parametrize("name", ["wav", "flac", "opus", "mp3"])
def test_a_second_reader_finds_the_title_and_the_bytes_of_the_mark(name: str) -> None:
    data = file_bytes(tone(24_000, 24_000), name, 24_000, TAGS)
    with soundfile.SoundFile(io.BytesIO(data)) as file:
        assert file.title == "Tïtle"
    fields = {
        "wav": b"hello\n" + MARK.encode() + b"\0",
        "flac": b"SYNTHETIC_SPEECH=" + MARK.encode(),
        "opus": b"SYNTHETIC_SPEECH=" + MARK.encode(),
        "mp3": b"TXXX\0\0\0\x70\0\0\0SYNTHETIC_SPEECH\0" + MARK.encode(),
    }
    assert fields[name] in data


@pytest.mark.parametrize("name", FORMATS)
def test_no_library_version_is_written_and_equal_samples_give_equal_bytes(name: str) -> None:
    data = file_bytes(tone(24_000, 24_000), name, 24_000)
    assert data == file_bytes(tone(24_000, 24_000), name, 24_000)
    for version in (b"Lavf6", b"Lavc6", b"libsndfile"):
        assert version not in data


@pytest.mark.parametrize("name", ["opus", "mp3", "aac", "m4a", "flac"])
def test_a_stream_gives_bytes_at_least_every_second_80_ms_piece(name: str) -> None:
    n_given = 0

    def pieces() -> Iterator[FloatArray]:
        nonlocal n_given
        for _ in range(100):
            n_given += 1_920
            yield tone(1_920, 24_000)

    given_at_output = [n_given for _ in encode_stream(pieces(), name, 24_000)]
    assert given_at_output[-1] == 192_000
    assert max(later - earlier for earlier, later in pairwise([0, *given_at_output])) <= 3_840


@pytest.mark.parametrize("name", ["opus", "mp3", "aac", "m4a"])
@pytest.mark.parametrize("rate_hz", [8_000, 11_025, 16_000, 22_050, 48_000, 96_000, 192_000])
def test_other_rates_reach_a_rate_of_the_codec(name: str, rate_hz: int) -> None:
    data = file_bytes(tone(rate_hz, rate_hz), name, rate_hz)
    decoded = by_av(data)
    seconds = decoded.samples.size / decoded.rate_hz
    assert 1.0 <= seconds < 1.0 + 2_048 / decoded.rate_hz + 1e-9


def test_every_codec_page_of_an_opus_stream_is_in_order() -> None:
    data = stream_bytes(tone(24_000, 24_000), "opus", 24_000)
    granules = []
    at = data.find(b"OggS")
    while at >= 0:
        granules.append(struct.unpack_from("<q", data, at + 6)[0])
        at = data.find(b"OggS", at + 4)
    assert all(earlier <= later for earlier, later in pairwise(granules))
    assert len(granules) >= 50
