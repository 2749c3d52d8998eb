"""Upstream's side, in its environment; its options are those of `our_side`.

In float32, or in bfloat16 where `--precision bf16` asks for it. Its first audio is its whole audio.
"""

import contextlib
import sys

import torch

from bench.qwen3_tts.peers.seat import per_frame, serve
from bench.qwen3_tts.stopwatch import task
from bench.qwen3_tts.upstream import IMPORTING, Upstream


def main() -> None:
    """Load, and speak by turns."""
    asked = task()
    torch.set_num_threads(asked.n_threads)
    with contextlib.redirect_stdout(sys.stderr):
        number = torch.bfloat16 if asked.precision == "bf16" else torch.float32
        upstream = Upstream(asked, number)

        def speak() -> dict[str, float]:
            spoken = upstream.speak()
            return per_frame(spoken, asked.n_frames) | spoken

        serve(IMPORTING, upstream.loading, speak)


if __name__ == "__main__":
    main()
