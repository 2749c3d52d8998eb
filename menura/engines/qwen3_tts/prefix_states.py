"""What is kept of prompts that begin alike: the talker's state after the rows that hold no text.

Instruction, role, control rows and a reference's transcript come first in every prompt of a voice,
so their keys and values are computed once. The key is a digest of the rows themselves: voice,
language, instruction and layout decide them, and no two prompts that differ can be taken for one
another. A state that is taken up again is the one that reading the rows would give, bit for bit.

Legend: T rows, D talker width.
"""

import hashlib

import numpy as np
from numpy.typing import NDArray

from menura.runtime.recently_used import RecentlyUsed
from menura.speech import FloatArray

State = NDArray[np.uint8]

# About 1,100 rows of the smaller model: dozens of voices, or a few long instructions.
BUDGET_BYTES = 128 * 2**20
# Fewer rows than this are read as quickly as their state is copied.
FEWEST_ROWS = 4


class PrefixStates:
    """States by the rows that they come after; the one that was not used for longest leaves."""

    def __init__(self, budget_bytes: int = BUDGET_BYTES) -> None:
        self._states: RecentlyUsed[bytes, State] = RecentlyUsed(budget_bytes, _n_bytes)

    @property
    def n_bytes(self) -> int:
        """The memory of what is kept."""
        return self._states.size

    def find(self, rows: FloatArray) -> State | None:
        """The state [n_bytes] after these rows [T, D], or None."""
        return self._states.get(_key(rows))

    def keep(self, rows: FloatArray, state: State) -> None:
        """Keep the state [n_bytes] after these rows [T, D], unless it alone is over the budget."""
        self._states.keep(_key(rows), state)


def _n_bytes(state: State) -> int:
    return state.nbytes


def _key(rows: FloatArray) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).digest()
