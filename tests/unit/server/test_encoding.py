import asyncio
import io
import subprocess
import sys
import threading

import numpy as np
import pytest

from menura.audio.encoders import Encoder, encode_stream
from menura.audio.pcm import FloatArray, to_s16
from menura.audio.resample import resample
from menura.audio.tags import Tags
from menura.errors import InvalidValueError, NumericsError
from menura.server import encoding
from menura.server.encoding import FLOATS, SERVED_FORMATS, AudioWish, SpeechEncoder, checked_format
from tests.unit.audio.reference_decoders import tone

ALL = (*SERVED_FORMATS, FLOATS)
TAGS = Tags(artist="somebody", synthetic="synthetic=1")


def encoded(pieces: list[FloatArray], wish: AudioWish, rate_hz: int) -> list[bytes]:
    """What each write gives, and the close."""

    async def run() -> list[bytes]:
        encoder = SpeechEncoder(wish, rate_hz, TAGS)
        try:
            given = [await encoder.write(piece) for piece in pieces]
            return [*given, await encoder.close()]
        finally:
            encoder.discard()

    return asyncio.run(run())


@pytest.mark.parametrize("rate_hz", [8_000, 24_000, 44_100])
@pytest.mark.parametrize("name", ALL)
def test_short_and_long_pieces_give_the_same_bytes(name: str, rate_hz: int) -> None:
    samples = tone(2 * rate_hz, rate_hz)
    in_pieces = encoded(np.array_split(samples, 17), AudioWish(name), rate_hz)
    assert b"".join(in_pieces) == b"".join(encoded([samples], AudioWish(name), rate_hz))


