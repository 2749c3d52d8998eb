import io
import struct
import tracemalloc
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
import pytest
import soundfile

from menura.audio.decode import AudioCaps, decode
from menura.audio.encoders import encode_stream
from menura.audio.pcm import FloatArray
from menura.errors import AudioTooLargeError, UnreadableAudioError
from tests.unit.audio.reference_decoders import tone

RATE_HZ = 24_000


def wav(
    data: bytes = bytes(4_800),
    *,
    rate_hz: int = RATE_HZ,
    channels: int = 1,
    bits: int = 16,
    code: int = 1,
    claimed: int | None = None,
) -> bytes:
    claimed = len(data) if claimed is None else claimed
    frame = channels * bits // 8
    return struct.pack(
        "<4sI4s4sIHHIIHH4sI",
        b"RIFF",
        min(36 + claimed, 0xFFFF_FFFF),
        b"WAVE",
        b"fmt ",
        16,
        code,
        channels,
        rate_hz,
        rate_hz * frame & 0xFFFF_FFFF,
        frame & 0xFFFF,
        bits,
        b"data",
        claimed,
    ) + (data)


def floats(*values: float) -> bytes:
    return wav(np.array(values, "<f4").tobytes(), bits=32, code=3)


def written(samples: npt.NDArray[np.float32], container: str, subtype: str | None = None) -> bytes:
    sink = io.BytesIO()
    soundfile.write(sink, samples, RATE_HZ, format=container, subtype=subtype)
    return sink.getvalue()


def webm(samples: FloatArray) -> bytes:
    sink = io.BytesIO()
    with av.open(sink, "w", format="webm") as file:
        stream = file.add_stream("libopus", rate=RATE_HZ)
        assert isinstance(stream, av.AudioStream)
        stream.codec_context.layout = "mono"
        frame = av.AudioFrame.from_ndarray(samples[None], "flt", "mono")
        frame.sample_rate = RATE_HZ
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return sink.getvalue()


def encoded(name: str, n_samples: int = RATE_HZ) -> bytes:
    return b"".join(encode_stream([tone(n_samples, RATE_HZ)], name, RATE_HZ))


def refusal(source: bytes, caps: AudioCaps | None = None) -> str:
    with pytest.raises(UnreadableAudioError) as caught:
        decode(source, caps or AudioCaps())
    return caught.value.message


@pytest.mark.parametrize("container", ["WAV", "RF64", "W64", "FLAC", "AIFF", "AU", "CAF"])
def test_lossless_containers_give_their_samples(container: str) -> None:
    samples = tone(2_400, RATE_HZ)
    found = decode(written(samples, container, "PCM_24"))
    np.testing.assert_allclose(found.samples, samples, atol=2**-23)
    assert (found.sample_rate_hz, found.n_channels) == (RATE_HZ, 1)
    assert found.samples.dtype == np.dtype(np.float32)
    assert found.seconds == 0.1


@pytest.mark.parametrize(
    ("name", "container", "n_more"),
    [("wav", "wav", 0), ("flac", "flac", 0), ("opus", "ogg", 0), ("m4a", "mp4", 1_024),
     ("mp3", "mp3", 1_105 + 576 + 47), ("aac", "aac", 2_048)],
)  # fmt: skip
def test_what_menura_streams_it_reads(name: str, container: str, n_more: int) -> None:
    found = decode(encoded(name))
    assert (found.container, found.sample_rate_hz) == (container, RATE_HZ)
    assert 0 <= found.samples.size - RATE_HZ <= n_more
    assert abs(float(np.sqrt(np.mean(found.samples**2))) - 0.3 / np.sqrt(2)) < 0.02


def test_webm_with_opus() -> None:
    found = decode(webm(tone(RATE_HZ, RATE_HZ)))
    assert (found.container, found.sample_rate_hz) == ("webm", 48_000)
    assert abs(found.seconds - 1.0) < 0.03


