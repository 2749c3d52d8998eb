"""Any audio file or bytes to mono float32, with every cap applied while it is read and decoded.

    bytes (at most max_bytes)  ->  container by its first bytes  ->  libsndfile, else FFmpeg
    ->  blocks [n, C], checked against the caps one by one  ->  mean of the channels  ->  [n]

Memory is bounded by `max_bytes` and by `max_seconds` at the file's rate, whatever its header says.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from menura.audio.containers import READABLE, Container, sniff
from menura.audio.pcm import FloatArray
from menura.audio.readers import Block, DecodingError, ffmpeg_blocks, sndfile_blocks
from menura.errors import AudioTooLargeError, UnreadableAudioError

MIB = 1024 * 1024


@dataclass(frozen=True)
class AudioCaps:
    """The most that is read and decoded. The defaults fit every reference clip.

    They bound memory too: 100 MiB of bytes, and 600 s at 192 kHz are 460 MB of samples
    (115 MB at 48 kHz).
    """

    max_bytes: int = 100 * MIB
    max_seconds: float = 600.0
    max_channels: int = 8
    max_rate_hz: int = 192_000
    min_rate_hz: int = 4_000


@dataclass(frozen=True)
class DecodedAudio:
    """Mono samples [n] in float32 at the file's own rate, and what the file was.

    `channel_peak` is the loudest sample of a single channel: the mean of several may hold nothing.
    """

    samples: FloatArray
    sample_rate_hz: int
    container: str
    n_channels: int
    channel_peak: float = 0.0

    @property
    def seconds(self) -> float:
        """The length in seconds."""
        return self.samples.size / self.sample_rate_hz


_DEFAULT_CAPS = AudioCaps()


def decode(
    source: str | os.PathLike[str] | bytes | BinaryIO, caps: AudioCaps = _DEFAULT_CAPS
) -> DecodedAudio:
    """The audio of a path, of bytes, or of a binary file from where it stands; mono, own rate.

    Several channels are mixed down to their mean. A path is a path: links are never opened. A file
    whose end was cut off gives what is there; other damage is an error where the format shows it.

    Raises:
        UnreadableAudioError: there is no such file, or the bytes are not audio, or damaged.
        AudioTooLargeError: a cap is passed; nothing past it was read or decoded.
    """
    given, data = _read(source, caps.max_bytes)
    container = sniff(data)
    if container is None:
        raise UnreadableAudioError(
            f"{given} is not in an audio format that can be read: give one of {READABLE}"
        )
    decoders = [ffmpeg_blocks(data, container)]
    if container.is_sndfile:
        decoders.insert(0, sndfile_blocks(data))
    for blocks in decoders:
        try:
            return _collected(blocks, container, caps, given)
        except DecodingError as error:
            cause = error
    raise UnreadableAudioError(
        f"{given} begins like {container.name}, but {cause}. "
        "Export it again, for example as wav or flac"
    ) from cause


def _read(source: str | os.PathLike[str] | bytes | BinaryIO, max_bytes: int) -> tuple[str, bytes]:
    """What was given, in words for a message, and its bytes."""
    if isinstance(source, str | os.PathLike):
        given, data = repr(os.fspath(source)), _read_path(source, max_bytes)
    elif isinstance(source, bytes):
        given, data = f"the audio of {len(source)} bytes", source
    else:
        data = _read_capped(source, max_bytes)
        given = f"the audio of {len(data)} bytes"
    if len(data) > max_bytes:
        what = given if isinstance(source, str | os.PathLike) else "the audio"
        raise AudioTooLargeError(
            f"{what} is larger than {max_bytes / MIB:g} MiB, the most that is read. "
            "Cut it to the part that is needed, or compress it as flac or mp3"
        )
    if not data:
        raise UnreadableAudioError(f"{given} is empty: give one of {READABLE}")
    return given, data


def _read_path(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    given = os.fspath(path)
    try:
        with Path(path).open("rb") as file:
            return _read_capped(file, max_bytes)
    except (OSError, ValueError) as error:
        hint = (
            "Links are not opened: download the file first and give its name"
            if "://" in given
            else "Check the name and its folder"
        )
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UnreadableAudioError(f"{given!r} could not be read: {reason}. {hint}") from error


def _read_capped(file: BinaryIO, max_bytes: int) -> bytes:
    """The rest of the file, or one byte more than allowed."""
    pieces = []
    n_left = max_bytes + 1
    while n_left > 0 and (piece := file.read(n_left)):
        pieces.append(piece)
        n_left -= len(piece)
    return b"".join(pieces)


def _collected(
    blocks: Iterator[Block], container: Container, caps: AudioCaps, given: str
) -> DecodedAudio:
    """The blocks mixed down and joined; the first cap that is passed ends the decoding."""
    rate_hz = 0
    n_channels = 0
    n_samples = 0
    peak = 0.0
    # Grows in place and becomes the array without a copy, so the peak is the audio and an eighth.
    joined = bytearray()
    for block in blocks:
        rate_hz = rate_hz or block.sample_rate_hz
        n_channels = n_channels or block.samples.shape[1]
        n_samples += len(block.samples)
        _check_caps(block, n_samples, caps, given)
        if block.sample_rate_hz != rate_hz:
            raise UnreadableAudioError(
                f"{given} changes its sample rate from {rate_hz} to {block.sample_rate_hz} Hz on "
                "the way. Export it again at one rate"
            )
        joined += _mono(block.samples, given).tobytes()
        peak = max(peak, float(np.abs(block.samples).max(initial=0.0)))
    if not joined:
        raise UnreadableAudioError(
            f"{given} is a {container.name} without a single sample: give a file that holds audio"
        )
    mono = np.frombuffer(joined, np.float32)
    return DecodedAudio(mono, rate_hz, container.name, n_channels, peak)


def _check_caps(block: Block, n_samples: int, caps: AudioCaps, given: str) -> None:
    n_channels = block.samples.shape[1]
    if n_channels > caps.max_channels:
        raise AudioTooLargeError(
            f"{given} has {n_channels} channels; at most {caps.max_channels} are read. "
            "Mix it down to mono"
        )
    if block.sample_rate_hz > caps.max_rate_hz:
        raise AudioTooLargeError(
            f"{given} has a sample rate of {block.sample_rate_hz} Hz; at most {caps.max_rate_hz} "
            "are read. Resample it, for example to 48000"
        )
    if block.sample_rate_hz < caps.min_rate_hz:
        raise UnreadableAudioError(
            f"{given} has a sample rate of {block.sample_rate_hz} Hz; speech needs at least "
            f"{caps.min_rate_hz}. Export it again at the rate it was recorded at"
        )
    if n_samples > caps.max_seconds * block.sample_rate_hz:
        raise AudioTooLargeError(
            f"{given} is longer than {caps.max_seconds:g} s, the most that is decoded. "
            "Cut it to the part that is needed"
        )


def _mono(samples: FloatArray, given: str) -> FloatArray:
    """The mean of the channels [n] of samples [n, C].

    The sum is made in float64, where no finite float32 can overflow.
    """
    mono = samples[:, 0]
    if samples.shape[1] > 1:
        mono = samples.mean(axis=1, dtype=np.float64).astype(np.float32)
    if not np.isfinite(mono).all():
        raise UnreadableAudioError(
            f"{given} holds samples that are NaN or infinite. Export it again, for example as "
            "16-bit wav"
        )
    return mono
