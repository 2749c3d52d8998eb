"""From a row's latents to the samples that it hands over: whole, or in pieces.

The autoencoder hears the latents of the segment before first where an utterance goes on from it;
their samples are not handed over.

Legend: T latents, C latent channels, n samples.
"""

from typing import Protocol

import numpy as np

from menura.engines.echo_tts.autoencoder import Autoencoder
from menura.engines.echo_tts.latents import LatentProjection
from menura.speech import FloatArray


class Playout(Protocol):
    """Turns one utterance's latents into samples."""

    @property
    def n_waiting(self) -> int:
        """The latents whose samples have not been handed over."""
        ...

    @property
    def is_due(self) -> bool:
        """Whether samples can be made now."""
        ...

    def add(self, latents: FloatArray, *, is_last: bool) -> None:
        """Take in the next latents [T, C] of the speech."""
        ...

    def next(self) -> FloatArray:
        """The next samples [n]; only where some are due."""
        ...


class Decoding:
    """Latents to samples: the projection and the autoencoder of one loaded model."""

    def __init__(self, autoencoder: Autoencoder, projection: LatentProjection) -> None:
        self.autoencoder = autoencoder
        self.projection = projection

    def whole(self, latents: FloatArray) -> FloatArray:
        """The samples [n] of latents [T, C], in one call."""
        return self.autoencoder.decode(self.projection.to_z_q(latents))


class WholePlayout:
    """Everything at the end, in one call like upstream's."""

    def __init__(self, decoding: Decoding, before: FloatArray | None) -> None:
        self._decoding = decoding
        self._n_before = 0 if before is None else len(before)
        self._latents = [] if before is None else [before]
        self._is_last = False
        self.n_waiting = 0

    @property
    def is_due(self) -> bool:
        """Whether all latents are there."""
        return self._is_last and self.n_waiting > 0

    def add(self, latents: FloatArray, *, is_last: bool) -> None:
        """Keep the latents [T, C]."""
        self._latents.append(latents)
        self.n_waiting += len(latents)
        self._is_last = is_last

    def next(self) -> FloatArray:
        """All samples [n], without those of the segment before."""
        samples = self._decoding.whole(np.concatenate(self._latents))
        self.n_waiting = 0
        frame = self._decoding.autoencoder.config.samples_per_frame
        return samples[self._n_before * frame :]


class PiecewisePlayout:
    """Pieces of at most so many latents, the first one shorter so that it comes soon."""

    def __init__(
        self, decoding: Decoding, before: FloatArray | None, first_frames: int, later_frames: int
    ) -> None:
        self._projection = decoding.projection
        self._stream = decoding.autoencoder.stream()
        self._before = before
        self._most = first_frames
        self._later_frames = later_frames
        self._pieces: list[FloatArray] = []

    @property
    def n_waiting(self) -> int:
        """The latents whose samples have not been handed over."""
        return sum(map(len, self._pieces))

    @property
    def is_due(self) -> bool:
        """Whether a piece can be decoded now."""
        return bool(self._pieces)

    def add(self, latents: FloatArray, *, is_last: bool) -> None:
        """Cut the latents [T, C] into pieces; what came together is not kept for later ones."""
        del is_last
        while len(latents):
            self._pieces.append(latents[: self._most])
            latents = latents[self._most :]
            self._most = self._later_frames

    def next(self) -> FloatArray:
        """The samples [n] of the next piece."""
        if self._before is not None:
            self._stream.decode(self._projection.to_z_q(self._before))
            self._before = None
        return self._stream.decode(self._projection.to_z_q(self._pieces.pop(0)))
