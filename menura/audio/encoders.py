"""Samples to bytes: one continuous encoder per response, for files and for streams.

    with open_file("hello.mp3", None, 24_000) as encoder:    encode_stream(chunks, "opus", 24_000)
        for chunk in chunks:
            encoder.write(chunk.samples)

Lengths: wav, flac, pcm and opus hold exactly the samples written (opus counts at 48 kHz). mp3 and
aac begin with the codec's priming (1105 and 1024 samples) and end on a whole frame (mp3: 1152
samples from 32 kHz on, else 576, plus at most 47 that LAME needs; aac: 1024). An mp3 file says so
in its LAME frame and an m4a in its edit list, so that players skip the priming.
"""

import io
import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from menura.audio.ffmpeg_writer import FfmpegWriter
from menura.audio.formats import FORMATS, AudioFormat, format_for, format_named
from menura.audio.output_files import checked_target, put, reported_as_output_error
from menura.audio.pcm import FloatArray, checked
from menura.audio.riff import ByteSink, PcmWriter, WavWriter
from menura.audio.tags import NO_TAGS, Tags
from menura.errors import InvalidValueError

__all__ = [
    "FORMATS",
    "AudioFormat",
    "Encoder",
    "FileEncoder",
    "Tags",
    "encode_stream",
    "format_for",
    "open_file",
]

MIN_RATE_HZ = 1_000
MAX_RATE_HZ = 384_000

# Bounds memory and the wait for Ctrl-C when a whole hour is written in one call.
_BLOCK = 65_536


class _Writer(Protocol):
    def write(self, samples: FloatArray) -> None: ...
    def close(self) -> None: ...
    def discard(self) -> None: ...


class Encoder:
    """One encoded file or stream: `write` any number of times, then `close`.

    As a context manager it closes at the end of the block and discards after an exception. After an
    error `close` does nothing. Its memory does not grow with the length of the audio.
    """

    def __init__(
        self,
        sink: ByteSink,
        audio_format: AudioFormat | str,
        sample_rate_hz: int,
        *,
        streamed: bool = False,
        tags: Tags = NO_TAGS,
    ) -> None:
        """An encoder into `sink`, which stays the caller's to close.

        `streamed`, or a sink that cannot seek, leaves lengths unknown: wav sizes are 0xFFFFFFFF,
        mp3 has no Xing frame, m4a comes in fragments.

        Raises:
            InvalidValueError: an unknown format, or a sample rate outside 1 to 384 kHz.
        """
        if isinstance(audio_format, str):
            audio_format = format_named(audio_format)
        if not MIN_RATE_HZ <= sample_rate_hz <= MAX_RATE_HZ:
            raise InvalidValueError(
                f"a sample rate of {sample_rate_hz} Hz cannot be written: give one from "
                f"{MIN_RATE_HZ} to {MAX_RATE_HZ} Hz",
                param="sample_rate_hz",
            )
        streamed = streamed or not sink.seekable()
        self.audio_format = audio_format
        self._writer = _writer(sink, audio_format, sample_rate_hz, tags, streamed)
        self._is_open = True

    def write(self, samples: FloatArray) -> None:
        """Encode the samples [n]; what the encoder gives is written at once.

        Raises:
            NumericsError: a sample is NaN or infinite; none of these samples was written.
            OutputError: the file of `open_file` could not be written (any other sink raises its
                own OSError).
        """
        if not self._is_open:
            raise ValueError("write to a closed encoder")
        mono = checked(samples)
        with self._discarded_on_error():
            for start in range(0, mono.size, _BLOCK):
                self._writer.write(mono[start : start + _BLOCK])

    def close(self) -> None:
        """Write the codec's tail and, where the sink seeks, the true lengths.

        Raises:
            OutputError: as for `write`.
        """
        if not self._is_open:
            return
        with self._discarded_on_error():
            self._writer.close()
        self._is_open = False

    def discard(self) -> None:
        """Release the encoder without writing anything more."""
        if self._is_open:
            self._is_open = False
            self._writer.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self.discard()

    @contextmanager
    def _discarded_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.discard()
            raise


