"""Where the audio goes: a file, stdout, a device, the loudspeaker, or two of them.

A file appears under its name only when it is whole, and without --force it takes no name that is
taken by then: see `menura.audio.encoders.open_file`.
"""

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from menura.audio.encoders import (
    FORMATS,
    AudioFormat,
    Encoder,
    FileEncoder,
    Tags,
    format_for,
    open_file,
)
from menura.audio.output_files import checked_target
from menura.cli.loudspeaker import Loudspeaker
from menura.cli.say import SayFlags
from menura.cli.terminal import check_open, is_terminal, writing_to
from menura.errors import InvalidValueError, OutputError
from menura.speech import FloatArray

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

STDOUT = "-"
_DEFAULT_FORMAT = "wav"
_IN_MEMORY_BYTES = 16 * 2**20


class Writer(Protocol):
    """Takes samples as they are made."""

    def write(self, samples: FloatArray) -> None:
        """Write the samples [n]."""
        ...


@dataclass(frozen=True)
class Target:
    """Where the audio goes: `name` is a path, `-`, or None where it is only played.

    `streams`: audio leaves while it is made, behind a header without length. `numbered`: the name
    is ours, and the next free one will do.
    """

    name: str | None
    audio_format: AudioFormat
    streams: bool = False
    force: bool = False
    play: bool = False
    numbered: bool = False

    @property
    def misnamed(self) -> str:
        """What the name's ending says wrongly of the format, in words; empty if nothing."""
        ending = Path(self.name or "").suffix.casefold()
        told = [each.name for each in FORMATS.values() if ending in each.extensions]
        if not told or told == [self.audio_format.name]:
            return ""
        held = self.audio_format.name
        return f"the name {self.name!r} says {told[0]}, and it holds {held}, as --format says."


@dataclass(frozen=True)
class Sinks:
    """The open places that the samples go to."""

    writers: Sequence[Writer]
    name: str | None
    file: FileEncoder | None = None

    @property
    def path(self) -> str | None:
        """The file's path, when it is closed the one that it got; `-`, a device, or None."""
        return self.name if self.file is None else str(self.file.path)

    def write(self, samples: FloatArray) -> None:
        """Write the samples [n] to all of them."""
        for writer in self.writers:
            writer.write(samples)


def chosen_target(flags: SayFlags) -> Target:
    """The target that the flags mean, checked as far as can be before anything is spoken.

    Raises: InvalidValueError: an unknown format, a folder, a file that exists, a terminal, or
        --stream where nothing streams.
    """
    name = flags.output
    if name is None:
        audio_format = format_for(_DEFAULT_FORMAT, flags.format)
        name = None if flags.play else f"speech{audio_format.extensions[0]}"
        target = Target(name, audio_format, force=flags.force, play=flags.play, numbered=True)
    elif name == STDOUT or _is_device(Path(name)):
        _check_stdout(name)
        audio_format = format_for(_DEFAULT_FORMAT, flags.format)
        target = Target(name, audio_format, flags.stream, flags.force, flags.play)
    else:
        _check_file(Path(name), force=flags.force)
        target = Target(name, format_for(name, flags.format), play=flags.play, force=flags.force)
    if flags.stream and not (target.streams or target.play):
        raise InvalidValueError(
            "--stream lets the audio out while it is made, and a file appears only when it is "
            "whole: give -o - (into a pipe) or --play, or leave --stream out.",
            param="--stream",
        )
    return target


@contextmanager
def opened(target: Target, sample_rate_hz: int, tags: Tags) -> Iterator[Sinks]:
    """The open target; what fails inside leaves no file under the final name.

    Raises: OutputError: it cannot be written, or somebody else took the name meanwhile, and the
        message says where the audio is; EngineNotInstalledError: nothing to play with.
    """
    with ExitStack() as stack:
        writers: list[Writer] = []
        file: FileEncoder | None = None
        if target.play:
            writers.append(stack.enter_context(Loudspeaker(sample_rate_hz)))
        if target.name == STDOUT:
            writers.append(stack.enter_context(_to_stdout(target, sample_rate_hz, tags)))
        elif target.name is not None and _is_device(Path(target.name)):
            writers.append(stack.enter_context(_to_device(target, sample_rate_hz, tags)))
        elif target.name is not None:
            file = stack.enter_context(
                open_file(
                    target.name, target.audio_format, sample_rate_hz, tags, replace=target.force
                )
            )
            writers.append(file)
        sinks = Sinks(writers, target.name, file)
        yield sinks
    if file is not None and not target.numbered and file.path != Path(target.name or ""):
        raise OutputError(
            f"{target.name!r} was made by another program in the meantime and is kept as it is. "
            f"The audio is in {str(file.path)!r}.",
            param="--output",
        )


@contextmanager
def _to_stdout(target: Target, sample_rate_hz: int, tags: Tags) -> Iterator[Writer]:
    sink = _LiveSink(sys.stdout.buffer, "standard output")
    if target.streams:
        with Encoder(sink, target.audio_format, sample_rate_hz, tags=tags) as encoder:
            yield encoder
        return
    # A header with the true length is written last, and a pipe cannot go back to its beginning.
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as whole:
        with Encoder(whole, target.audio_format, sample_rate_hz, tags=tags) as encoder:
            yield encoder
        whole.seek(0)
        shutil.copyfileobj(whole, sink)


@contextmanager
def _to_device(target: Target, sample_rate_hz: int, tags: Tags) -> Iterator[Writer]:
    """A named pipe or a device, which is written to and never replaced."""
    assert target.name is not None
    with Path(target.name).open("wb", buffering=0) as device:
        sink = _LiveSink(device, repr(target.name))
        with Encoder(sink, target.audio_format, sample_rate_hz, tags=tags) as encoder:
            yield encoder


class _LiveSink(io.RawIOBase):
    """A stream that cannot seek, whose bytes leave at once and whose errors say where it goes."""

    def __init__(self, stream: BinaryIO, place: str) -> None:
        self._stream = stream
        self._place = place

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: "ReadableBuffer", /) -> int:
        """The number of bytes, all of them. Raises: OutputError; BrokenPipeError."""
        rest = whole = memoryview(data).cast("B")
        with writing_to(self._place):
            while rest:
                rest = rest[self._stream.write(rest) :]
            self._stream.flush()
        return len(whole)


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _check_stdout(name: str) -> None:
    if name != STDOUT:
        return
    check_open("stdout")
    if is_terminal("stdout"):
        raise InvalidValueError(
            "audio is not written to a terminal: send it through a pipe or into a file.",
            param="--output",
        )


def _check_file(path: Path, *, force: bool) -> None:
    try:
        checked_target(path, replace=force)
    except InvalidValueError as error:
        raise InvalidValueError(error.message, param="--output") from error
    if not force and os.path.lexists(path):
        what = "exists already" if path.exists() else "is a link that leads nowhere"
        raise InvalidValueError(
            f"{str(path)!r} {what}: write over it with --force, or give another name.",
            param="--output",
        )
