"""Format truth: what a client asked for is what two independent decoders find in the bytes.

What was spoken is known from the answer in `f32`, which is the samples themselves; the same seed
gives the same samples in every format.
"""

import io
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import av
import numpy as np
import pytest
import soundfile

from menura.audio.pcm import FloatArray, to_s16
from menura.audio.resample import resample
from tests.served_app import Running, Served, running
from tests.unit.audio.reference_decoders import Decoded, by_av, by_soundfile

RATE_HZ = 8_000
MP3_FRAME, AAC_FRAME = 576, 1_024
PRIMING = {"mp3": 1_105, "aac": AAC_FRAME}

# Words of five seconds; each is a tone of its own. `split` is off: no pauses.
WORDS = [f"word{index}" for index in range(120)]
LENGTHS = {
    "0.1 s": {"input": "one", "options": {"frames_per_word": 1}},
    "30 s": {"input": " ".join(WORDS[:6]), "options": {"frames_per_word": 50}},
    "10 min": {"input": " ".join(WORDS), "options": {"frames_per_word": 50}},
}
SECONDS = {"0.1 s": 0.1, "30 s": 30.0, "10 min": 600.0}
lengths = pytest.mark.parametrize(
    "length", ["0.1 s", "30 s", pytest.param("10 min", marks=pytest.mark.slow)]
)
formats = pytest.mark.parametrize("name", ["mp3", "opus", "aac", "flac", "wav", "pcm"])
MEDIA_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Answers"]:
    """What one server answers; it runs for all tests of this file."""
    with running(tmp_path_factory.mktemp("formats")) as server:
        yield Answers(server)


class Answers:
    """The bytes of answers, each asked for once."""

    def __init__(self, server: Running) -> None:
        self._server = server
        self._kept: dict[tuple[str, str, bool], bytes] = {}

    def bytes_of(self, name: str, length: str, *, stream: bool) -> bytes:
        key = (name, length, stream)
        if key not in self._kept:
            self._kept[key] = self._server.ask(partial(_spoken, name, length, stream))
        return self._kept[key]

    def samples(self, length: str) -> FloatArray:
        """What was spoken, at the model's rate."""
        return np.frombuffer(self.bytes_of("f32", length, stream=True), "<f4")


async def _spoken(name: str, length: str, stream: bool, server: Served) -> bytes:
    spoken = {"response_format": name, "stream": stream, "seed": 7, "split": False}
    async with server.client() as client:
        answer = await client.post("/v1/audio/speech", json={**spoken, **LENGTHS[length]})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == MEDIA_TYPES.get(name, "application/octet-stream")
    assert answer.headers["x-sample-rate"] == ("24000" if name == "pcm" else str(RATE_HZ))
    assert ("content-length" in answer.headers) is not stream
    return answer.content


def by_numpy(data: bytes) -> Decoded:
    assert len(data) % 2 == 0
    return Decoded((np.frombuffer(data, "<i2") / 32_768).astype(np.float32), 24_000)


def pcm_by_av(data: bytes) -> Decoded:
    options = {"sample_rate": "24000", "ch_layout": "mono"}
    with av.open(io.BytesIO(data), "r", format="s16le", options=options) as file:
        frames = [frame.to_ndarray().reshape(-1) for frame in file.decode(audio=0)]
    return Decoded((np.concatenate(frames).astype(np.float32) / 32_768).astype(np.float32), 24_000)


def aac_in_fixed_point(data: bytes) -> Decoded:
    """FFmpeg's other decoder, which shares no arithmetic with its first one."""
    decoder = av.CodecContext.create("aac_fixed", "r")
    assert isinstance(decoder, av.AudioCodecContext)
    pieces, rate_hz = [np.zeros(0, np.float32)], 0
    for packet in [*decoder.parse(data), *decoder.parse(b""), None]:
        for frame in decoder.decode(packet):
            rate_hz = frame.sample_rate
            pieces.append((frame.to_ndarray().reshape(-1) / 2**31).astype(np.float32))
    return Decoded(np.concatenate(pieces), rate_hz)


class _Stream(soundfile.SoundFile):  # type: ignore[misc]  # the package has no types
    """A flac whose length its header leaves open: there is no end to seek to after a read."""

    def seekable(self) -> bool:
        return False


def flac_by_soundfile(data: bytes) -> Decoded:
    with _Stream(io.BytesIO(data)) as file:
        pieces = []
        while len(piece := file.read(10_000, dtype="float32")):
            pieces.append(piece)
        return Decoded(np.concatenate(pieces), file.samplerate)


def mp3_by_av(data: bytes) -> Decoded:
    return by_av(data, "mp3")  # FFmpeg cannot guess a few frames without a file's name


