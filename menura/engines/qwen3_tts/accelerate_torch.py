"""What torch alone makes faster on a CPU, where the native kernels cannot run.

The transformers get weights of 8 bits, layer by layer, so that loading needs little more memory
than what stays. The codec's residual units, four fifths of its products, multiply in bfloat16 where
the CPU has instructions for it; its other layers have few steps, would lose more by it, and stay.
"""

from functools import partial

import torch
from torch import Tensor

from menura.engines.qwen3_tts.codec_decoder import CodecDecoder
from menura.engines.qwen3_tts.stored_weights import StoredWeights
from menura.engines.qwen3_tts.weights import Parts
from menura.nn.codec_blocks import ResidualUnit
from menura.runtime import devices
from menura.runtime.bfloat16_conv import use_bfloat16
from menura.runtime.quantize import use_int8


def in_int8(stored: StoredWeights) -> Parts:
    """All parts of a checkpoint, the transformers' linear layers in 8 bits.

    Raises: ModelFilesError: a tensor is missing or does not fit; a number is NaN or infinite.
    """
    stored.check()
    parts = stored.parts
    talker, predictor = parts.talker, parts.code_predictor
    use_int8(talker, ("transformer", "codec_head"), partial(_numbers, stored, "talker"))
    within = ("projection", "transformer", "heads")
    use_int8(predictor, within, partial(_numbers, stored, "code_predictor"))
    return parts


def quicken(decoder: CodecDecoder) -> str:
    """The number format of most of the codec's products from now on: `bf16` or `fp32`."""
    if not devices.multiplies_bfloat16():
        return "fp32"
    use_bfloat16(module for module in decoder.modules() if isinstance(module, ResidualUnit))
    return "bf16"


def _numbers(stored: StoredWeights, part: str, name: str) -> Tensor:
    """The float32 numbers [n, m] of a part's parameter."""
    return torch.from_numpy(stored.read(f"{part}.{name}"))
