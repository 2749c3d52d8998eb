"""A step reads the device once, at its end, so that a GPU never waits for the host in between.

What is read inside shows on every device: as an operation whose result is a number of Python, or
whose shape depends on values.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from menura.engines.qwen3_tts.generate import next_frame, prefill
from menura.engines.qwen3_tts.utterance_row import Settings, TrailingText
from menura.runtime.sampling import Sampling
from menura.runtime.torch_noise import TorchNoise
from tests.unit.engines.qwen3_tts.random_models import TALKER_SIZE, random_models

READS = ("aten::_local_scalar_dense", "aten::equal", "aten::nonzero")
STRICT = Sampling(top_k=5, top_p=0.9, repetition_penalty=1.05)
GREEDY = Sampling(do_sample=False)


def n_reads(step: Callable[[], object]) -> int:
    """How many operations of the step read values."""
    with torch.autograd.profiler.profile() as profile:
        step()
    return sum(event.name in READS for event in profile.function_events)


@pytest.mark.parametrize("sampling", [STRICT, GREEDY])
def test_a_step_reads_one_value(sampling: Sampling) -> None:
    models = random_models()
    rows = torch.ones(3, TALKER_SIZE)
    text = TrailingText(rows, rows[0])
    row = prefill(models, rows, text, Settings(sampling, sampling, 9), TorchNoise(0))
    assert (
        n_reads(lambda: next_frame(row)) == 1
    )  # of what was copied to the host at the end: whether it goes on


@pytest.mark.parametrize("read", [float, bool, torch.nonzero])
def test_a_read_is_seen(read: Callable[[Tensor], object]) -> None:
    assert n_reads(lambda: read(torch.ones(()))) == 1
