"""Every module of the transformer gives upstream's recorded numbers at one time."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from menura.engines.echo_tts.config import ROPE_THETA
from menura.engines.echo_tts.dit import JointAttention
from menura.engines.echo_tts.timestep import timestep_embedding
from menura.nn.rotary import PairRotary
from tests.parity.echo_tts import cases, recorded
from tests.parity.echo_tts.our_model import OurModel, block_arrays

Arrays = dict[str, NDArray[np.generic]]
Agree = Callable[[Arrays, Arrays], None]
KEPT = recorded.read("blocks")
# Activations between two projections are no modules here, and of one norm that is called for every
# context only the last call's output is known.
NO_MODULES = {"plain.cond_module.1", "plain.cond_module.3"}


@pytest.fixture(scope="module")
def ours(our_tiny: OurModel) -> Arrays:
    return block_arrays(our_tiny, cases.arrays() | {"speaker": KEPT["speaker"]})


def test_the_text_has_the_recorded_ids(our_tiny: OurModel) -> None:
    assert our_tiny.ids(cases.TEXT).tolist() == KEPT["ids"].tolist()


@pytest.mark.parametrize("phase", ["cond", "kv", "plain", "block"])
def test_modules_give_upstreams_numbers(phase: str, ours: Arrays, agree: Agree) -> None:
    kept = {n: array for n, array in KEPT.items() if n.startswith(f"{phase}.")}
    kept = {n: kept[n] for n in kept.keys() - NO_MODULES if not _is_shared_norm(n)}
    assert kept.keys() <= ours.keys()
    assert len(kept) == {"cond": 57, "kv": 18, "plain": 39, "block": 1}[phase]
    agree(ours, kept)


@pytest.mark.parametrize("t", ["0.0", "0.25", "0.7", "0.999", "1.0"])
def test_the_embedding_of_a_time_is_upstreams(t: str, agree: Agree) -> None:
    ours = timestep_embedding(torch.tensor([float(t)]), 32)
    agree({"t": ours.numpy()}, {"t": KEPT[f"timestep.{t}"]})


def test_the_embedding_of_the_published_size_is_upstreams(agree: Agree) -> None:
    ours = timestep_embedding(torch.tensor([cases.T]), 512)
    agree({"t": ours.numpy()}, {"t": KEPT["timestep.real_512_0.7"]})


def test_heads_are_turned_as_upstream_turns_them(our_tiny: OurModel, agree: Agree) -> None:
    given = torch.from_numpy(KEPT["rope.in"].astype(np.float32))
    rotation = PairRotary(24, ROPE_THETA)(torch.arange(8)[None])
    attention = our_tiny.dit.get_submodule("blocks.0.attention")
    assert isinstance(attention, JointAttention)
    heads = given.transpose(0, 1)
    ours = {
        "rope.freqs_real": rotation.angles.real.numpy(),
        "rope.freqs_imag": rotation.angles.imag.numpy(),
        "rope.full": rotation.turn(heads[None])[0].transpose(0, 1).numpy(),
        "rope.half_heads": attention.turned(heads, rotation).transpose(0, 1).numpy(),
    }
    agree(ours, {name: KEPT[name] for name in ours})


def _is_shared_norm(name: str) -> bool:
    return name.startswith("cond.") and name.endswith(".k_norm")
