"""Where random numbers come from: a seed for each segment and attempt, a source for each row."""

import hashlib
import secrets

import numpy as np

from menura.speech import MAX_SEED, FloatArray


def derive(seed: int, segment: int, attempt: int) -> int:
    """The seed of one attempt at one segment: the seed itself for the first of both.

    So a single segment can be made again alone, from the seed that its report shows.
    """
    if segment == 0 and attempt == 0:
        return seed
    digest = hashlib.sha256(f"{seed}/{segment}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % (MAX_SEED + 1)


def fresh_seed() -> int:
    """A seed drawn by the operating system, below 2^53: every reader of JSON keeps it whole."""
    return secrets.randbelow(2**53)


class SeedNoise:
    """Standard normal numbers from a seed, one independent stream for each name, by numpy."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, np.random.Generator] = {}

    @property
    def seed(self) -> int:
        """The seed behind the draws."""
        return self._seed

    def draw(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        """The next standard normal numbers [shape] of the named stream."""
        if name not in self._streams:
            words = hashlib.sha256(name.encode()).digest()
            self._streams[name] = np.random.default_rng([self._seed, *words])
        return self._streams[name].standard_normal(shape, dtype=np.float32)
