"""The autoencoder as the engine uses it: 44.1 kHz samples to latents z_q, z_q to samples.

Both ways are causal, so a clip is walked in pieces with the state that the piece before left, in
the memory of one piece, and a stream decodes every latent once.

Legend: n samples, T latents, C channels of a latent, Q codebooks.
"""

from typing import Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from menura.engines.echo_tts.autoencoder_decoder import AutoencoderDecoder
from menura.engines.echo_tts.autoencoder_encoder import AutoencoderEncoder
from menura.engines.echo_tts.bottleneck import Quantizer
from menura.engines.echo_tts.config import AutoencoderConfig
from menura.engines.echo_tts.windowed_transformer import CausalState
from menura.errors import InvalidValueError
from menura.nn.causal_conv import pieces_of
from menura.speech import FloatArray

# The longest piece that is encoded at once: 6 s of the published model.
PIECE_FRAMES = 128


class Autoencoder:
    """Both directions of the autoencoder. All samples have its own rate."""

    def __init__(
        self,
        encoder: AutoencoderEncoder,
        quantizer: Quantizer,
        decoder: AutoencoderDecoder,
        config: AutoencoderConfig,
    ) -> None:
        self.encoder = encoder
        self.quantizer = quantizer
        self.decoder = decoder
        self.config = config

    @torch.inference_mode()
    def encode(self, samples: FloatArray) -> FloatArray:
        """z_q [ceil(n / samples_per_frame), C] of samples [n]: the sum of the codes' entries.

        The last, partial frame is filled with silence.

        Raises: InvalidValueError: there is no sample, more than one channel, or NaN or infinity.
        """
        return _rows(self.quantizer.decode(self._codes(samples)))

    @torch.inference_mode()
    def codes(self, samples: FloatArray) -> npt.NDArray[np.int64]:
        """The codes [ceil(n / samples_per_frame), Q] of samples [n]; the semantic one first.

        Raises: InvalidValueError: as `encode`.
        """
        return np.ascontiguousarray(self._codes(samples)[0].T.cpu().numpy())

    @torch.inference_mode()
    def decode(self, z_q: FloatArray) -> FloatArray:
        """The samples [T * samples_per_frame] in -1..1 of all latents z_q [T, C] of an utterance.

        Raises: InvalidValueError: the shape is another one, or a value is NaN or infinite.
        """
        return self.stream().decode(z_q)

    def stream(self) -> "AutoencoderStream":
        """A new utterance, to be decoded piece by piece."""
        return AutoencoderStream(self)

    def _codes(self, samples: FloatArray) -> Tensor:
        """The codes int64 [1, Q, T] of samples [n], piece by piece."""
        if samples.ndim != 1 or not samples.size or not np.isfinite(samples).all():
            raise InvalidValueError(
                f"samples of the shape {list(samples.shape)} cannot be encoded; give one channel "
                "with at least one sample, without NaN and infinity",
                param="samples",
            )
        frame = self.config.samples_per_frame
        padded = np.pad(samples, (0, -len(samples) % frame))
        heard = torch.from_numpy(padded).to(self.encoder.output_conv.conv.weight)[None]
        state = CausalState()
        codes = [
            self.quantizer.encode(self.encoder(piece, state), state)
            for piece in pieces_of(heard, PIECE_FRAMES * frame)
        ]
        return torch.cat(codes, dim=-1)


class AutoencoderStream:
    """One utterance decoded piece by piece: the pieces join to `Autoencoder.decode` of the whole.

    Up to rounding: sums over other numbers of latents round differently.
    """

    def __init__(self, autoencoder: Autoencoder) -> None:
        self._autoencoder = autoencoder
        self._state = CausalState()

    @torch.inference_mode()
    def decode(self, z_q: FloatArray) -> FloatArray:
        """The samples [T * samples_per_frame] in -1..1 of the utterance's next latents [T, C].

        Raises: InvalidValueError: as `Autoencoder.decode`; the stream has not moved then.
        """
        parts = self._autoencoder
        size = parts.config.latent_dim
        if z_q.ndim != 2 or z_q.shape[1] != size or not np.isfinite(z_q).all():
            raise InvalidValueError(
                f"latents of the shape {list(z_q.shape)} cannot be decoded; give finite numbers "
                f"[frames, {size}]",
                param="z_q",
            )
        if not len(z_q):
            return np.zeros(0, np.float32)
        channels = torch.from_numpy(np.array(z_q.T, order="C"))[None]
        channels = channels.to(parts.decoder.output_conv.conv.weight)
        hidden = parts.quantizer.upsample(channels, self._state)
        samples: FloatArray = parts.decoder(hidden, self._state)[0].float().cpu().numpy()
        return samples

    def copy(self) -> Self:
        """The same point of the utterance, to go on from on its own, as often as wanted."""
        twin = type(self)(self._autoencoder)
        twin._state = self._state.copy()
        return twin


def _rows(channels: Tensor) -> FloatArray:
    """The latents [T, C] of the only row of [1, C, T], on the CPU."""
    return np.ascontiguousarray(channels[0].T.float().cpu().numpy())
