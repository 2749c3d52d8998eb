"""What the machine can do at most, measured in the same run as the sides.

`python -m bench.qwen3_tts.peers.limits THREADS` prints it: how fast a plain loop reads memory
(`bench/memory.py`), and torch's best matrix products of each number format.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping

import torch

from bench.memory import MemoryMeter

_SIZE = 2048
_PASSES = 8
_READING_PASSES = 24


def measured(n_threads: int) -> Mapping[str, float]:
    """Gigabytes read, and billions of operations of matrix products, a second."""
    torch.set_num_threads(n_threads)
    with MemoryMeter(n_threads) as meter:
        read_gb_s = meter.most_gb_s(_READING_PASSES)
    return {
        "read_gb_s": read_gb_s,
        "fp32_gflop_s": _product_gflop_s(torch.float32),
        "bf16_gflop_s": _product_gflop_s(torch.bfloat16),
        "int8_gop_s": _int8_gop_s(),
    }


def _product_gflop_s(number: torch.dtype) -> float:
    matrix = torch.ones(_SIZE, _SIZE, dtype=number)
    return 2 * _SIZE**3 / _best_s(lambda: matrix @ matrix) / 1e9


def _int8_gop_s() -> float:
    matrix = torch.ones(_SIZE, _SIZE, dtype=torch.int8)
    return 2 * _SIZE**3 / _best_s(lambda: torch._int_mm(matrix, matrix)) / 1e9


def _best_s(work: Callable[[], object]) -> float:
    """Seconds of the fastest pass; the first one warms up."""
    work()
    best = float("inf")
    for _ in range(_PASSES):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def main() -> None:
    """Measure with the threads that are named, and print."""
    sys.stdout.write(json.dumps(measured(int(sys.argv[1]))) + "\n")


if __name__ == "__main__":
    main()
