import os
import sys
from pathlib import Path

import pytest
import torch

from menura.runtime import devices


@pytest.mark.parametrize(
    ("limit", "n_cores"),
    [
        ("max 100000", 4),
        ("200000 100000", 2),
        ("150000 100000", 1),
        ("50000 100000", 1),
        ("900000 100000", 4),
        ("nonsense", 4),
    ],
)
def test_a_container_limits_the_cores(
    limit: str, n_cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    (tmp_path / "cpu.max").write_text(limit)
    assert devices.usable_cores(tmp_path / "cpu.max") == n_cores


def test_without_a_container_the_affinity_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 5})
    assert devices.usable_cores(tmp_path / "missing") == 2


def test_the_processor_has_a_name_and_cores() -> None:
    cpu = devices.cpu()
    assert cpu.name
    assert 1 <= cpu.n_usable_cores <= cpu.n_cores


def test_memory_is_more_than_its_free_part() -> None:
    total, free = devices.memory_bytes()
    assert total is not None
    assert free is None or 0 < free < total


def test_without_torch_there_is_the_cpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert devices.torch_build() is None
    assert [device.name for device in devices.devices()] == ["cpu"]


def test_torch_is_asked_where_it_is_installed() -> None:
    torch = pytest.importorskip("torch")
    build = devices.torch_build()
    assert build is not None
    assert build.version == torch.__version__
    names = [device.name for device in devices.devices()]
    assert names[0] == "cpu"
    assert len(names) >= 1 + torch.cuda.device_count()


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"avx2": True, "avx512_f": True}, False),
        ({"avx512_bf16": True}, True),
        ({"amx_bf16": True}, True),
        ({"bf16": True, "neon": True}, True),
        ({"avx512_bf16": False, "sve_max_length": 256}, False),
    ],
)
def test_bfloat16_is_for_cpus_that_have_instructions_for_it(
    told: dict[str, bool | int], found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: told, raising=False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    assert devices.multiplies_bfloat16() is found
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: False)
    assert devices.multiplies_bfloat16() is False


def test_an_older_torch_leaves_the_instructions_to_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    monkeypatch.setattr(devices, "cpu", lambda: devices.Cpu("x", 1, 1, ("avx2", "avx512_bf16")))
    assert devices.multiplies_bfloat16()
    monkeypatch.setattr(devices, "cpu", lambda: devices.Cpu("x", 1, 1, ("avx2",)))
    assert not devices.multiplies_bfloat16()


@pytest.mark.parametrize(
    ("platform", "capability", "said"),
    [
        ("linux", "AVX512", ""),
        ("darwin", "AVX2", ""),
        ("linux", "DEFAULT", "slow here (linux, DEFAULT)"),
        ("win32", "AVX2", "slow here (win32, AVX2)"),
    ],
)
def test_8_bits_in_torch_need_code_made_for_the_cpu(
    platform: str, capability: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    assert devices.why_no_int8().endswith(said)
    assert bool(devices.why_no_int8()) is bool(said)


def test_8_bits_in_torch_need_its_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_INT8_OPERATIONS", ("_no_such_operation",))
    assert "has no product with packed 4-bit weights" in devices.why_no_int8()
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert devices.why_no_int8() == "torch is not installed"
