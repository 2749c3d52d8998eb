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
    """How far a number format may be from float32, with the same noise.

    `latent_error`: the distance of a request's latents over their length. `audio_db`: the level of
    the samples' error below the samples.
    """

    latent_error: float
    audio_db: float


BOUNDS: Mapping[torch.dtype, Bounds] = {
    torch.bfloat16: Bounds(latent_error=0.03, audio_db=25.0),
}


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
