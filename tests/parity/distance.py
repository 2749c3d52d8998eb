"""How far two arrays lie apart."""

import numpy as np
from numpy.typing import NDArray


def relative_l2(ours: NDArray[np.generic], theirs: NDArray[np.generic]) -> float:
    """The length of the difference of two arrays [...] over that of theirs.

    Infinite where the shapes differ or a number is none.
    """
    if ours.shape != theirs.shape:
        return float("inf")
    wanted = theirs.astype(np.float64)
    apart = float(np.linalg.norm(ours.astype(np.float64) - wanted))
    if apart == 0.0:
        return 0.0
    length = float(np.linalg.norm(wanted))
    return apart / length if np.isfinite(apart) and length else float("inf")