@pytest.mark.parametrize("rate_hz", [24_000, 44_100])
@pytest.mark.parametrize("name", ["mp3", "opus", "aac"])
def test_a_long_beginning_is_heard_before_all_of_it_is_encoded(name: str, rate_hz: int) -> None:
    samples = tone(2 * rate_hz, rate_hz)
    encoder = SpeechEncoder(AudioWish(name), rate_hz, TAGS)
    pieces = [*encoder.pieces(samples), *encoder.pieces(samples)]
    lengths = [len(piece) for piece in pieces if piece.size]
    assert lengths == [rate_hz // 4, 2 * rate_hz - rate_hz // 4, 2 * rate_hz]
    first, *_ = encoded(pieces, AudioWish(name), rate_hz)
    assert first


@pytest.mark.parametrize("wish", [AudioWish("wav"), AudioWish("mp3", whole=True)])
def test_what_gains_nothing_by_it_is_written_at_once(wish: AudioWish) -> None:
    pieces = list(SpeechEncoder(wish, 8_000).pieces(tone(8_000, 8_000)))
    assert [len(piece) for piece in pieces if piece.size] == [8_000]


@pytest.mark.parametrize("name", [name for name in SERVED_FORMATS if name != "pcm"])
def test_a_stream_is_what_the_stream_encoder_of_files_gives(name: str) -> None:
    samples = tone(30_000, 44_100)
    expected = b"".join(encode_stream([samples], name, 44_100, TAGS))
    assert b"".join(encoded([samples], AudioWish(name), 44_100)) == expected


@pytest.mark.parametrize("name", SERVED_FORMATS)
def test_a_whole_file_comes_at_the_end_with_true_lengths(name: str) -> None:
    samples = tone(30_000, 24_000)
    *before, whole = encoded(np.array_split(samples, 3), AudioWish(name, whole=True), 24_000)
    sink = io.BytesIO()
    with Encoder(sink, name, 24_000, tags=TAGS) as encoder:
        encoder.write(samples)
    assert before == [b"", b"", b""]
    assert whole == sink.getvalue()


@pytest.mark.parametrize("rate_hz", [8_000, 24_000, 44_100])
def test_pcm_is_at_24_khz_whatever_the_model_speaks_at(rate_hz: int) -> None:
    samples = tone(rate_hz, rate_hz)
    data = b"".join(encoded(np.array_split(samples, 7), AudioWish("pcm"), rate_hz))
    assert data == to_s16(resample(samples, rate_hz, 24_000)).tobytes()
    assert len(data) == 2 * 24_000


def test_another_rate_is_given_where_it_is_asked_for() -> None:
    encoder = SpeechEncoder(AudioWish("pcm", rate_hz=16_000), 44_100)
    assert encoder.rate_hz == 16_000
    data = b"".join(encoded([tone(44_100, 44_100)], AudioWish("pcm", rate_hz=16_000), 44_100))
    assert len(data) == 2 * 16_000


def test_floats_are_the_samples_themselves() -> None:
    samples = tone(1_000, 44_100)
    assert b"".join(encoded([samples], AudioWish(FLOATS), 44_100)) == samples.tobytes()


@pytest.mark.parametrize("name", ALL)
def test_nothing_comes_before_the_first_sample(name: str) -> None:
    assert encoded([np.zeros(0, np.float32)], AudioWish(name), 24_000)[0] == b""


def test_a_header_does_not_go_out_while_the_resampler_holds_all_samples_back() -> None:
    first, *_ = encoded([tone(2, 8_000), tone(8_000, 8_000)], AudioWish("wav", 24_000), 8_000)
    assert first == b""


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("n_samples", [10, 24_000])
def test_samples_that_are_no_numbers_are_refused(name: str, n_samples: int) -> None:
    with pytest.raises(NumericsError):
        encoded([np.full(n_samples, np.nan, np.float32)], AudioWish(name), 24_000)


class Watched(Encoder):
    """An encoder that says in which thread it writes, and waits while `may_write` is not set."""

    may_write = threading.Event()
    is_writing = threading.Event()
    threads: list[bool] = []  # noqa: RUF012 - a fresh one for each test
    is_discarded = threading.Event()

    def write(self, samples: FloatArray) -> None:
        self.threads.append(threading.current_thread() is threading.main_thread())
        self.is_writing.set()
        assert self.may_write.wait(30)
        super().write(samples)

    def discard(self) -> None:
        super().discard()
        self.is_discarded.set()


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> type[Watched]:
    monkeypatch.setattr(Watched, "threads", [])
    Watched.may_write.set()
    Watched.is_writing.clear()
    Watched.is_discarded.clear()
    monkeypatch.setattr(encoding, "Encoder", Watched)
    return Watched


def test_only_the_first_and_the_long_pieces_leave_the_event_loop(watched: type[Watched]) -> None:
    half, more = tone(12_000, 24_000), tone(12_001, 24_000)
    encoded([half, half, more, half], AudioWish("flac"), 24_000)
    assert watched.threads == [False, True, False, True]


def test_an_encoder_is_released_only_when_its_thread_has_left_it(watched: type[Watched]) -> None:
    watched.may_write.clear()

    async def run() -> None:
        encoder = SpeechEncoder(AudioWish("mp3"), 24_000)
        writing = asyncio.create_task(encoder.write(tone(48_000, 24_000)))
        assert await asyncio.to_thread(watched.is_writing.wait, 30)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        encoder.discard()
        assert not watched.is_discarded.is_set()
        watched.may_write.set()
        assert await asyncio.to_thread(watched.is_discarded.wait, 30)

    asyncio.run(run())


@pytest.mark.parametrize("name", ALL)
def test_a_discarded_encoder_can_be_discarded_again(name: str) -> None:
    async def run() -> None:
        encoder = SpeechEncoder(AudioWish(name), 24_000)
        encoder.discard()
        await encoder.write(tone(100, 24_000))
        encoder.discard()
        encoder.discard()

    asyncio.run(run())


def test_ffmpeg_is_loaded_ahead_and_not_with_the_module() -> None:
    program = (
        "import sys; from menura.server.encoding import load_ffmpeg; before = 'av' in sys.modules; "
        "load_ffmpeg(); print(before, 'av' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert told.stdout.split() == [b"False", b"True"]


def test_formats_are_named_in_any_case_and_others_are_refused_with_the_list() -> None:
    assert checked_format("MP3") == "mp3"
    assert checked_format("f32") == FLOATS
    with pytest.raises(InvalidValueError, match="'m4a' is not one of: mp3, opus, aac, flac") as no:
        checked_format("m4a")
    assert no.value.param == "response_format"


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("mp3", "audio/mpeg"),
        ("opus", "audio/ogg"),
        ("aac", "audio/aac"),
        ("flac", "audio/flac"),
        ("wav", "audio/wav"),
        ("pcm", "audio/pcm"),
        ("f32", "application/octet-stream"),
    ],
)
def test_the_media_types_are_those_that_clients_know(name: str, media_type: str) -> None:
    assert AudioWish(name).media_type == media_type