def test_ogg_with_vorbis_and_a_stereo_mp3_are_mixed_down() -> None:
    left = tone(RATE_HZ, RATE_HZ)
    stereo = np.stack([left, np.zeros_like(left)], axis=1)
    for data in (written(stereo, "OGG", "VORBIS"), written(stereo, "MP3")):
        found = decode(data)
        assert found.n_channels == 2
        middle = slice(6_000, 18_000)
        np.testing.assert_allclose(found.samples[middle], left[middle] / 2, atol=0.02)


def test_a_mix_is_the_mean_and_does_not_overflow() -> None:
    data = np.array([[0.5, -0.25], [3e38, 3e38]], "<f4").tobytes()
    found = decode(wav(data, channels=2, bits=32, code=3))
    np.testing.assert_array_equal(found.samples, np.array([0.125, 3e38], np.float32))


def test_paths_and_files_give_what_bytes_give(tmp_path: Path) -> None:
    data = written(tone(2_400, RATE_HZ), "FLAC")
    path = tmp_path / "clip.raw"
    path.write_bytes(data)
    skipped = io.BytesIO(b"before" + data)
    skipped.seek(6)
    expected = decode(data).samples
    for source in (path, str(path), skipped):
        np.testing.assert_array_equal(decode(source).samples, expected)
    with path.open("rb", buffering=0) as raw:
        np.testing.assert_array_equal(decode(raw).samples, expected)


@pytest.mark.parametrize(
    ("data", "n_samples"),
    [
        (wav(claimed=0xFFFF_FFF0), 2_400),
        (wav(claimed=0xFFFF_FFFF), 2_400),
        (wav()[:1_001], 478),
        (wav(b"\1\0"), 1),
        (wav(b"\1\0\2"), 1),
        (wav(bytes(2_000)), 1_000),
        (floats(2.5, -3e38), 2),
    ],
)
def test_odd_wavs_give_the_samples_that_are_there(data: bytes, n_samples: int) -> None:
    assert decode(data).samples.shape == (n_samples,)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello world",
        wav(channels=0),
        wav(channels=65_535),
        wav(rate_hz=0),
        wav(rate_hz=1),
        wav(rate_hz=2**31),
        wav(rate_hz=2**32 - 1),
        wav(bits=0),
        wav(b""),
        wav()[:30],
        floats(0.0, float("nan")),
        floats(float("-inf")),
        encoded("m4a")[:900],
        encoded("opus")[:200],
        encoded("flac")[:60],
        b"\xff\xfb\x90\x64" + bytes(400),
    ],
)
def test_damage_is_an_unreadable_audio_error(data: bytes) -> None:
    assert "give" in refusal(data) or "Export it again" in refusal(data)


def test_messages_say_what_was_given_what_is_read_and_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"hello world")
    with pytest.raises(UnreadableAudioError, match=r"notes\.txt' is not in an audio format.*webm"):
        decode(path)
    assert refusal(wav(channels=0)) == (
        "the audio of 4844 bytes begins like wav, but is damaged, cut off, or of a kind that is "
        "not supported. Export it again, for example as wav or flac"
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere/x.wav", "'nowhere/x.wav' could not be read: No such file or directory"),
        ("http://localhost/x.wav", "Links are not opened: download the file first"),
        ("file:///etc/passwd", "Links are not opened"),
        ("a\0b", "could not be read: embedded null"),
        (".", "Is a directory"),
    ],
)
def test_paths_that_cannot_be_read(path: str, message: str) -> None:
    with pytest.raises(UnreadableAudioError, match=message):
        decode(path)


