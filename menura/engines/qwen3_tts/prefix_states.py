"""What is kept of prompts that begin alike: the talker's state after the rows that hold no text.

Instruction, role, control rows and a reference's transcript come first in every prompt of a voice,
so their keys and values are computed once. The key is a digest of the rows themselves: voice,
language, instruction and layout decide them, and no two prompts that differ can be taken for one
another. A state that is taken up again is the one that reading the rows would give, bit for bit.

Legend: T rows, D talker width.
"""

import hashlib
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

from menura.speech import FloatArray

State = NDArray[np.uint8]

# About 1,100 rows of the smaller model: dozens of voices, or a few long instructions.
BUDGET_BYTES = 128 * 2**20
# Fewer rows than this are read as quickly as their state is copied.
FEWEST_ROWS = 4


class PrefixStates:
    """States by the rows that they come after; the one that was not used for longest leaves."""

    def __init__(self, budget_bytes: int = BUDGET_BYTES) -> None:
        self._budget_bytes = budget_bytes
        self._states: OrderedDict[bytes, State] = OrderedDict()
        self.n_bytes = 0

    def find(self, rows: FloatArray) -> State | None:
        """The state [n_bytes] after these rows [T, D], or None."""
        key = _key(rows)
        if key in self._states:
            self._states.move_to_end(key)
        return self._states.get(key)

    def keep(self, rows: FloatArray, state: State) -> None:
        """Keep the state [n_bytes] after these rows [T, D], unless it alone is over the budget."""
        if state.nbytes > self._budget_bytes:
            return
        replaced = self._states.pop(_key(rows), None)
        self._states[_key(rows)] = state
        self.n_bytes += state.nbytes - (0 if replaced is None else replaced.nbytes)
        while self.n_bytes > self._budget_bytes:
            _, oldest = self._states.popitem(last=False)
            self.n_bytes -= oldest.nbytes


def _key(rows: FloatArray) -> bytes:
    return hashlib.sha256(np.ascontiguousarray(rows).tobytes()).digest()
