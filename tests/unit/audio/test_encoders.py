import io
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from menura.audio.encoders import FORMATS, Encoder, encode_stream, open_file
from menura.audio.pcm import FloatArray
from menura.errors import InvalidValueError, NumericsError, OutputError
from tests.unit.audio.reference_decoders import by_av, tone

RATE_HZ = 24_000


class FailingSink(io.BytesIO):
    """Refuses its `n`th write, as a full disk or a closed pipe does."""

    def __init__(self, n: int, error: type[BaseException]) -> None:
        super().__init__()
        self._left = n
        self._error = error

    def write(self, data: object, /) -> int:
        self._left -= 1
        if self._left <= 0:
            raise self._error("refused")
        return 1


class Pipe(io.BytesIO):
    def seekable(self) -> bool:
        return False

    def tell(self) -> int:
        raise io.UnsupportedOperation("tell")


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_is_written_before_the_first_sample(name: str) -> None:
    sink = io.BytesIO()
    encoder = Encoder(sink, name, RATE_HZ)
    with pytest.raises(NumericsError, match="sample 1 of 2 is nan"):
        encoder.write(np.array([0, np.nan], np.float32))
    encoder.discard()
    encoder.close()
    assert sink.getvalue() == b""


def test_a_piece_with_nan_leaves_the_encoder_usable() -> None:
    sink = io.BytesIO()
    with Encoder(sink, "pcm", RATE_HZ) as encoder:
        encoder.write(np.array([0.5], np.float32))
        with pytest.raises(NumericsError):
            encoder.write(np.array([np.inf], np.float32))
        encoder.write(np.array([-0.5], np.float32))
    assert sink.getvalue() == b"\x00\x40\x00\xc0"


@pytest.mark.parametrize("name", FORMATS)
def test_no_samples_give_the_same_bytes_as_an_empty_piece(name: str) -> None:
    assert list(encode_stream([], name, RATE_HZ)) == list(
        encode_stream([np.zeros(0, np.float32)], name, RATE_HZ)
    )


@pytest.mark.parametrize("name", ["wav", "flac", "m4a"])
def test_an_empty_stream_of_a_container_opens(name: str) -> None:
    assert by_av(b"".join(encode_stream([], name, RATE_HZ))).samples.size == 0


@pytest.mark.parametrize("error", [OSError, BrokenPipeError, KeyboardInterrupt])
@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("name", FORMATS)
def test_an_error_of_the_sink_comes_out_once(name: str, n: int, error: type[BaseException]) -> None:
    encoder = Encoder(FailingSink(n, error), name, RATE_HZ, streamed=True)
    with pytest.raises(error, match="refused"):
        encoder.write(tone(400_000, RATE_HZ))
    encoder.close()
    encoder.discard()
    with pytest.raises(ValueError, match="closed encoder"):
        encoder.write(tone(10, RATE_HZ))


@pytest.mark.parametrize("name", FORMATS)
def test_a_sink_that_fails_while_closing_is_reported_once(name: str) -> None:
    encoder = Encoder(FailingSink(1, OSError), name, RATE_HZ)
    if name in {"pcm", "aac"}:
        with pytest.raises(OSError, match="refused"):
            encoder.write(tone(100_000, RATE_HZ))
    else:
        with pytest.raises(OSError, match="refused"):
            encoder.close()
    encoder.close()


@pytest.mark.parametrize("name", FORMATS)
def test_a_pipe_gets_what_a_stream_gets(name: str) -> None:
    pipe = Pipe()
    with Encoder(pipe, name, RATE_HZ) as encoder:
        encoder.write(tone(24_000, RATE_HZ))
    assert pipe.getvalue() == b"".join(encode_stream([tone(24_000, RATE_HZ)], name, RATE_HZ))


@pytest.mark.parametrize("name", FORMATS)
def test_closing_a_stream_early_closes_what_feeds_it(name: str) -> None:
    is_closed = False

    def endless() -> Iterator[FloatArray]:
        nonlocal is_closed
        try:
            while True:
                yield tone(4_800, RATE_HZ)
        finally:
            is_closed = True

    stream = encode_stream(endless(), name, RATE_HZ)
    assert next(stream)
    stream.close()
    assert is_closed


