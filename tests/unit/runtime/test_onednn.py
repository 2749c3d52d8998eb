import pytest
import torch
from torch import Tensor, nn

from menura.runtime import onednn
from menura.runtime.onednn import OneDnnLinear, use_onednn

pytestmark = pytest.mark.skipif(not onednn.is_available(), reason="this torch has no oneDNN")


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(20, 30), nn.Sequential(nn.SiLU(), nn.Linear(30, 7, bias=False)))


def inputs(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("shape", [(5, 20), (2, 3, 20), (20,)])
@torch.inference_mode()
def test_the_outputs_are_the_same_but_for_the_order_of_summation(shape: tuple[int, ...]) -> None:
    plain, fast = network(), network()
    assert use_onednn(fast) == 2
    torch.testing.assert_close(fast(inputs(*shape)), plain(inputs(*shape)), rtol=0, atol=1e-6)


@torch.inference_mode()
def test_views_of_other_strides_are_read_right() -> None:
    plain, fast = network(), network()
    use_onednn(fast)
    x = inputs(20, 5).T
    torch.testing.assert_close(fast(x), plain(x), rtol=0, atol=1e-6)


def test_weights_keep_their_names_and_their_memory() -> None:
    module = network()
    before = {name: weight.data_ptr() for name, weight in module.named_parameters()}
    use_onednn(module)
    assert {name: weight.data_ptr() for name, weight in module.named_parameters()} == before
    assert isinstance(module[0], OneDnnLinear)


def test_other_dtypes_and_gradients_take_the_usual_way() -> None:
    plain, fast = network(), network()
    use_onednn(fast)
    assert torch.equal(fast(inputs(4, 20)), plain(inputs(4, 20)))
    fast(inputs(4, 20)).sum().backward()
    assert fast[0].weight.grad is not None
    half = network().to(torch.bfloat16)
    x = inputs(4, 20).to(torch.bfloat16)
    assert torch.equal(fast.to(torch.bfloat16)(x), half(x))


def test_a_module_is_not_changed_twice() -> None:
    module = network()
    use_onednn(module)
    assert use_onednn(module) == 0


def test_without_onednn_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onednn, "is_available", lambda: False)
    module = network()
    assert use_onednn(module) == 0
    assert type(module[0]) is nn.Linear