@pytest.mark.parametrize(
    ("data", "caps", "message"),
    [
        (wav(), AudioCaps(max_bytes=4_843), "larger than"),
        (wav(), AudioCaps(max_seconds=0.09), r"longer than 0\.09 s"),
        (wav(channels=9, bits=16), AudioCaps(), "has 9 channels; at most 8"),
        (wav(channels=1_000), AudioCaps(), "has 1000 channels; at most 8"),
        (wav(rate_hz=192_001), AudioCaps(), "192001 Hz; at most 192000"),
    ],
)
def test_each_cap(data: bytes, caps: AudioCaps, message: str) -> None:
    with pytest.raises(AudioTooLargeError, match=message):
        decode(data, caps)


def test_a_cap_itself_is_allowed() -> None:
    caps = AudioCaps(max_bytes=4_844, max_seconds=0.1, max_channels=1, max_rate_hz=RATE_HZ)
    assert decode(wav(), caps).samples.size == 2_400


def test_a_file_is_read_no_further_than_the_cap(tmp_path: Path) -> None:
    path = tmp_path / "x.wav"
    path.write_bytes(wav())
    with path.open("rb") as file:
        with pytest.raises(AudioTooLargeError, match="larger than"):
            decode(file, AudioCaps(max_bytes=1_000))
        assert file.tell() == 1_001
    endless = Path("/dev/zero")
    if endless.exists():
        with pytest.raises(AudioTooLargeError, match="'/dev/zero' is larger than"):
            decode(endless, AudioCaps(max_bytes=1_000))


@pytest.mark.parametrize("name", ["opus", "flac", "m4a", "aac", "mp3"])
def test_long_audio_in_few_bytes_stops_at_the_cap(name: str) -> None:
    silence = np.zeros(10 * RATE_HZ, np.float32)
    data = b"".join(encode_stream([silence] * 12, name, RATE_HZ))
    caps = AudioCaps(max_seconds=5.0)
    tracemalloc.start()
    with pytest.raises(AudioTooLargeError, match="longer than 5 s"):
        decode(data, caps)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    n_cap_bytes = 5 * RATE_HZ * 4
    assert peak < 2 * n_cap_bytes + 2_000_000


def test_an_mp4_whose_data_is_said_to_be_elsewhere_is_read_from_itself() -> None:
    data = encoded("m4a")
    in_this_file = b"url \0\0\0\1"
    assert data.count(in_this_file) == 1
    elsewhere = data.replace(in_this_file, b"alis\0\0\0\0")
    np.testing.assert_array_equal(decode(elsewhere).samples, decode(data).samples)


@pytest.mark.parametrize("name", ["x.m3u8", "x.ffconcat", "x.wav", "x.mp3"])
def test_a_playlist_is_never_followed_whatever_its_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "real.wav").write_bytes(wav())
    path = tmp_path / name
    path.write_text("ffconcat version 1.0\nfile real.wav\n#EXTM3U\n#EXTINF:1,\nreal.wav\n")
    with pytest.raises(UnreadableAudioError, match="not in an audio format"):
        decode(path)


@pytest.mark.parametrize("name", ["flac", "opus", "mp3", "aac", "m4a"])
def test_a_recording_that_was_cut_off_gives_what_is_there(name: str) -> None:
    data = encoded(name, 3 * RATE_HZ)
    found = decode(data[: len(data) * 6 // 10])
    assert 1.5 < found.seconds < 2.1


def test_a_broken_middle_is_an_error() -> None:
    data = bytearray(encoded("aac", 3 * RATE_HZ))
    data[10_000:10_300] = bytes(300)
    assert "is damaged" in refusal(bytes(data))


def test_the_loudest_channel_is_known_where_the_mean_holds_nothing() -> None:
    left = np.sin(np.arange(8_000) / 5).astype(np.float32) * 0.5
    file = io.BytesIO()
    soundfile.write(file, np.stack([left, -left], axis=1), 8_000, format="WAV", subtype="FLOAT")
    found = decode(file.getvalue())
    assert float(np.abs(found.samples).max()) == 0.0
    assert found.channel_peak == pytest.approx(0.5, abs=1e-3)
