"""Rows of the native step do not know each other: they come and go, and say what they say alone."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from menura.runtime.native.build import why_not
from menura.runtime.native.frame import FrameStep
from tests.unit.runtime.native.frame_twin import Model, native_step, numbers, random_model, row_of

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "native kernels run here")

MAX_LIVE = 8
MAX_FRAMES = 40
MAX_PROMPT = 30


@dataclass
class Utterance:
    """One row's way through the model: all that it needs follows from its seed."""

    model: Model
    seed: int
    slot: int
    position: int = 0
    said: list[list[int]] = field(default_factory=list)

    def start(self, step: FrameStep) -> None:
        """Read the prompt, of 1 to 30 positions."""
        draws = np.random.default_rng(self.seed)
        self.position = int(draws.integers(1, MAX_PROMPT))
        self.n_frames = int(draws.integers(1, MAX_FRAMES))
        prompt = numbers(self.position, self.model.width, seed=self.seed)
        self.hidden, _ = step.prefill(self.slot, 0, prompt)
        self.first = int(draws.integers(40))

    @property
    def is_over(self) -> bool:
        """Whether it has said all its frames."""
        return len(self.said) == self.n_frames


def move(model: Model, step: FrameStep, live: list[Utterance]) -> None:
    """All live utterances by one frame, in one call."""
    rows = [row_of(model, one.slot, one.position, seed=one.seed) for one in live]
    for row, one in zip(rows, live, strict=True):
        row.hidden, row.first = one.hidden, one.first
    step.frame(rows)
    for row, one in zip(rows, live, strict=True):
        one.said.append([*row.codes.tolist(), row.next_first])
        one.hidden, one.first = row.hidden, row.next_first
        one.position += 1


def in_company(model: Model, step: FrameStep, n_frames: int) -> Iterator[Utterance]:
    """Utterances that start at random while others speak, until so many frames were made."""
    draws = np.random.default_rng(0)
    live: list[Utterance] = []
    made, seed = 0, 0
    while made < n_frames:
        while len(live) < MAX_LIVE and (not live or draws.random() < 0.3):
            taken = {one.slot for one in live}
            slot = int(draws.choice([slot for slot in range(12) if slot not in taken]))
            live.append(Utterance(model, seed, slot))
            live[-1].start(step)
            seed += 1
        live = [live[i] for i in draws.permutation(len(live))]
        move(model, step, live)
        made += len(live)
        yield from (one for one in live if one.is_over)
        for one in live:
            if one.is_over:
                step.release(one.slot)
        live = [one for one in live if not one.is_over]


def compare(n_frames: int, mode: str) -> int:
    """How many frames were said alike in company (two threads) and alone (one thread)."""
    model, n_alike = random_model(), 0
    with native_step(model, mode, threads=2) as step, native_step(model, mode) as quiet:
        for one in in_company(model, step, n_frames):
            alone = Utterance(model, one.seed, slot=0)
            alone.start(quiet)
            while not alone.is_over:
                move(model, quiet, [alone])
            assert one.said == alone.said
            n_alike += len(one.said)
    return n_alike


@pytest.mark.parametrize("mode", ["bf16", "int8", "int4"])
def test_rows_join_and_leave_at_random(mode: str) -> None:
    assert compare(300, mode) > 100


@pytest.mark.slow
def test_rows_join_and_leave_over_ten_thousand_frames() -> None:
    assert compare(10_000, "int8") > 9_000
