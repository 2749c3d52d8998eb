"""How loud a recording is, block by block, and where in it something is heard."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from menura.audio.pcm import FloatArray

BoolArray: TypeAlias = npt.NDArray[np.bool_]
Span: TypeAlias = tuple[float, float]

BLOCK_S = 0.02
END_S = 0.06  # sound up to here from an end means that the recording was cut in it
_QUIET = 0.03  # of the loudest block: 30 dB below it nothing is said
_OVER_NOISE = 2.0
_MOST = 0.25  # of the loudest block: so much is heard, whatever the noise
_BLOCKS_AT_ONCE = 1000


def block_levels(samples: FloatArray, rate_hz: int) -> FloatArray:
    """The loudness (RMS) of each block [m] of the samples [n]; the last is filled with silence.

    The squares are summed in float64, where those of any float32 fit, a few blocks at a time.
    """
    n_block = block_length(rate_hz)
    n_at_once = _BLOCKS_AT_ONCE * n_block
    pieces = []
    for start in range(0, len(samples), n_at_once):
        piece = samples[start : start + n_at_once].astype(np.float64)
        whole = np.pad(piece, (0, -len(piece) % n_block)).reshape(-1, n_block)
        pieces.append(np.sqrt(np.mean(whole**2, axis=1)).astype(np.float32))
    return np.concatenate(pieces) if pieces else np.zeros(0, np.float32)


def block_length(rate_hz: int) -> int:
    """The samples of one block."""
    return max(1, round(BLOCK_S * rate_hz))


def noise_floor(levels: FloatArray) -> float:
    """The loudness of the quiet moments among blocks [m]: in speech there always are some."""
    return float(np.percentile(levels, 5)) if levels.size else 0.0


def heard_blocks(levels: FloatArray) -> BoolArray:
    """In which of the blocks [m] something is heard above the noise, or 30 dB below the loudest."""
    loudest = float(levels.max(initial=0.0))
    over_noise = min(_OVER_NOISE * noise_floor(levels), _MOST * loudest)
    return np.asarray(levels > max(_QUIET * loudest, over_noise))


def ends_in_sound(heard: BoolArray) -> bool:
    """Whether the last of the blocks [m] are heard, so that the recording was cut in a sound.

    Where nothing is ever quiet, the end is no different from any other place.
    """
    n_last = max(1, round(END_S / BLOCK_S))
    return bool(heard[-n_last:].all() and not heard.all())


def runs(marked: BoolArray) -> list[tuple[int, int]]:
    """The stretches of marked places [m], each as its first index and the one after its last."""
    edges = np.flatnonzero(np.diff(marked, prepend=False, append=False))
    return [(int(first), int(after)) for first, after in edges.reshape(-1, 2)]
