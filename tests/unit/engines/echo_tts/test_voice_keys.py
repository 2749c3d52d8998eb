from typing import cast

import numpy as np
import torch
from torch import Tensor

from menura.engines.echo_tts.dit import EchoDiT, Keys
from menura.engines.echo_tts.voice_keys import VoiceKeys, n_bytes
from menura.speech import FloatArray


class Counted:
    """Makes keys of as many positions as there are latents, and counts how often it was asked."""

    def __init__(self) -> None:
        self.n_calls = 0

    def speaker_keys(self, latents: Tensor) -> Keys:
        """Two layers of keys and values [S, 1, 4]: 32 bytes a position in each layer."""
        self.n_calls += 1
        keys = torch.full((len(latents), 1, 4), float(latents[0, 0]))
        return ((keys, keys.clone()), (keys.clone(), keys.clone()))


def latents(n_frames: int, number: float) -> FloatArray:
    return np.full((n_frames, 80), number, np.float32)


def test_a_voices_keys_are_made_once() -> None:
    dit = Counted()
    kept = VoiceKeys(cast("EchoDiT", dit))
    first = kept.of(latents(4, 1))
    assert kept.of(latents(4, 1)) is first
    assert dit.n_calls == 1
    assert float(kept.of(latents(4, 2))[0][0][0, 0, 0]) == 2.0
    assert dit.n_calls == 2


def test_the_voice_that_was_not_used_for_longest_goes_first() -> None:
    dit = Counted()
    kept = VoiceKeys(cast("EchoDiT", dit), max_bytes=2 * 4 * 64)
    for number in (1, 2, 1, 3):  # the third voice takes the second one's place
        kept.of(latents(4, number))
    assert dit.n_calls == 3
    kept.of(latents(4, 1))
    assert dit.n_calls == 3
    kept.of(latents(4, 2))
    assert dit.n_calls == 4


def test_a_voice_that_is_too_large_is_used_and_not_kept() -> None:
    dit = Counted()
    kept = VoiceKeys(cast("EchoDiT", dit), max_bytes=100)
    assert n_bytes(kept.of(latents(4, 1))) == 256
    kept.of(latents(4, 1))
    assert dit.n_calls == 2
