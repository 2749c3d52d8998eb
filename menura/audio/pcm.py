"""Samples as numbers: the one check and the one rounding rule that every encoder uses.

Legend: n samples. Audio is mono float32 in [-1, 1] everywhere inside Menura.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from menura.errors import InvalidValueError, NumericsError

FloatArray: TypeAlias = npt.NDArray[np.float32]
S16Array: TypeAlias = npt.NDArray[np.int16]

FULL_SCALE = 32_768


def checked(samples: npt.ArrayLike) -> FloatArray:
    """The samples as float32 [n], once it is certain that an encoder can write them.

    Raises:
        InvalidValueError: the array has more than one axis.
        NumericsError: a sample is NaN or infinite.
    """
    mono = np.asarray(samples, dtype=np.float32)
    if mono.ndim != 1:
        raise InvalidValueError(
            f"samples of shape {mono.shape} cannot be written: give mono audio of shape [n]",
            param="samples",
        )
    finite = np.isfinite(mono)
    if not finite.all():
        first = int(np.argmin(finite))
        raise NumericsError(
            f"sample {first} of {mono.size} is {mono[first]}, not a number that can be written: "
            "this piece of audio was not written. The model's numbers overflowed; "
            "try another seed or precision"
        )
    return mono


def to_s16(samples: FloatArray) -> S16Array:
    """The samples [n] as little-endian 16-bit integers [n]: clipped, x * 32768, half to even.

    Readers divide by 32768, so 16-bit audio that is read and written again does not change.
    wav, flac and pcm all use this function and therefore hold equal samples.
    """
    scaled: FloatArray = np.rint(np.clip(samples, -1, 1) * np.float32(FULL_SCALE))
    return np.minimum(scaled, FULL_SCALE - 1).astype("<i2")
