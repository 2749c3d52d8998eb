"""The latents that the diffusion model speaks: a linear projection of the autoencoder's z_q.

Also where speech ends in them, and those of a recording.

Legend: T latents, L channels of a latent (80), C channels of z_q (1024), n samples.
"""

import numpy as np
import torch
from numpy.lib.stride_tricks import sliding_window_view
from torch import Tensor

from menura.engines.echo_tts.autoencoder import Autoencoder
from menura.speech import FloatArray

# Upstream's own numbers: they stand in no configuration file.
CHUNK_FRAMES = 640
LONGEST_FRAMES = 6400
PATCH_FRAMES = 4
FLAT_FRAMES = 20
FLAT_STD = 0.05
FLAT_MEAN = 0.1


class LatentProjection:
    """z_q to latents and back: principal components of the training data, scaled.

    Nothing needs the components to be orthonormal, so the two ways need not be inverse.
    """

    def __init__(self, components: Tensor, mean: Tensor, scale: Tensor) -> None:
        self.components = components
        self.mean = mean
        self.scale = scale

    @torch.inference_mode()
    def to_latents(self, z_q: FloatArray) -> FloatArray:
        """The latents [T, L] of z_q [T, C]."""
        centred = torch.from_numpy(z_q).to(self.mean) - self.mean
        latents: FloatArray = ((centred @ self.components.T) * self.scale).cpu().numpy()
        return latents

    @torch.inference_mode()
    def to_z_q(self, latents: FloatArray) -> FloatArray:
        """z_q [T, C] of latents [T, L]."""
        unscaled = torch.from_numpy(latents).to(self.mean) / self.scale
        z_q: FloatArray = (unscaled @ self.components + self.mean).cpu().numpy()
        return z_q


def flattening_point(latents: FloatArray) -> int:
    """How many of the latents [T, L] come before the first flat stretch; T where none is flat.

    Flat: 20 frames whose values hardly spread and lie around zero. After the last frame, zeros are
    taken to follow.
    """
    n_frames, n_channels = latents.shape
    padded = np.zeros((n_frames + FLAT_FRAMES, n_channels))
    padded[:n_frames] = latents
    n_values = FLAT_FRAMES * n_channels
    sums = sliding_window_view(padded.sum(1), FLAT_FRAMES).sum(1)
    squares = sliding_window_view(np.square(padded).sum(1), FLAT_FRAMES).sum(1)
    means = sums / n_values
    variances = (squares - sums * means) / (n_values - 1)
    is_flat = (variances < FLAT_STD**2) & (np.abs(means) < FLAT_MEAN)
    # The last stretch is the zeros alone, so there is always one.
    return int(np.argmax(is_flat))


def speaker_latents(
    autoencoder: Autoencoder,
    projection: LatentProjection,
    samples: FloatArray,
    *,
    chunk_frames: int = CHUNK_FRAMES,
) -> FloatArray:
    """The latents [T, L] of a recording's samples [n]: of its whole frames, in whole patches.

    What goes beyond the longest recording that the model was made for is not heard.

    parity: every chunk of 640 frames is encoded alone, as if the recording began there.
    """
    frame = autoencoder.config.samples_per_frame
    n_frames = min(len(samples) // frame, LONGEST_FRAMES) // PATCH_FRAMES * PATCH_FRAMES
    latents = [np.zeros((0, len(projection.components)), np.float32)]
    for first in range(0, n_frames, chunk_frames):
        last = min(first + chunk_frames, n_frames)
        z_q = autoencoder.encode(samples[first * frame : last * frame])
        latents.append(projection.to_latents(z_q))
    return np.concatenate(latents)