def _writer(
    sink: ByteSink, audio_format: AudioFormat, sample_rate_hz: int, tags: Tags, streamed: bool
) -> _Writer:
    if audio_format.name == "wav":
        return WavWriter(sink, sample_rate_hz, tags, streamed=streamed)
    if audio_format.name == "pcm":
        return PcmWriter(sink)
    return FfmpegWriter(sink, audio_format, sample_rate_hz, tags, streamed=streamed)


class FileEncoder(Encoder):
    """An encoder into a file; `path` is the file's name: after the block, the one that it got."""

    path: Path


@contextmanager
def open_file(
    path: str | os.PathLike[str],
    audio_format: AudioFormat | str | None,
    sample_rate_hz: int,
    tags: Tags = NO_TAGS,
    *,
    replace: bool = True,
) -> Iterator[FileEncoder]:
    """An encoder into a file that appears under its name only when it is complete.

    Without a format the extension names it. The bytes go to a temporary name in the same folder,
    reach the disk, and are renamed; after any exception, Ctrl-C too, nothing new stands there.
    Without `replace` a file that has the name by then is kept, and the audio gets the next free
    one: `hello.mp3`, `hello-2.mp3` ...; the encoder's `path` says which.

    Raises:
        InvalidValueError: no format, no such folder, or the name of something that is no file.
        OutputError: the file could not be written.
    """
    if not isinstance(audio_format, AudioFormat):
        audio_format = format_for(path, audio_format)
    target = checked_target(path, replace=replace)
    temporary = target.with_name(f".menura-{os.urandom(8).hex()}.part")
    try:
        with reported_as_output_error(path):
            file = temporary.open("xb", buffering=0)
        with file:
            sink = _FileSink(file, path)
            with FileEncoder(sink, audio_format, sample_rate_hz, tags=tags) as encoder:
                encoder.path = Path(path)
                yield encoder
            with reported_as_output_error(path):
                os.fsync(file.fileno())
        with reported_as_output_error(path):
            placed = put(temporary, target, replace=replace)
        if not replace:
            encoder.path = encoder.path.with_name(placed.name)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def encode_stream(
    chunks: Iterable[FloatArray],
    audio_format: AudioFormat | str,
    sample_rate_hz: int,
    tags: Tags = NO_TAGS,
) -> Generator[bytes]:
    """The encoded bytes of the chunks [n], as soon as the encoder gives them; one container.

    Closing this generator releases the encoder and closes `chunks` if that is a generator too.

    Raises:
        InvalidValueError: at once, for an unknown format or a sample rate that cannot be written.
    """
    sink = io.BytesIO()
    encoder = Encoder(sink, audio_format, sample_rate_hz, streamed=True, tags=tags)
    return _encoded(chunks, encoder, sink)


def _encoded(chunks: Iterable[FloatArray], encoder: Encoder, sink: io.BytesIO) -> Generator[bytes]:
    try:
        for samples in chunks:
            encoder.write(samples)
            if encoded := _taken_from(sink):
                yield encoded
        encoder.close()
        if encoded := _taken_from(sink):
            yield encoded
    finally:
        encoder.discard()
        if isinstance(chunks, Generator):
            chunks.close()


def _taken_from(sink: io.BytesIO) -> bytes:
    """What was written to the sink since the last call."""
    taken = sink.getvalue()
    sink.seek(0)
    sink.truncate()
    return taken


class _FileSink:
    """An unbuffered file that writes all it is given and whose errors name the path."""

    def __init__(self, file: io.FileIO, path: str | os.PathLike[str]) -> None:
        self._file = file
        self._path = path

    def write(self, data: bytes, /) -> None:
        rest = memoryview(data)
        with reported_as_output_error(self._path):
            while rest:
                rest = rest[self._file.write(rest) :]

    def seek(self, offset: int, whence: int = 0, /) -> int:
        with reported_as_output_error(self._path):
            return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True
