"""The samplers give upstream's recorded latents: plain, joint, block by block, in a batch."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from menura.engines.echo_tts.generate import Conditions
from tests.parity.echo_tts import cases, recorded
from tests.parity.echo_tts.our_model import OurModel
from tests.parity.echo_tts.our_side import BatchRow

Arrays = dict[str, NDArray[np.generic]]
Agree = Callable[[Arrays, Arrays], None]
KEPT = recorded.read("sampler")
KEPT_BLOCKWISE = recorded.read("blockwise")
SPEAKER = recorded.read("blocks")["speaker"].astype(np.float32)


@pytest.fixture(scope="module")
def conditions(our_tiny: OurModel) -> Conditions:
    return our_tiny.conditions(cases.TEXT, SPEAKER)


def test_every_case_has_recorded_latents() -> None:
    others = {"seed_1234", "no_speaker", "joint", "batch", "bf16.base", "bf16.force_speaker"}
    assert KEPT.keys() == cases.SAMPLER.keys() | others
    assert KEPT_BLOCKWISE.keys() == cases.BLOCKWISE.keys()


@pytest.mark.parametrize("case", cases.SAMPLER)
def test_options_give_upstreams_latents(
    case: str, our_tiny: OurModel, conditions: Conditions, agree: Agree
) -> None:
    agree({case: our_tiny.sample(cases.SAMPLER[case], conditions)}, {case: KEPT[case]})


def test_another_seed_gives_upstreams_latents(
    our_tiny: OurModel, conditions: Conditions, agree: Agree
) -> None:
    agree({"x": our_tiny.sample({}, conditions, 1234)}, {"x": KEPT["seed_1234"]})


def test_no_speaker_gives_upstreams_latents(our_tiny: OurModel, agree: Agree) -> None:
    conditions = our_tiny.conditions(cases.TEXT, None)
    agree({"x": our_tiny.sample({}, conditions)}, {"x": KEPT["no_speaker"]})


def test_joint_guidance_gives_the_recorded_latents(
    our_tiny: OurModel, conditions: Conditions, agree: Agree
) -> None:
    agree({"x": our_tiny.sample({"guidance": "joint"}, conditions)}, {"x": KEPT["joint"]})


def test_rows_of_a_batch_give_upstreams_latents(our_tiny: OurModel, agree: Agree) -> None:
    rows = [
        (our_tiny.conditions(text, SPEAKER), BatchRow(0, row, len(cases.BATCH)))
        for row, text in enumerate(cases.BATCH)
    ]
    agree({"x": np.stack(our_tiny.sample_rows({}, rows))}, {"x": KEPT["batch"]})


@pytest.mark.parametrize("case", cases.BLOCKWISE)
def test_blocks_give_upstreams_latents(case: str, our_tiny: OurModel, agree: Agree) -> None:
    options, n_before = cases.BLOCKWISE[case]
    given = cases.arrays()
    before = given[f"continuation_{n_before}"].astype(np.float32) if n_before else None
    conditions = our_tiny.conditions(cases.TEXT, SPEAKER, before)
    agree({case: our_tiny.sample(options, conditions)}, {case: KEPT_BLOCKWISE[case]})
