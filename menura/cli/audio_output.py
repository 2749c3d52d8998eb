"""Where the audio goes: a file, stdout, a device, the loudspeaker, or two of them.

A file appears under its name only when it is whole. The name is held from the start by an empty
file, so that two commands at the same moment never choose the same one; if nothing comes of it, the
empty file goes away again.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import BinaryIO, Protocol

from menura.audio.encoders import AudioFormat, Encoder, Tags, format_for, open_file
from menura.cli.loudspeaker import Loudspeaker
from menura.cli.say import SayFlags
from menura.cli.terminal import is_terminal
from menura.errors import InvalidValueError, OutputError
from menura.speech import FloatArray

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
    is ours, and one with a free number is taken where it is not.
    """

    name: str | None
    audio_format: AudioFormat
    streams: bool = False
    force: bool = False
    play: bool = False
    numbered: bool = False


@dataclass(frozen=True)
class Sinks:
    """The open places that the samples go to, and the path of the file, if one is written."""

    writers: Sequence[Writer]
    path: str | None

    def write(self, samples: FloatArray) -> None:
        """Write the samples [n] to all of them."""
        for writer in self.writers:
            writer.write(samples)


def chosen_target(flags: SayFlags) -> Target:
    """The target that the flags mean, checked as far as can be before anything is spoken.

    Raises: InvalidValueError: an unknown format, a folder, a file that exists, or a terminal.
    """
    if flags.output is None:
        audio_format = format_for(_DEFAULT_FORMAT, flags.format)
        name = None if flags.play else f"speech{audio_format.extensions[0]}"
        return Target(name, audio_format, force=flags.force, play=flags.play, numbered=True)
    if flags.output == STDOUT and is_terminal("stdout"):
        raise InvalidValueError(
            "audio is not written to a terminal: send it through a pipe or into a file.",
            param="--output",
        )
    if flags.output == STDOUT or _is_device(Path(flags.output)):
        audio_format = format_for(_DEFAULT_FORMAT, flags.format)
    else:
        audio_format = format_for(flags.output, flags.format)
        _check_file(Path(flags.output), force=flags.force)
    return Target(flags.output, audio_format, flags.stream, flags.force, flags.play)


@contextmanager
def opened(target: Target, sample_rate_hz: int, tags: Tags) -> Iterator[Sinks]:
    """The open target; what fails inside leaves no file under the final name.

    Raises: OutputError: it cannot be written; EngineNotInstalledError: nothing to play with.
    """
    with ExitStack() as stack:
        writers: list[Writer] = []
        path = target.name
        if target.play:
            writers.append(stack.enter_context(Loudspeaker(sample_rate_hz)))
        if path == STDOUT:
            writers.append(stack.enter_context(_to_stdout(target, sample_rate_hz, tags)))
        elif path is not None and _is_device(Path(path)):
            writers.append(stack.enter_context(_to_device(target, sample_rate_hz, tags)))
        elif path is not None:
            path = str(stack.enter_context(_held(target)))
            file = open_file(path, target.audio_format, sample_rate_hz, tags)
            writers.append(stack.enter_context(file))
        yield Sinks(writers, path)


@contextmanager
def _held(target: Target) -> Iterator[Path]:
    """The path to write to; without `force` it is a new one and held by an empty file."""
    assert target.name is not None
    if target.force:
        yield Path(target.name)
        return
    path = _hold_free_name(Path(target.name)) if target.numbered else _hold(Path(target.name))
    try:
        yield path
    finally:
        with suppress(OSError):
            if path.stat().st_size == 0:
                path.unlink()


def _hold_free_name(first: Path) -> Path:
    """The first free of `speech.wav`, `speech-2.wav` ..."""
    for number in count(1):
        name = first if number == 1 else first.with_stem(f"{first.stem}-{number}")
        with suppress(FileExistsError):
            return _made(name)
    raise AssertionError


def _hold(path: Path) -> Path:
    try:
        return _made(path)
    except FileExistsError as error:
        raise _exists(path) from error


def _made(path: Path) -> Path:
    try:
        path.open("xb").close()
    except FileExistsError:
        raise
    except OSError as error:
        raise OutputError(
            f"{str(path)!r} cannot be written: {error.strerror}. Choose another place with -o.",
            param="--output",
        ) from error
    return path


@contextmanager
def _to_stdout(target: Target, sample_rate_hz: int, tags: Tags) -> Iterator[Writer]:
    stdout = sys.stdout.buffer
    if target.streams:
        with Encoder(
            stdout, target.audio_format, sample_rate_hz, streamed=True, tags=tags
        ) as encoder:
            yield _Flushed(encoder, stdout)
        stdout.flush()
        return
    # A header with the true length is written last, and a pipe cannot go back to its beginning.
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as whole:
        with Encoder(whole, target.audio_format, sample_rate_hz, tags=tags) as encoder:
            yield encoder
        whole.seek(0)
        shutil.copyfileobj(whole, stdout)
        stdout.flush()


@contextmanager
def _to_device(target: Target, sample_rate_hz: int, tags: Tags) -> Iterator[Writer]:
    """A named pipe or a device, which is written to and never replaced."""
    assert target.name is not None
    with (
        Path(target.name).open("wb") as device,
        Encoder(device, target.audio_format, sample_rate_hz, streamed=True, tags=tags) as encoder,
    ):
        yield _Flushed(encoder, device)


@dataclass(frozen=True)
class _Flushed:
    """An encoder whose bytes leave at once."""

    encoder: Encoder
    sink: BinaryIO

    def write(self, samples: FloatArray) -> None:
        """Write the samples [n] and let their bytes go."""
        self.encoder.write(samples)
        self.sink.flush()


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _check_file(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise InvalidValueError(
            f"{str(path)!r} is a folder: give the name of a file in it.", param="--output"
        )
    if path.exists() and not force:
        raise _exists(path)
    folder = path.parent
    if not folder.is_dir():
        raise InvalidValueError(
            f"{str(path)!r} cannot be written: there is no folder {os.fspath(folder)!r}.",
            param="--output",
        )


def _exists(path: Path) -> InvalidValueError:
    return InvalidValueError(
        f"{str(path)!r} exists already: write over it with --force, or give another name.",
        param="--output",
    )
