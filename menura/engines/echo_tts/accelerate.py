"""What makes the loaded transformer faster. Without this file all is the same but slower.

Its number format is chosen here. In float32 layers are replaced, never the maths: results agree
with the plain path within 1e-5. In bfloat16 they are within `BOUNDS` of float32.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from menura.engines.echo_tts.dit import EchoDiT
from menura.runtime.devices import multiplies_bfloat16
from menura.runtime.onednn import use_onednn
from menura.runtime.torch_devices import AUTO, choose_dtype

ONEDNN, TORCH = "onednn", "torch"


@dataclass(frozen=True)
class Bounds:
    """How far a number format may be from float32, with the same noise and the usual 40 steps.

    `latent_error`: the distance of a request's latents over their length. `excess_db`: how much
    more the samples may be off than if the latents held noise of that size: what the autoencoder
    makes of an error depends on its weights, and its own arithmetic stays in float32.
    """

    latent_error: float
    excess_db: float = 3.0


BOUNDS: Mapping[torch.dtype, Bounds] = {torch.bfloat16: Bounds(latent_error=0.05)}


def dtype_of(precision: str, device: torch.device) -> torch.dtype:
    """The transformer's number format on a device, from the precision that the user asked for.

    `auto` on a CPU is bfloat16 where it multiplies that in hardware, in half of the time.

    Raises: UnsupportedError: the precision is none that torch models run in.
    """
    if precision == AUTO and device.type == "cpu" and multiplies_bfloat16():
        return torch.bfloat16
    return choose_dtype(precision, device)


def accelerate(dit: EchoDiT, *, is_exact: bool) -> str:
    """Which library multiplies matrices from now on: `onednn` in float32 on the CPU, or `torch`.

    Call it again when parts were added. The exact mode keeps to upstream's.
    """
    if is_exact or dit.device.type != "cpu" or dit.dtype != torch.float32:
        return TORCH
    use_onednn(dit)
    uses_it = type(dit.in_proj) is not torch.nn.Linear
    return ONEDNN if uses_it else TORCH