DECODERS: Mapping[str, tuple[Callable[[bytes], Decoded], Callable[[bytes], Decoded]]] = {
    "wav": (by_av, by_soundfile),
    "flac": (by_av, flac_by_soundfile),
    "opus": (by_av, by_soundfile),
    "mp3": (mp3_by_av, by_soundfile),
    "aac": (by_av, aac_in_fixed_point),
    "pcm": (pcm_by_av, by_numpy),
}


@lengths
def test_the_speech_has_the_length_that_was_asked_for(answers: Answers, length: str) -> None:
    assert answers.samples(length).size == round(SECONDS[length] * RATE_HZ)
    whole = answers.bytes_of("f32", length, stream=False)
    assert whole == answers.bytes_of("f32", length, stream=True)


@pytest.mark.parametrize("stream", [True, False])
@lengths
@formats
def test_the_bytes_begin_as_their_format_does(
    answers: Answers, name: str, length: str, stream: bool
) -> None:
    data = answers.bytes_of(name, length, stream=stream)
    begins = {
        "wav": data[:4] == b"RIFF" and data[8:12] == b"WAVE",
        "flac": data[:4] == b"fLaC",
        "opus": data[:4] == b"OggS" and b"OpusHead" in data[:64],
        "mp3": data[:3] == b"ID3",
        "aac": data[0] == 0xFF and data[1] & 0xF6 == 0xF0,
        "pcm": not data.startswith((b"RIFF", b"fLaC", b"OggS", b"ID3")),
    }
    assert begins[name]
    n_containers = {
        "wav": data.count(b"WAVEfmt ") + data.count(b"WAVEJUNK"),
        "flac": data.count(b"fLaC"),
        "opus": data.count(b"OpusHead"),
        "mp3": data.count(b"ID3\x03\x00"),
    }
    assert n_containers.get(name, 1) == 1
    if name == "mp3":  # a length frame in a stream would say nothing, and upsets players
        assert (b"Info" in data[:2_000]) is not stream
    assert (b"synthetic=1" in data or b"s\0y\0n\0t\0h\0e\0t\0i\0c\0" in data) is (
        name not in ("aac", "pcm")
    )


@pytest.mark.parametrize("stream", [True, False])
@lengths
@formats
def test_two_decoders_find_what_was_spoken(
    answers: Answers, name: str, length: str, stream: bool
) -> None:
    spoken = answers.samples(length)
    data = answers.bytes_of(name, length, stream=stream)
    first, second = (decode(data) for decode in DECODERS[name])
    for decoded in (first, second):
        assert decoded.rate_hz in (RATE_HZ, 24_000 if name == "pcm" else 48_000)
        assert_is(decoded, spoken, name, stream=stream)


def assert_is(decoded: Decoded, spoken: FloatArray, name: str, *, stream: bool) -> None:
    """The decoded samples are the spoken ones, as exactly as their format can hold them."""
    expected = resample(spoken, RATE_HZ, decoded.rate_hz)
    if name in ("wav", "flac", "pcm"):
        np.testing.assert_array_equal(to_s16(decoded.samples), to_s16(expected))
        return
    found = decoded.samples
    if name == "opus":
        assert found.size == expected.size
    else:
        # Only a whole mp3 says how much of it is priming; what is left is within one frame.
        frame = {"mp3": MP3_FRAME, "aac": AAC_FRAME}[name]
        surplus = found.size - expected.size
        primed = PRIMING[name] if surplus >= PRIMING[name] else 0
        assert 0 <= surplus - primed < frame + 48
        assert primed or not (stream and name == "aac")
        found = found[primed : primed + expected.size]
    assert alike(found, expected) > (0.9 if expected.size > RATE_HZ else 0.6)


def alike(found: FloatArray, expected: FloatArray) -> float:
    """How alike two signals of one length are: 1 if they differ only in level."""
    size = float(np.linalg.norm(found) * np.linalg.norm(expected))
    return float(np.dot(found, expected)) / size


@lengths
@formats
def test_streamed_bytes_decode_to_the_samples_of_the_whole_file(
    answers: Answers, name: str, length: str
) -> None:
    streamed = answers.bytes_of(name, length, stream=True)
    whole = answers.bytes_of(name, length, stream=False)
    decode = DECODERS[name][0]
    in_stream, in_file = decode(streamed).samples, decode(whole).samples
    if name == "mp3":  # the file's length frame has the decoder leave the priming out
        in_stream = in_stream[PRIMING[name] : PRIMING[name] + in_file.size]
        in_file = in_file[: in_stream.size]
    np.testing.assert_array_equal(in_stream, in_file)


def test_a_streamed_wav_says_that_its_length_is_unknown(answers: Answers) -> None:
    data = answers.bytes_of("wav", "30 s", stream=True)
    assert data[4:8] == b"\xff\xff\xff\xff"
    assert data[data.index(b"data") + 4 :][:4] == b"\xff\xff\xff\xff"
    whole = answers.bytes_of("wav", "30 s", stream=False)
    assert int.from_bytes(whole[4:8], "little") == len(whole) - 8