def test_an_error_of_the_chunks_passes_through_a_stream() -> None:
    def failing() -> Iterator[FloatArray]:
        yield tone(4_800, RATE_HZ)
        raise LookupError("the model failed")

    with pytest.raises(LookupError, match="the model failed"):
        list(encode_stream(failing(), "opus", RATE_HZ))


def test_a_stream_of_an_unknown_format_fails_before_it_starts() -> None:
    with pytest.raises(InvalidValueError, match="format 'mp4a' is not one"):
        encode_stream([], "mp4a", RATE_HZ)


@pytest.mark.parametrize("rate_hz", [0, -1, 999, 384_001, 2**31])
def test_impossible_rates_are_refused(rate_hz: int) -> None:
    with pytest.raises(InvalidValueError, match=f"{rate_hz} Hz cannot be written"):
        Encoder(io.BytesIO(), "wav", rate_hz)


@pytest.mark.parametrize("name", ["wav", "flac", "opus", "mp3", "aac", "m4a"])
def test_memory_does_not_grow_with_the_audio(name: str) -> None:
    encoder = Encoder(FailingSink(10**9, OSError), name, RATE_HZ, streamed=True)
    second = tone(RATE_HZ, RATE_HZ)
    encoder.write(second)
    tracemalloc.start()
    for _ in range(60):
        encoder.write(second)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    encoder.close()
    assert peak < 5 * second.nbytes


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_appears_only_when_it_is_complete(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"x.{name}"
    with open_file(path, None, RATE_HZ) as encoder:
        encoder.write(tone(24_000, RATE_HZ))
        assert not path.exists()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    with io.BytesIO() as sink:
        with Encoder(sink, name, RATE_HZ) as encoder:
            encoder.write(tone(24_000, RATE_HZ))
        assert path.read_bytes() == sink.getvalue()


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, LookupError, OSError])
@pytest.mark.parametrize("name", ["wav", "mp3", "m4a"])
def test_an_interrupted_file_leaves_what_stood_there(
    name: str, error: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / f"x.{name}"
    path.write_bytes(b"before")

    def interrupted() -> None:
        with open_file(path, None, RATE_HZ) as encoder:
            encoder.write(tone(24_000, RATE_HZ))
            raise error("stop")

    with pytest.raises(error, match="stop"):
        interrupted()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_an_output_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_open = Path.open

    def full(path: Path, *args: str, **options: int) -> object:
        return real_open(Path("/dev/full"), "wb", buffering=0)

    monkeypatch.setattr(Path, "open", full)
    with (
        pytest.raises(OutputError, match=r"x\.wav' could not be written: No space left on device"),
        open_file(tmp_path / "x.wav", None, RATE_HZ) as encoder,
    ):
        encoder.write(tone(24_000, RATE_HZ))
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(InvalidValueError, match=r"the folder '.*nowhere' does not exist"),
        open_file(tmp_path / "nowhere" / "x.wav", None, RATE_HZ),
    ):
        pass


def test_a_folder_or_a_device_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "x.wav").mkdir()
    for path, what in ((tmp_path / "x.wav", "a folder"), (Path("/dev/null"), "a device")):
        with (
            pytest.raises(InvalidValueError, match=f"it is {what}"),
            open_file(path, "wav", RATE_HZ),
        ):
            pass


def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link.wav").symlink_to(tmp_path / "real.wav")
    with open_file(tmp_path / "link.wav", None, RATE_HZ) as encoder:
        encoder.write(tone(10, RATE_HZ))
    assert (tmp_path / "link.wav").is_symlink()
    assert (tmp_path / "real.wav").read_bytes().startswith(b"RIFF")


def test_importing_audio_and_writing_a_wav_load_no_codec(tmp_path: Path) -> None:
    program = (
        "import sys, numpy as np\n"
        "import menura.audio.decode, menura.audio.resample, menura.audio.stretch\n"
        "from menura.audio.encoders import open_file\n"
        "with open_file(sys.argv[1], None, 24_000) as encoder:\n"
        "    encoder.write(np.zeros(10, np.float32))\n"
        "print(sorted({'av', 'soundfile', 'soxr', 'torch'} & set(sys.modules)))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "x.wav")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
