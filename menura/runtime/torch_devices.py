"""Which device and which number format a torch model runs with, from what the user asked for."""

import torch

from menura.errors import InvalidValueError, UnsupportedError, did_you_mean

AUTO, EXACT = "auto", "exact"
_KINDS = ("cpu", "cuda", "mps", "xpu")
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
NATIVE = ("int8", "int4")  # formats of weights, in which no torch model computes as a whole
PRECISIONS = (AUTO, EXACT, *DTYPES, *NATIVE)


def choose_device(asked: str) -> torch.device:
    """The device for `auto`, `cpu`, `cuda`, `cuda:1`, `mps` or `xpu`; `auto` takes the fastest.

    Raises: InvalidValueError: no device has this name; UnsupportedError: this machine, or the
        installed torch, has no such device.
    """
    here = _devices()
    if asked == AUTO:
        return here[-1]
    kind, _, index = asked.partition(":")
    if kind not in _KINDS or not (index.isdecimal() or asked == kind):
        allowed = (AUTO, *_KINDS)
        raise InvalidValueError(
            f"device {asked!r} is not one of: {', '.join(allowed)}, or one of several such as "
            f"cuda:1.{did_you_mean(asked, allowed)}",
            param="device",
        )
    n_here = _count(kind) if kind in {device.type for device in here} else 0
    if int(index or 0) >= n_here:
        names = ", ".join(device.type for device in here)
        raise UnsupportedError(
            f"device {asked!r} is not here: torch {torch.__version__} sees {names}. A torch built "
            "for the device may be missing.",
            param="device",
        )
    return torch.device(kind, int(index)) if index else torch.device(kind)


def choose_dtype(precision: str, device: torch.device) -> torch.dtype:
    """The format of weights and activations on a device.

    `exact` is float32 everywhere; `auto` is bfloat16 on CUDA that computes in it, else float16
    there, and float32 on all other devices.

    Raises: UnsupportedError: torch models do not run in it; a setting that asks for it is then
        left unheeded.
    """
    if precision in NATIVE or precision not in PRECISIONS:
        raise UnsupportedError(
            f"precision {precision!r} is nothing that this model can run with; it runs with: "
            f"{', '.join(PRECISIONS)}.{did_you_mean(precision, PRECISIONS)}",
            param="precision",
        )
    if precision in DTYPES:
        return DTYPES[precision]
    if precision == EXACT or device.type != "cuda":
        return torch.float32
    has_bfloat16 = torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.bfloat16 if has_bfloat16 else torch.float16


def _devices() -> list[torch.device]:
    """One device of each kind that torch sees, the slowest first."""
    seen = {
        "cpu": True,
        "mps": torch.backends.mps.is_available(),
        "xpu": torch.xpu.is_available(),
        "cuda": torch.cuda.is_available(),
    }
    return [torch.device(kind) for kind, is_here in seen.items() if is_here]


def _count(kind: str) -> int:
    if kind == "cuda":
        return torch.cuda.device_count()
    return torch.xpu.device_count() if kind == "xpu" else 1
