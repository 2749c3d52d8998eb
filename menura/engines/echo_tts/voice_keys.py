"""The speaker's keys and values, computed once for each voice and kept while there is room.

They depend on the voice alone, and a long reference's take seconds on a CPU.

Legend: T latents, C latent channels.
"""

import hashlib

import torch

from menura.engines.echo_tts.dit import EchoDiT, Keys
from menura.runtime.recently_used import RecentlyUsed
from menura.speech import FloatArray

MAX_BYTES = 2**30
"""Room for the longest reference in float32, or for some fifty of 10 s."""


class VoiceKeys:
    """Keys by the digest of a voice's latents; those that were not used for longest go first."""

    def __init__(self, dit: EchoDiT, max_bytes: int = MAX_BYTES) -> None:
        self._dit = dit
        self._kept: RecentlyUsed[bytes, Keys] = RecentlyUsed(max_bytes, n_bytes)

    @torch.inference_mode()
    def of(self, latents: FloatArray) -> Keys:
        """The speaker's keys for latents [T, C]. One voice too large for the room is not kept."""
        digest = hashlib.sha256(latents.tobytes()).digest()
        keys = self._kept.get(digest)
        if keys is None:
            keys = self._dit.speaker_keys(torch.from_numpy(latents.copy()))
            self._kept.keep(digest, keys)
        return keys


def n_bytes(keys: Keys) -> int:
    """The memory of one set of keys and values, in bytes."""
    return sum(key.nbytes + value.nbytes for key, value in keys)
