"""What makes the loaded transformer faster. Without this file all is the same but slower.

Layers are replaced, never the maths: results agree with the plain path within 1e-5.
"""

import torch

from menura.engines.echo_tts.dit import EchoDiT
from menura.runtime.onednn import use_onednn

ONEDNN, TORCH = "onednn", "torch"


def accelerate(dit: EchoDiT, *, is_exact: bool) -> str:
    """Which library multiplies matrices from now on: `onednn` in float32 on the CPU, or `torch`.

    Call it again when parts were added. The exact mode keeps to upstream's.
    """
    if is_exact or dit.device.type != "cpu" or dit.dtype != torch.float32:
        return TORCH
    use_onednn(dit)
    uses_it = type(dit.in_proj) is not torch.nn.Linear
    return ONEDNN if uses_it else TORCH
