import torch
from torch import Tensor, nn

from menura.nn.causal_conv import CausalConv1d
from menura.runtime.bfloat16_conv import Bfloat16Conv1d, use_bfloat16


def convolution() -> nn.Conv1d:
    torch.manual_seed(0)
    return nn.Conv1d(8, 6, 3, dilation=2, groups=2)


def inputs(n_steps: int = 20) -> Tensor:
    return torch.randn(1, 8, n_steps, generator=torch.Generator().manual_seed(1))


@torch.inference_mode()
def test_inputs_and_weights_are_rounded_and_the_rest_is_float32() -> None:
    plain = convolution()
    found = Bfloat16Conv1d(plain)(inputs())
    wanted = plain(inputs())
    assert found.dtype == torch.float32
    assert found.shape == wanted.shape
    distance = float((found - wanted).norm() / wanted.norm())
    assert 1e-4 < distance < 1e-2


@torch.inference_mode()
def test_the_convolutions_below_some_modules_are_changed_once() -> None:
    changed = nn.Sequential(CausalConv1d(8, 8, 3), nn.SiLU(), CausalConv1d(8, 8, 1, bias=False))
    other = CausalConv1d(8, 8, 3)
    before = changed(inputs())
    assert use_bfloat16([changed]) == 2
    assert use_bfloat16([changed]) == 0
    assert type(other.conv) is nn.Conv1d
    after = changed(inputs())
    assert after.shape == before.shape
    assert 0 < float((after - before).norm() / before.norm()) < 2e-2
