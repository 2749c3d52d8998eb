"""The codec as the engine uses it: recordings to codes, codes to samples, whole or streamed.

Codes are decoded on a grid: chunks of 300 frames, each from a fresh state with the 25 frames before
it as context, whose samples are cut. The grid is part of the numbers: the frames after a boundary
know less of the past than without it. A stream keeps the same grid, so that it gives the same
samples (up to rounding) in pieces of any size, and decodes every other frame once.

Legend: Q codebooks, T frames, n samples.
"""

import math
from collections.abc import Callable
from functools import cached_property
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from menura.audio.resample import resample
from menura.engines.qwen3_tts.codec_encoder import CodecEncoder
from menura.engines.qwen3_tts.config import CodecConfig
from menura.errors import InvalidValueError

FloatArray = npt.NDArray[np.float32]
CodeArray = npt.NDArray[np.int64]

# parity: upstream's grid. It stands in no configuration file; other sizes give other samples.
CHUNK_FRAMES = 300
CONTEXT_FRAMES = 25


class State(Protocol):
    """What a decoder remembers between the pieces of one utterance."""

    def copy(self) -> Self:
        """The same state, to go on from on its own."""
        ...


class Decoder(Protocol):
    """Codes to samples: `CodecDecoder`, or what stands in its place."""

    @property
    def device(self) -> torch.device:
        """Where the codes must be."""
        ...

    def new_state(self) -> State:
        """The state before an utterance's first frame."""
        ...

    def __call__(self, codes: Tensor, state: State | None = None) -> Tensor:
        """The samples [1, T * samples_per_frame] of codes [1, Q, T]; the state moves on."""
        ...

    def hear(self, codes: Tensor, state: State) -> None:
        """Move the state on as a call with these codes [1, Q, T] does, without their samples."""
        ...


class Codec:
    """Both directions of the codec. `encode` takes any sample rate, `decode` gives its own.

    `encoder` gives the encoder, and is asked when the first recording comes.
    """

    def __init__(
        self, encoder: Callable[[], CodecEncoder], decoder: Decoder, config: CodecConfig
    ) -> None:
        self._encoder = encoder
        self.decoder = decoder
        self.config = config

    @cached_property
    def encoder(self) -> CodecEncoder:
        """Samples to codes."""
        return self._encoder()

    @property
    def sample_rate_hz(self) -> int:
        """The rate of the decoded samples."""
        return self.config.sample_rate_hz

    @property
    def samples_per_frame(self) -> int:
        """How many samples a frame is decoded to."""
        return self.config.samples_per_frame

    @property
    def n_codebooks(self) -> int:
        """How many codes a frame has."""
        return self.config.n_codebooks

    @torch.inference_mode()
    def encode(self, samples: FloatArray, rate_hz: int) -> CodeArray:
        """The codes [T, Q] of a recording [n] at `rate_hz`; its last, partial frame is padded.

        Raises: InvalidValueError: there is no sample, more than one channel, or NaN or infinity.
        """
        if samples.ndim != 1 or not samples.size or not np.isfinite(samples).all():
            raise InvalidValueError(
                f"samples of the shape {list(samples.shape)} cannot be encoded; give one channel "
                "with at least one sample, without NaN and infinity",
                param="samples",
            )
        heard = torch.from_numpy(at_rate(samples, rate_hz, self.config.input_rate_hz))
        codes: Tensor = self.encoder(heard.to(self.encoder.downsample.conv.weight)[None])
        return np.ascontiguousarray(codes[0].T.cpu().numpy())

    @torch.inference_mode()
    def decode(self, codes: CodeArray) -> FloatArray:
        """The samples [T * samples_per_frame] in -1..1 of all codes [T, Q] of an utterance.

        Raises: InvalidValueError: the shape is another one, or a code is not in its codebook.
        """
        frames = _checked(codes, self.config)
        chunks = [np.zeros(0, np.float32)]
        for start in range(0, len(frames), CHUNK_FRAMES):
            context = min(start, CONTEXT_FRAMES)
            chunk = frames[start - context : start + CHUNK_FRAMES]
            samples = _samples(self.decoder(_batch(chunk, self.decoder)))
            chunks.append(samples[context * self.samples_per_frame :])
        return np.concatenate(chunks)

    def stream(self) -> "CodecStream":
        """A new utterance, to be decoded piece by piece."""
        return CodecStream(self.decoder, self.config)


