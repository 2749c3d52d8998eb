"""Upstream's greedy codes on a device and in a number format: a script for its own environment.

    python -m tests.parity.qwen3_tts.greedy_upstream FOLDER DEVICE DTYPE OUT.npy

Greedy, because every device has its own random numbers. The checkpoint is a CustomVoice.
"""

import sys
from typing import Any

import numpy as np

from tests.parity.qwen3_tts.upstream_side import Watch, upstream_package

TEXT = "Hello world, this is a small voice test."
VOICE = "vivian"
MAX_NEW_TOKENS = 41


def main(folder: str, device: str, dtype: str, out: str) -> None:
    """Write the codes [T, Q] of the one request."""
    package = upstream_package()
    import torch  # noqa: PLC0415

    kind = {"bf16": torch.bfloat16, "fp32": torch.float32}[dtype]
    model = package.Qwen3TTSModel.from_pretrained(folder, device_map=device, dtype=kind)
    seen: dict[str, Any] = {}
    with Watch(model.model, seen):
        model.generate_custom_voice(
            text=TEXT, language="English", speaker=VOICE, max_new_tokens=MAX_NEW_TOKENS,
            do_sample=False, subtalker_dosample=False,
        )  # fmt: skip
    np.save(out, seen["codes"][0].cpu().numpy())


if __name__ == "__main__":
    main(*sys.argv[1:])
