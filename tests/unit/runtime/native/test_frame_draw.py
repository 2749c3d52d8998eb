"""Given equal scores and noise, the native draw chooses what `sampling.draw` chooses."""

from itertools import product

import numpy as np
import pytest
import torch

from menura.runtime.native import frame
from menura.runtime.native.build import why_not
from menura.runtime.sampling import Sampling, draw
from menura.speech import FloatArray

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "native kernels run here")

V = 300
CHOICES = [
    Sampling(do_sample, temperature, top_k, top_p, penalty)
    for do_sample, temperature, top_k, top_p, penalty in product(
        (True, False), (0.3, 0.9, 2.0), (0, 1, 20, 50, V - 1, V), (0.0, 0.3, 0.9, 1.0), (1.0, 1.3)
    )
]


class Given:
    """Noise that was drawn beforehand."""

    seed = 0

    def __init__(self, waits: FloatArray) -> None:
        self._waits = waits

    def draw(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        """The numbers given."""
        assert shape == self._waits.shape, name
        return self._waits


def both(
    scores: FloatArray, choice: Sampling, seed: int = 0
) -> tuple[tuple[int, bool], tuple[int, bool]]:
    """The native choice and torch's."""
    draws = np.random.default_rng(seed)
    waits = draws.exponential(size=V).astype(np.float32)
    seen, allowed = draws.random(V) < 0.3, draws.random(V) < 0.8
    ours = frame.draw(scores, choice, waits, seen=seen, allowed=allowed)
    theirs = draw(
        torch.from_numpy(scores), choice, Given(waits), "draw",
        seen=torch.from_numpy(seen), allowed=torch.from_numpy(allowed),
    )  # fmt: skip
    return ours, (int(theirs.code), bool(theirs.is_sound))


@pytest.mark.parametrize("seed", range(4))
def test_choices_are_torchs_under_all_settings(seed: int) -> None:
    scores = (4 * np.random.default_rng(seed).standard_normal(V)).astype(np.float32)
    for choice in CHOICES:
        ours, theirs = both(scores, choice, seed)
        assert ours == theirs, choice


@pytest.mark.parametrize("seed", range(4))
def test_ties_are_kept_and_chosen_as_torch_does(seed: int) -> None:
    scores = np.random.default_rng(seed).integers(-2, 3, V).astype(np.float32)
    # Which of several equal entries at the border of the top-p stays, torch leaves to its sort.
    for choice in (choice for choice in CHOICES if choice.top_p == 1.0):
        ours, theirs = both(scores, choice, seed)
        assert ours == theirs, choice


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_not_sound(value: float) -> None:
    scores = np.zeros(V, np.float32)
    scores[[3, 5, 7, 11, 13, 17]] = value  # some of them are allowed
    for choice in CHOICES:
        ours, theirs = both(scores, choice)
        assert (ours[1], theirs[1]) == (False, False)


def test_no_allowed_entry_is_not_sound() -> None:
    nothing = np.zeros(V, np.bool_)
    waits = np.ones(V, np.float32)
    assert frame.draw(np.zeros(V, np.float32), Sampling(), waits, allowed=nothing) == (0, False)


def test_nan_in_a_banned_entry_does_no_harm() -> None:
    scores = np.zeros(V, np.float32)
    scores[0] = np.nan
    allowed = np.arange(V) == 9
    waits = np.ones(V, np.float32)
    assert frame.draw(scores, Sampling(), waits, allowed=allowed) == (9, True)
