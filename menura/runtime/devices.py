"""What this machine computes with: cores, memory, CPU features, and the devices that torch sees.

torch is imported only by the functions that ask it, and only where it is installed.
"""

import importlib.util
import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

# The instructions that matter to speech models, by the names that Linux gives them.
_FEATURES = (
    "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx_vnni",
    "avx512_bf16", "amx_tile", "amx_int8", "amx_bf16", "asimd", "asimddp", "i8mm", "bf16", "sve",
)  # fmt: skip


@dataclass(frozen=True)
class Cpu:
    """The processor: its name, the cores that this process may use, and what it can do."""

    name: str
    n_cores: int
    n_usable_cores: int
    features: tuple[str, ...]


@dataclass(frozen=True)
class Device:
    """One device that models can run on, by the name that `--device` takes."""

    name: str
    description: str
    memory_bytes: int | None
    free_bytes: int | None


@dataclass(frozen=True)
class TorchBuild:
    """The installed torch: its version and what it was built for (`cpu`, `cuda 13.0` ...)."""

    version: str
    built_for: str


def cpu() -> Cpu:
    """The processor of this machine."""
    facts = _cpu_facts()
    flags = set(facts.get("flags", facts.get("features", "")).split())
    return Cpu(
        name=facts.get("model name") or platform.processor() or platform.machine(),
        n_cores=os.cpu_count() or 1,
        n_usable_cores=usable_cores(),
        features=tuple(feature for feature in _FEATURES if feature in flags),
    )


def usable_cores(cgroup: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """The cores that this process may use: less than the machine has in a container."""
    affinity = getattr(os, "sched_getaffinity", None)
    n_allowed = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        quota, period = cgroup.read_text().split()
    except (OSError, ValueError):
        return n_allowed
    if quota == "max":
        return n_allowed
    return max(1, min(n_allowed, int(quota) // int(period)))


def memory_bytes() -> tuple[int | None, int | None]:
    """The machine's memory and what of it is free, in bytes; None where nobody tells."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total = page * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None, None
    return total, _available_bytes()


def torch_build() -> TorchBuild | None:
    """The installed torch, or None. Importing it takes about two seconds."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch  # noqa: PLC0415

    cuda, hip = torch.version.cuda, getattr(torch.version, "hip", None)
    built_for = f"cuda {cuda}" if cuda else f"rocm {hip}" if hip else "cpu"
    return TorchBuild(str(torch.__version__), built_for)


def devices() -> list[Device]:
    """The devices that models can run on: the CPU, then those that the installed torch sees."""
    total, free = memory_bytes()
    found = [Device("cpu", cpu().name, total, free)]
    if importlib.util.find_spec("torch") is None:
        return found
    import torch  # noqa: PLC0415

    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            facts = torch.cuda.get_device_properties(index)
            free_bytes, _ = torch.cuda.mem_get_info(index)
            found.append(Device(f"cuda:{index}", facts.name, facts.total_memory, free_bytes))
    if torch.backends.mps.is_available():
        found.append(Device("mps", "Apple GPU", total, free))
    if torch.xpu.is_available():
        for index in range(torch.xpu.device_count()):
            name = torch.xpu.get_device_name(index)
            found.append(Device(f"xpu:{index}", name, None, None))
    return found


def _cpu_facts(source: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """The first core's lines of `/proc/cpuinfo`, keys folded; empty on other systems."""
    if sys.platform != "linux":
        return {}
    try:
        first_core = source.read_text("utf-8", "replace").partition("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first_core.splitlines())
    return {key.strip().casefold(): value.strip() for key, _, value in pairs}


def _available_bytes(source: Path = Path("/proc/meminfo")) -> int | None:
    try:
        lines = source.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.split()[0]) * 1024
    return None
