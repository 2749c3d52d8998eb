"""What both sides measure alike; it imports nothing of either.

A frame is timed from one call of the talker to the next: the transformer, the draws, and the code
predictor between them. The median of these times is a side's seconds a frame, so that the reading
of the prompt and a disturbed moment do not count.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median

TEXT = "The birch canoe slid on the smooth planks."
SEED = 7
CLIP_RATE_HZ = 24_000
CLIP_SAMPLES = 3 * CLIP_RATE_HZ


@dataclass(frozen=True)
class Task:
    """What a side is to do: which checkpoint, with how many threads, how many frames.

    `by_turns`: speak once for each line of the standard input, instead of once for all figures.
    """

    folder: Path
    device: str
    n_threads: int
    n_frames: int
    by_turns: bool
    precision: str


def task() -> Task:
    """The task that the command line states."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--frames", type=int, required=True)
    parser.add_argument("--by-turns", action="store_true")
    parser.add_argument("--precision", default="exact", help="of our side; upstream's is float32")
    given = parser.parse_args()
    return Task(
        given.folder, given.device, given.threads, given.frames, given.by_turns, given.precision
    )


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


@dataclass
class Frames:
    """The moments at which the talker was called, by the clock and in CPU seconds."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def note(self) -> None:
        """Note that the talker is called now."""
        self.wall.append(time.perf_counter())
        self.cpu.append(time.process_time())

    def figures(self, n_frames: int) -> dict[str, float]:
        """Median seconds a frame; the first call reads the prompt and is left out."""
        assert len(self.wall) == n_frames + 1, "an utterance has another number of frames"
        return {
            "frame_s": median(b - a for a, b in pairwise(self.wall[1:])),
            "frame_cpu_s": median(b - a for a, b in pairwise(self.cpu[1:])),
        }


def take_turns(speak: Callable[[], Mapping[str, float]]) -> None:
    """Speak once for each line of the standard input, and tell what it took."""
    for _ in sys.stdin:
        tell(speak())


def tell(figures: Mapping[str, float]) -> None:
    """Print the figures as `bench.run` reads them, past whatever stands in for standard output."""
    assert sys.__stdout__ is not None
    sys.__stdout__.write(json.dumps({"timings": figures}) + "\n")
    sys.__stdout__.flush()
