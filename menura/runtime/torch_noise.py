"""Noise for engines made of torch: one generator a row, drawn from in the order of the calls.

`Tensor.multinomial` with one sample is the largest of p / q, where each q is drawn from the unit
exponential distribution. Whoever is given the q's of a generator therefore draws what multinomial
draws from that generator.
"""

import torch
from torch import Tensor

LATENTS = "latents"
"""The stream of standard normal numbers, for models that make latents out of them."""


class TorchNoise:
    """The numbers that `torch.Generator().manual_seed(seed)` gives, on the CPU.

    The generator stands on the CPU whatever the device, so a seed means the same draws on all.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generator = torch.Generator().manual_seed(seed)

    @property
    def seed(self) -> int:
        """The seed behind the draws."""
        return self._seed

    def draw(self, name: str, shape: tuple[int, ...]) -> Tensor:
        """The next numbers float32 [shape]; all names share the one stream.

        They are standard normal for `LATENTS`, and unit exponential for every other name.
        """
        if name == LATENTS:
            return torch.randn(shape, dtype=torch.float32, generator=self._generator)
        numbers = torch.empty(shape, dtype=torch.float32)
        return numbers.exponential_(generator=self._generator)
