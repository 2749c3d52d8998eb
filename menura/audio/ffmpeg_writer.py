"""flac, mp3, opus, aac and m4a: one FFmpeg encoder and muxer from the first sample to the last.

FFmpeg never holds the caller's sink. PyAV swallows a KeyboardInterrupt that is raised inside its
callbacks, so Ctrl-C could be lost there, and a muxer whose sink failed fails again when it is
closed. FFmpeg writes into an outbox, and the outbox is emptied into the sink between its calls.
"""

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from menura.audio.formats import AudioFormat
from menura.audio.pcm import FloatArray, to_s16
from menura.audio.resample import Resampler
from menura.audio.riff import ByteSink
from menura.audio.tags import Tags

if TYPE_CHECKING:
    import av


class FfmpegWriter:
    """One encoded stream or file; bytes reach the sink as soon as the encoder gives them."""

    def __init__(
        self,
        sink: ByteSink,
        audio_format: AudioFormat,
        sample_rate_hz: int,
        tags: Tags,
        *,
        streamed: bool,
    ) -> None:
        import av  # noqa: PLC0415

        self._sink = sink
        self._sample_format = audio_format.sample_format
        self._rate_hz = _codec_rate_hz(audio_format.codec, sample_rate_hz)
        self._resampler = (
            Resampler(sample_rate_hz, self._rate_hz) if sample_rate_hz != self._rate_hz else None
        )
        self._outbox = _Outbox() if streamed else _SeekableOutbox(sink.tell())
        self._container = av.open(
            self._outbox,
            "w",
            format=audio_format.muxer,
            container_options=_muxer_options(audio_format, self._rate_hz, streamed=streamed),
        )
        self._container.metadata.update(tags.fields())
        self._stream = _added_stream(self._container, audio_format, self._rate_hz)
        self._n_samples = 0

    def write(self, samples: FloatArray) -> None:
        """Encode the samples [n]."""
        self._encode(self._resampler.write(samples) if self._resampler else samples)

    def close(self) -> None:
        """Encode what was held back and end the file: the codec's tail, lengths, indexes."""
        if self._resampler:
            self._encode(self._resampler.close())
        self._container.start_encoding()
        self._container.mux(self._stream.encode(None))
        self._container.close()
        self._outbox.empty_into(self._sink)

    def discard(self) -> None:
        """Release the encoder; the sink gets nothing more."""
        self._container.close()

    def _encode(self, samples: FloatArray) -> None:
        import av  # noqa: PLC0415

        if not samples.size:
            return
        if self._sample_format == "s16":
            frame = av.AudioFrame.from_ndarray(to_s16(samples)[None], format="s16", layout="mono")
        else:
            clipped = np.clip(samples, -1, 1)[None]
            frame = av.AudioFrame.from_ndarray(clipped, self._sample_format, layout="mono")
        frame.sample_rate = self._rate_hz
        frame.time_base = Fraction(1, self._rate_hz)
        frame.pts = self._n_samples
        self._n_samples += samples.size
        self._container.mux(self._stream.encode(frame))
        self._outbox.empty_into(self._sink)


class _Outbox:
    """What FFmpeg wants done to the sink, in order: bytes to write, positions to move to.

    `write` is the list's own method, written in C: while FFmpeg calls it no Python code runs, and
    so no signal handler.
    """

    def __init__(self) -> None:
        self._actions: list[bytes | int] = []
        self.write = self._actions.append

    def empty_into(self, sink: ByteSink) -> None:
        """Do to the sink what was asked for since the last call."""
        actions = self._actions.copy()
        self._actions.clear()
        for action in actions:
            if isinstance(action, int):
                sink.seek(action)
            else:
                sink.write(action)


class _SeekableOutbox(_Outbox):
    """An outbox for files, whose headers are patched once, while they are closed."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self._start = start

    def seek(self, offset: int, whence: int = 0) -> int:
        """The new position; muxers that write move only from the start."""
        if whence != 0:
            raise OSError("only absolute positions are known here")
        self._actions.append(self._start + offset)
        return offset

    def tell(self) -> int:
        """Not known, and not asked for: PyAV calls it only after a seek that returned None."""
        raise OSError("the position is FFmpeg's to know")


def _added_stream(
    container: "av.container.OutputContainer", audio_format: AudioFormat, rate_hz: int
) -> "av.AudioStream":
    import av  # noqa: PLC0415

    # bitexact: the same samples give the same bytes, and no library's version is written.
    stream = container.add_stream(audio_format.codec, rate_hz, options={"flags": "+bitexact"})
    assert isinstance(stream, av.AudioStream)
    stream.codec_context.layout = "mono"
    stream.codec_context.format = audio_format.sample_format
    if audio_format.bit_rate is not None:
        stream.codec_context.bit_rate = audio_format.bit_rate
    return stream


def _codec_rate_hz(codec: str, sample_rate_hz: int) -> int:
    """The lowest rate of the codec that loses nothing, or its highest."""
    import av  # noqa: PLC0415

    rates = sorted(av.Codec(codec, "w").audio_rates or [sample_rate_hz])
    return next((rate for rate in rates if rate >= sample_rate_hz), rates[-1])


def _muxer_options(audio_format: AudioFormat, rate_hz: int, *, streamed: bool) -> dict[str, str]:
    options = {"fflags": "+bitexact", **audio_format.options}
    if streamed:
        return {**options, "flush_packets": "1", **audio_format.stream_options}
    if audio_format.muxer == "ipod":
        # The edit list counts in these units; FFmpeg's milliseconds would round the length.
        options["movie_timescale"] = str(rate_hz)
    return options
