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

# The instructions that multiply bfloat16, by the names of torch, which are those of Linux too.
_BFLOAT16 = {"avx512_bf16", "amx_bf16", "bf16"}
# What 8-bit weights in torch are made of, and where torch has code of its own for it.
_INT8_OPERATIONS = ("_convert_weight_to_int4pack_for_cpu", "_weight_int4pack_mm_for_cpu")
_INT8_CAPABILITIES = ("AVX2", "AVX512")


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
    return total, available_bytes()


def torch_build() -> TorchBuild | None:
    """The installed torch, or None. Importing it takes about two seconds."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch  # noqa: PLC0415

    cuda, hip = torch.version.cuda, getattr(torch.version, "hip", None)
    built_for = f"cuda {cuda}" if cuda else f"rocm {hip}" if hip else "cpu"
    return TorchBuild(str(torch.__version__), built_for)


def multiplies_bfloat16() -> bool:
    """Whether torch multiplies matrices in bfloat16 on this CPU with instructions made for it.

    Elsewhere it can too, but not faster than in float32.
    """
    return has_onednn() and bool(_torch_features() & _BFLOAT16)


def has_onednn() -> bool:
    """Whether this torch was built with oneDNN."""
    import torch  # noqa: PLC0415

    found: bool = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return found


def why_no_int8() -> str:
    """Why torch alone does not multiply quickly by 8-bit weights here; empty where it does."""
    if importlib.util.find_spec("torch") is None:
        return "torch is not installed"
    import torch  # noqa: PLC0415

    if any(not hasattr(torch.ops.aten, name) for name in _INT8_OPERATIONS):
        return f"torch {torch.__version__} has no product with packed 4-bit weights"
    capability = torch.backends.cpu.get_cpu_capability()
    if sys.platform == "win32" or capability not in _INT8_CAPABILITIES:
        return f"torch's product with packed weights is slow here ({sys.platform}, {capability})"
    return ""


def _torch_features() -> set[str]:
    """What the CPU can do, as torch tells it, or Linux where this torch tells nothing."""
    import torch  # noqa: PLC0415

    told = getattr(torch.cpu, "get_capabilities", None)
    if told is None:
        return set(cpu().features)
    return {name for name, is_here in told().items() if is_here is True}


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


def available_bytes(source: Path = Path("/proc/meminfo")) -> int | None:
    """The memory that programs can still have, in bytes; None where the system does not say."""
    try:
        lines = source.read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        name, _, amount = line.partition(":")
        if name == "MemAvailable":
            return int(amount.split()[0]) * 1024
    return None
