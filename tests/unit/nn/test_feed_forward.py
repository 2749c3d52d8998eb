import math

import pytest
import torch
from torch import nn

from menura.nn.feed_forward import GeluNetwork, SwiGLU


def set_weight(layer: nn.Linear, rows: list[list[float]]) -> None:
    with torch.no_grad():
        layer.weight.copy_(torch.tensor(rows))


def test_the_gate_switches_the_other_projection() -> None:
    network = SwiGLU(1, 2)
    set_weight(network.gate, [[1.0], [0.0]])
    set_weight(network.up, [[3.0], [5.0]])
    set_weight(network.down, [[1.0, 1.0]])
    # silu(2) * 6; the second inner channel's gate is silu(0) = 0.
    [value] = network(torch.tensor([2.0])).tolist()
    assert value == pytest.approx(2 / (1 + math.exp(-2)) * 6)


def test_gelu_is_the_exact_one() -> None:
    network = GeluNetwork(1, 1)
    set_weight(network.up, [[1.0]])
    set_weight(network.down, [[2.0]])
    [value] = network(torch.tensor([1.0])).tolist()
    assert value == pytest.approx(1 + math.erf(1 / math.sqrt(2)), abs=1e-6)