class CodecStream:
    """One utterance decoded piece by piece: the pieces join to `Codec.decode` of the whole."""

    def __init__(self, decoder: Decoder, config: CodecConfig) -> None:
        self._decoder = decoder
        self._config = config
        self._state = decoder.new_state()
        self._recent = np.zeros((0, config.n_codebooks), np.int64)
        self.n_frames = 0

    @torch.inference_mode()
    def decode(self, codes: CodeArray, decoder: Decoder | None = None) -> FloatArray:
        """The samples [T * samples_per_frame] in -1..1 of the utterance's next codes [T, Q].

        `decoder` takes the place of the stream's own; its states must be of the same kind.

        Raises: InvalidValueError: as `Codec.decode`; the stream has not moved then.
        """
        frames = _checked(codes, self._config)
        pieces = [np.zeros(0, np.float32)]
        while len(frames):
            room = CHUNK_FRAMES - self.n_frames % CHUNK_FRAMES
            pieces.append(self._decode_in_chunk(frames[:room], decoder or self._decoder))
            frames = frames[room:]
        return np.concatenate(pieces)

    @torch.inference_mode()
    def hear(self, codes: CodeArray) -> None:
        """Go on to the point after the next codes [T, Q], whose samples nobody wants.

        Raises: InvalidValueError: as `Codec.decode`; the stream has not moved then.
        """
        frames = _checked(codes, self._config)
        # Of the chunks before the last one, its context is all that is remembered.
        last_start = (self.n_frames + len(frames) - 1) // CHUNK_FRAMES * CHUNK_FRAMES
        n_passed = max(0, last_start - self.n_frames)
        self._note(frames[:n_passed])
        if n_passed < len(frames):
            _, batch = self._batch_in_chunk(frames[n_passed:])
            self._decoder.hear(batch, self._state)
            self._note(frames[n_passed:])

    def copy(self) -> Self:
        """The same point of the utterance, to go on from on its own, as often as wanted.

        A clone's reference is heard once and copied for every utterance of its voice.
        """
        twin = type(self)(self._decoder, self._config)
        twin._state = self._state.copy()
        twin._recent = self._recent
        twin.n_frames = self.n_frames
        return twin

    def _decode_in_chunk(self, frames: CodeArray, decoder: Decoder) -> FloatArray:
        """The samples [T * samples_per_frame] of frames [T, Q] that lie in one chunk."""
        n_context, batch = self._batch_in_chunk(frames)
        samples = _samples(decoder(batch, self._state))
        self._note(frames)
        return samples[n_context * self._config.samples_per_frame :]

    def _batch_in_chunk(self, frames: CodeArray) -> tuple[int, Tensor]:
        """How much context is in front, and the batch [1, Q, T]; a new chunk has a new state."""
        context = self._recent[:0]
        if self.n_frames and self.n_frames % CHUNK_FRAMES == 0:
            self._state = self._decoder.new_state()
            context = self._recent
        return len(context), _batch(np.concatenate([context, frames]), self._decoder)

    def _note(self, frames: CodeArray) -> None:
        self._recent = np.concatenate([self._recent, frames])[-CONTEXT_FRAMES:]
        self.n_frames += len(frames)


def at_rate(samples: FloatArray, from_hz: int, to_hz: int) -> FloatArray:
    """The samples [n] at another rate [ceil(n * to / from)]: what upstream's models hear.

    parity: upstream rounds the length up, in float64, and fills the rest with silence.
    """
    resampled = resample(samples.astype(np.float32, copy=False), from_hz, to_hz)
    n_wanted = math.ceil(len(samples) * (to_hz / from_hz))
    n_missing = max(0, n_wanted - len(resampled))
    return np.pad(resampled[:n_wanted], (0, n_missing))


def _checked(codes: CodeArray, config: CodecConfig) -> CodeArray:
    """The codes [T, Q], which the decoder can take."""
    if codes.ndim != 2 or codes.shape[1] != config.n_codebooks or codes.dtype.kind not in "iu":
        raise InvalidValueError(
            f"codes of the shape {list(codes.shape)} and type {codes.dtype} cannot be decoded; "
            f"give whole numbers [frames, {config.n_codebooks}]",
            param="codes",
        )
    last = config.decoder.codebook_size - 1
    if codes.size and not 0 <= codes.min() <= codes.max() <= last:
        raise InvalidValueError(
            f"codes from {codes.min()} to {codes.max()} cannot be decoded; "
            f"the codebooks have the codes 0 to {last}",
            param="codes",
        )
    return codes.astype(np.int64, copy=False)


def _batch(frames: CodeArray, decoder: Decoder) -> Tensor:
    """The frames [T, Q] as a batch of one row [1, Q, T] on the decoder's device."""
    codes = torch.from_numpy(np.array(frames.T, order="C"))
    return codes.to(decoder.device)[None]


def _samples(rows: Tensor) -> FloatArray:
    """The samples [n] of the only row of [1, n], on the CPU."""
    samples: FloatArray = rows[0].float().cpu().numpy()
    return samples
