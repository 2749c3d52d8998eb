import os
from pathlib import Path

import pytest

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
