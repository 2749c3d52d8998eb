"""The times of an Euler sampler, and what the trunk's norms do at each of them.

Time runs from almost 1 (noise) to 0 (latents). The first is a little below 1, so that the rescaling
of velocities, which divides by 1 - t, is defined there.

Source: Liu et al., "Flow Straight and Fast", 2023 (the straight paths that it follows).
Legend: n steps.
"""

import torch
from torch import Tensor

from menura.engines.echo_tts.dit import EchoDiT, StepModulation
from menura.runtime.recently_used import RecentlyUsed

FIRST_TIME = 0.999


def times(n_steps: int) -> Tensor:
    """The n + 1 times float32 [n + 1] between which the steps go, evenly spaced."""
    return torch.linspace(1.0, 0.0, n_steps + 1) * FIRST_TIME


class Schedule:
    """The steps of one sampler: their times [n + 1] and the modulation at the start of each."""

    def __init__(self, dit: EchoDiT, n_steps: int) -> None:
        self.n_steps = n_steps
        self.times = times(n_steps)
        self.modulations: tuple[StepModulation, ...] = dit.modulations(self.times[:-1])


class Schedules:
    """The schedules of a model that were used last; rows with as many steps share one.

    One for 40 steps of the published model takes 47 MB in float32.
    """

    def __init__(self, dit: EchoDiT, capacity: int = 4) -> None:
        self._dit = dit
        self._held: RecentlyUsed[int, Schedule] = RecentlyUsed(capacity)

    @torch.inference_mode()
    def get(self, n_steps: int) -> Schedule:
        """The schedule with this many steps."""
        schedule = self._held.get(n_steps)
        if schedule is None:
            schedule = Schedule(self._dit, n_steps)
            self._held.keep(n_steps, schedule)
        return schedule
