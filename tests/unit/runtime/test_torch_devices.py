import pytest
import torch

from menura.errors import InvalidValueError, UnsupportedError
from menura.runtime.torch_devices import choose_device, choose_dtype

CPU, CUDA, MPS = torch.device("cpu"), torch.device("cuda"), torch.device("mps")


@pytest.fixture
def two_cuda_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)


@pytest.fixture
def no_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in (torch.cuda, torch.xpu, torch.backends.mps):
        monkeypatch.setattr(package, "is_available", lambda: False)


@pytest.mark.usefixtures("no_accelerator")
def test_without_an_accelerator_auto_is_the_processor() -> None:
    assert choose_device("auto") == CPU
    assert choose_device("cpu") == CPU


@pytest.mark.usefixtures("no_accelerator", "two_cuda_devices")
def test_auto_takes_the_accelerator_and_a_number_one_of_several() -> None:
    assert choose_device("auto") == CUDA
    assert choose_device("cuda:1") == torch.device("cuda", 1)
    assert choose_device("cpu") == CPU


@pytest.mark.usefixtures("no_accelerator", "two_cuda_devices")
@pytest.mark.parametrize("name", ["cuda:2", "mps", "xpu"])
def test_a_device_that_is_not_here_is_an_error_that_lists_what_is(name: str) -> None:
    with pytest.raises(UnsupportedError, match=r"torch .* sees cpu, cuda") as raised:
        choose_device(name)
    assert raised.value.param == "device"


@pytest.mark.parametrize("name", ["gpu", "", "cuda:", "cuda:x", "cpu:-1", "CUDA"])
def test_a_name_of_no_device_is_an_error(name: str) -> None:
    with pytest.raises(InvalidValueError, match="is not one of: auto, cpu, cuda, mps, xpu"):
        choose_device(name)


@pytest.mark.parametrize(
    ("precision", "device", "dtype"),
    [
        ("exact", CPU, torch.float32),
        ("exact", CUDA, torch.float32),
        ("auto", CPU, torch.float32),
        ("auto", MPS, torch.float32),
        ("bf16", CPU, torch.bfloat16),
        ("fp16", CUDA, torch.float16),
        ("fp32", CUDA, torch.float32),
    ],
)
def test_the_precision_decides_the_dtype(
    precision: str, device: torch.device, dtype: torch.dtype
) -> None:
    assert choose_dtype(precision, device) == dtype


@pytest.mark.parametrize(("has_it", "dtype"), [(True, torch.bfloat16), (False, torch.float16)])
def test_auto_on_cuda_is_bfloat16_where_it_computes_in_it(
    has_it: bool, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: has_it)
    assert choose_dtype("auto", CUDA) == dtype


def test_a_precision_without_weights_for_it_is_an_error() -> None:
    with pytest.raises(UnsupportedError, match="it runs with: auto, exact, fp32") as raised:
        choose_dtype("int4", CPU)
    assert raised.value.param == "precision"
