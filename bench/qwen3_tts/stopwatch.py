"""What both sides measure alike; it imports nothing of either.

A frame is timed from one call of the talker to the next: the transformer, the draws, and the code
predictor between them. The median of these times is a side's seconds a frame, so that the reading
of the prompt and a disturbed moment do not count.
"""

import argparse
import time
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
