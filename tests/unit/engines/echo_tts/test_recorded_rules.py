"""Where speech ends, and the times of the steps: upstream's recorded tables."""

import json
import math

import pytest
import torch
from torch import Tensor

from menura.engines.echo_tts.guidance import Guidance
from menura.engines.echo_tts.latents import flattening_point
from menura.engines.echo_tts.schedule import times
from tests.parity.echo_tts import recorded

KEPT = json.loads((recorded.FOLDER / recorded.RULES).read_text("utf-8"))
N_FRAMES = 60


def latents(name: str) -> Tensor:
    """The latents [T, 80] of a case: noise, edited as its name says."""
    noise = torch.randn(N_FRAMES, 80, generator=torch.Generator().manual_seed(9))
    start, _, value = name.rpartition("_")
    if name == "all_zero":
        return torch.zeros_like(noise)
    if start == "zero_from":
        noise[int(value) :] = 0
    elif start == "level":
        noise[30:] = float(value)
    elif start == "tail_std":
        noise[20:] = noise[20:] / noise[20:].std() * float(value)
    elif name.startswith("gap_"):
        noise[10 : 10 + int(name.split("_")[1])] = 0
    return noise[: {"shorter_than_window": 5, "empty": 0}.get(name, N_FRAMES)]


@pytest.mark.parametrize("case", KEPT["flattening"], ids=lambda case: case["name"])
def test_speech_ends_where_upstream_ends_it(case: dict[str, object]) -> None:
    given = latents(str(case["name"]))
    assert len(given) == case["length"]
    assert flattening_point(given.numpy()) == case["point"]


def test_the_times_are_upstreams() -> None:
    assert times(40).tolist() == KEPT["schedule_40"]


@pytest.mark.parametrize(("n_steps", "n_guided"), KEPT["guided_steps"].items())
def test_as_many_steps_are_guided_as_upstream_guides(n_steps: str, n_guided: int) -> None:
    guidance = Guidance(3.0, 8.0, 0.5, 1.0)
    assert sum(guidance.is_on(t) for t in times(int(n_steps))[:-1]) == n_guided


def test_the_first_time_is_below_one() -> None:
    assert math.isclose(times(1)[0].item(), 0.999, rel_tol=1e-6)
