"""Seconds by the clock and of the CPU, and how a side of a bench tells its figures."""

import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass
class Stopwatch:
    """Seconds by the clock, and of this process's CPU, between two moments."""

    wall_s: float = 0.0
    cpu_s: float = 0.0

    def __enter__(self) -> "Stopwatch":
        self.wall_s, self.cpu_s = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *raised: object) -> None:
        self.wall_s = time.perf_counter() - self.wall_s
        self.cpu_s = time.process_time() - self.cpu_s


def take_turns(measure: Callable[[], Mapping[str, float]]) -> None:
    """Measure once for each line of the standard input, and tell what it took."""
    for _ in sys.stdin:
        tell(measure())


def tell(figures: Mapping[str, float]) -> None:
    """Print the figures as `bench.run` reads them, past whatever stands in for standard output."""
    assert sys.__stdout__ is not None
    sys.__stdout__.write(json.dumps({"timings": figures}) + "\n")
    sys.__stdout__.flush()
