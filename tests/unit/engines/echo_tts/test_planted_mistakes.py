"""The recorded numbers notice every mistake that a port makes easily, and nothing that is right.

Each mistake is planted in our own modules, and each comparison that should notice it must fail.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from tests.parity.echo_tts import cases, recorded
from tests.parity.echo_tts.our_model import OurModel, block_arrays
from tests.parity.echo_tts.recorded import BOUND
from tests.unit.engines.echo_tts.planted import MISTAKES

Arrays = dict[str, NDArray[np.generic]]
BLOCKS = recorded.read("blocks")


def velocity(model: OurModel) -> tuple[Arrays, Arrays]:
    return block_arrays(model, _given()), {"plain.v_pred": BLOCKS["plain.v_pred"]}


def text_keys(model: OurModel) -> tuple[Arrays, Arrays]:
    return block_arrays(model, _given()), _keys("text")


def speaker_keys(model: OurModel) -> tuple[Arrays, Arrays]:
    return block_arrays(model, _given()), _keys("speaker")


def sample(model: OurModel) -> tuple[Arrays, Arrays]:
    speaker = BLOCKS["speaker"].astype(np.float32)
    latents = model.sample({}, model.conditions(cases.TEXT, speaker))
    return {"base": latents}, {"base": recorded.read("sampler")["base"]}


def encode(model: OurModel) -> tuple[Arrays, Arrays]:
    clip = cases.arrays()["codec"].astype(np.float32)
    return {"z_q": model.autoencoder.encode(clip)}, {"z_q": recorded.read("codec")["z_q"]}


def decode(model: OurModel) -> tuple[Arrays, Arrays]:
    kept = recorded.read("codec")
    decoded = model.autoencoder.decode(kept["z_q"].astype(np.float32))
    return {"decoded": decoded}, {"decoded": kept["decoded"]}


COMPARISONS: Mapping[str, Callable[[OurModel], tuple[Arrays, Arrays]]] = {
    "velocity": velocity,
    "text keys": text_keys,
    "speaker keys": speaker_keys,
    "sample": sample,
    "encode": encode,
    "decode": decode,
}


def worst(comparison: str, model: OurModel) -> float:
    """The largest relative distance of a comparison."""
    with torch.inference_mode():
        ours, kept = COMPARISONS[comparison](model)
    return max(recorded.distances(ours, kept).values())


@pytest.mark.parametrize("comparison", COMPARISONS)
def test_what_is_right_passes(comparison: str, our_tiny: OurModel) -> None:
    assert worst(comparison, our_tiny) <= BOUND


@pytest.mark.parametrize("name", MISTAKES)
def test_a_planted_mistake_is_noticed(
    name: str, our_tiny: OurModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    mistake = MISTAKES[name]
    mistake.plant(monkeypatch, our_tiny)
    for comparison in mistake.noticed_by:
        assert worst(comparison, our_tiny) > 10 * BOUND, comparison


def _given() -> Arrays:
    return cases.arrays() | {"speaker": BLOCKS["speaker"]}


def _keys(context: str) -> Arrays:
    return {name: array for name, array in BLOCKS.items() if name.startswith(f"kv.{context}.")}
