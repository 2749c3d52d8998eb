"""The autoencoder gives upstream's recorded numbers, stage by stage, and its latents."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.parity.echo_tts import cases, recorded
from tests.parity.echo_tts.our_model import CODEC_STAGES, OurModel, codec_arrays

Arrays = dict[str, NDArray[np.generic]]
Agree = Callable[[Arrays, Arrays], None]
KEPT = recorded.read("codec")
RESULTS = (
    "z_q", "decoded", "latents", "z_q_of_latents", "reconstructed", "decoded_random",
    "decoded_flat",
)  # fmt: skip


@pytest.fixture(scope="module")
def ours(our_tiny: OurModel) -> Arrays:
    return codec_arrays(our_tiny, cases.arrays())


def test_the_codes_are_upstreams(ours: Arrays) -> None:
    np.testing.assert_array_equal(ours["codes"], KEPT["codes"])


@pytest.mark.parametrize("stage", CODEC_STAGES)
def test_a_stage_gives_upstreams_numbers(stage: str, ours: Arrays, agree: Agree) -> None:
    agree({stage: ours[stage]}, {stage: KEPT[stage]})


@pytest.mark.parametrize("result", RESULTS)
def test_a_result_is_upstreams(result: str, ours: Arrays, agree: Agree) -> None:
    agree({result: ours[result]}, {result: KEPT[result]})


def test_codes_decode_to_what_upstream_decodes(ours: Arrays, agree: Agree) -> None:
    agree({"decoded": ours["decoded_codes"]}, {"decoded": KEPT["decoded"]})


def test_a_reference_becomes_upstreams_latents(our_tiny: OurModel, agree: Agree) -> None:
    kept = recorded.read("speakers")
    ours = our_tiny.speaker(cases.clip(cases.CLIP_SECONDS))
    assert len(ours) == 44  # of 45 whole frames: patches of four
    agree({"short": ours}, {"short": kept["short"]})
    np.testing.assert_array_equal(kept["no_patch_trim"][:44], kept["short"])
