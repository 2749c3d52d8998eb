import pytest
import torch

from menura.engines.echo_tts.guidance import Guidance
from menura.engines.echo_tts.schedule import Schedules, times
from tests.unit.engines.echo_tts.random_dit import random_dit

N_GUIDED = {1: 1, 4: 2, 8: 4, 10: 5, 15: 8, 20: 10, 30: 15, 40: 20, 80: 40}


def test_the_times_go_evenly_from_almost_one_to_zero() -> None:
    assert times(4).tolist() == pytest.approx([0.999, 0.74925, 0.4995, 0.24975, 0.0])
    assert times(40).dtype == torch.float32


@pytest.mark.parametrize(("n_steps", "n_guided"), N_GUIDED.items())
def test_how_many_steps_are_guided_by_default(n_steps: int, n_guided: int) -> None:
    guidance = Guidance(3.0, 8.0, min_t=0.5, max_t=1.0)
    assert sum(guidance.is_on(t) for t in times(n_steps)[:-1]) == n_guided


def test_a_step_has_the_modulation_of_the_time_at_which_it_begins() -> None:
    dit = random_dit()
    schedule = Schedules(dit).get(4)
    assert len(schedule.modulations) == 4
    [alone] = dit.modulations(torch.tensor([0.999 / 2]))
    torch.testing.assert_close(schedule.modulations[2].attention[1].gate, alone.attention[1].gate)


def test_rows_with_as_many_steps_share_a_schedule() -> None:
    schedules = Schedules(random_dit())
    assert schedules.get(4) is schedules.get(4)


def test_the_schedule_that_was_not_used_for_longest_is_dropped() -> None:
    schedules = Schedules(random_dit(), capacity=2)
    first, second = schedules.get(1), schedules.get(2)
    assert schedules.get(1) is first
    schedules.get(3)
    assert schedules.get(1) is first
    assert schedules.get(2) is not second
