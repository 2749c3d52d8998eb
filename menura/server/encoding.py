"""One speech's samples to bytes, by one continuous encoder that never stalls the event loop.

Every answer has one encoder, from its first sample to its last, whatever the format. Its steps are
short, so they run where they are called; a step that takes long (much audio, or the first one,
which may have to load FFmpeg) runs in a thread, and the next step waits for it.
"""

import asyncio
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from menura.audio.encoders import FORMATS, Encoder
from menura.audio.pcm import FloatArray, checked
from menura.audio.resample import Resampler
from menura.audio.tags import NO_TAGS, Tags
from menura.errors import InvalidValueError, did_you_mean

SERVED_FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")
FLOATS = "f32"  # float32 little-endian at the model's own rate, for Menura's own clients
_FLOATS_MEDIA_TYPE = "application/octet-stream"

# Clients of OpenAI's API take pcm for 24 kHz without asking.
PCM_RATE_HZ = 24_000

# Half a second of audio is encoded in 10 ms at most; a hop to a thread costs a tenth of one.
_AT_ONCE_S = 0.5
# These take 5 to 10 ms for a second of audio, and some models give ten seconds at once.
_SLOW_FORMATS = frozenset({"mp3", "opus", "aac"})
_BEGINNING_S = 0.25


@dataclass(frozen=True)
class AudioWish:
    """The bytes that a client asked for; without `rate_hz` at the model's rate (pcm: 24 kHz).

    `whole`: the bytes of a file with true lengths, known only when all of it is spoken.
    """

    format: str = "mp3"
    rate_hz: int | None = None
    whole: bool = False

    @property
    def media_type(self) -> str:
        """The bytes' type, as `Content-Type` says it."""
        return FORMATS[self.format].media_type if self.format in FORMATS else _FLOATS_MEDIA_TYPE

    def rate_for(self, model_rate_hz: int) -> int:
        """The rate of the samples that are encoded, where the model speaks at this one."""
        if self.rate_hz is not None:
            return self.rate_hz
        return PCM_RATE_HZ if self.format == "pcm" else model_rate_hz


def checked_format(name: str, param: str = "response_format") -> str:
    """The name of a format that is served, from a name in any case.

    Raises: InvalidValueError: there is no such format.
    """
    folded = name.casefold()
    if folded not in (*SERVED_FORMATS, FLOATS):
        raise InvalidValueError(
            f"{param} {name!r} is not one of: {', '.join(SERVED_FORMATS)}."
            + did_you_mean(name, SERVED_FORMATS),
            param=param,
        )
    return folded


def load_ffmpeg() -> None:
    """Nothing; after it the first answer in mp3 need not wait half a second for FFmpeg."""
    with Encoder(io.BytesIO(), "mp3", PCM_RATE_HZ, streamed=True):
        pass


class SpeechEncoder:
    """The bytes of one speech: `write` any number of times, then `close`; or `discard` at any time.

    One call at a time. Its memory does not grow with the audio, but for a `whole` wish's bytes.
    """

    def __init__(self, wish: AudioWish, model_rate_hz: int, tags: Tags = NO_TAGS) -> None:
        self.rate_hz = wish.rate_for(model_rate_hz)
        self._n_at_once = round(_AT_ONCE_S * model_rate_hz)
        has_beginning = wish.format in _SLOW_FORMATS and not wish.whole
        self._n_beginning = round(_BEGINNING_S * model_rate_hz) if has_beginning else 0
        self._line = _Line(wish, model_rate_hz, self.rate_hz, tags)
        self._work: asyncio.Task[bytes] | None = None

    def pieces(self, samples: FloatArray) -> Iterator[FloatArray]:
        """The samples [n] as they are best written, one after another.

        The speech's beginning is apart from the rest: it is heard while that is encoded.
        """
        yield samples[: self._n_beginning]
        yield samples[self._n_beginning :]
        self._n_beginning = 0

    async def write(self, samples: FloatArray) -> bytes:
        """The bytes that are certain after these samples [n] at the model's rate; maybe none.

        Raises: NumericsError: a sample is NaN or infinite.
        """
        if not samples.size:
            return b""
        return await self._done(partial(self._line.write, samples), samples.size)

    async def close(self) -> bytes:
        """The bytes that were held back, and the end; for a `whole` wish all the bytes."""
        return await self._done(self._line.close, 0)

    def discard(self) -> None:
        """Nothing; the encoder is released, if a thread still works in it as soon as that ends."""
        if self._work is None or self._work.done():
            self._line.discard()
        else:
            self._work.add_done_callback(lambda _: self._line.discard())

    async def _done(self, step: Callable[[], bytes], n_samples: int) -> bytes:
        """What the step gives. If the caller is cancelled, a step in a thread ends by itself."""
        if self._line.is_open and n_samples <= self._n_at_once:
            return step()
        self._work = asyncio.create_task(asyncio.to_thread(step))
        return await asyncio.shield(self._work)


class _Writer(Protocol):
    def write(self, samples: FloatArray) -> None: ...
    def close(self) -> None: ...
    def discard(self) -> None: ...


class _Line:
    """Resampler, encoder and the bytes that came out, opened at the first use. Knows no loop."""

    def __init__(self, wish: AudioWish, from_hz: int, to_hz: int, tags: Tags) -> None:
        self._wish = wish
        self._from_hz, self._to_hz = from_hz, to_hz
        self._tags = tags
        self._sink = io.BytesIO()
        self._resampler: Resampler | None = None
        self._writer: _Writer | None = None

    @property
    def is_open(self) -> bool:
        """Whether the codec's library is loaded and its encoder stands."""
        return self._writer is not None

    def write(self, samples: FloatArray) -> bytes:
        """The bytes that are certain after these samples [n]."""
        writer = self._opened()
        if self._resampler is not None:
            samples = self._resampler.write(samples)
        writer.write(samples)
        return b"" if self._wish.whole else self._taken()

    def close(self) -> bytes:
        """The bytes that were held back; all of them for a whole file."""
        writer = self._opened()
        if self._resampler is not None:
            writer.write(self._resampler.close())
        writer.close()
        return self._taken()

    def discard(self) -> None:
        """Nothing; the encoder is released."""
        if self._writer is not None:
            self._writer.discard()

    def _opened(self) -> _Writer:
        if self._writer is None:
            if self._from_hz != self._to_hz:
                self._resampler = Resampler(self._from_hz, self._to_hz)
            if self._wish.format == FLOATS:
                self._writer = _FloatWriter(self._sink)
            else:
                self._writer = Encoder(
                    self._sink,
                    self._wish.format,
                    self._to_hz,
                    streamed=not self._wish.whole,
                    tags=self._tags,
                )
        return self._writer

    def _taken(self) -> bytes:
        """The bytes that came out since the last call."""
        taken = self._sink.getvalue()
        self._sink.seek(0)
        self._sink.truncate()
        return taken


class _FloatWriter:
    """Samples as they are, 4 bytes each."""

    def __init__(self, sink: io.BytesIO) -> None:
        self._sink = sink

    def write(self, samples: FloatArray) -> None:
        """Write the samples [n]. Raises: NumericsError."""
        self._sink.write(checked(samples).astype("<f4", copy=False).tobytes())

    def close(self) -> None:
        """Nothing: raw samples have no end."""

    def discard(self) -> None:
        """Nothing: there is no state to release."""
