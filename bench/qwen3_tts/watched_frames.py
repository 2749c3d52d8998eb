"""Watches an engine's frame maker: the seconds of every call that makes frames, and of prompts."""

import time
from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from torch import Tensor

from menura.engines.contract import NoiseSource
from menura.engines.qwen3_tts.engine import Qwen3TTSEngine
from menura.engines.qwen3_tts.utterance_row import (
    FrameMaker,
    Outcome,
    Row,
    Settings,
    TrailingText,
)


class WatchedFrames:
    """A frame maker that notes what each call took, by the clock and in CPU seconds."""

    def __init__(self, inner: FrameMaker) -> None:
        self._inner = inner
        self.clear()

    def clear(self) -> None:
        """Forget what was noted."""
        self.wall: list[float] = []
        self.cpu: list[float] = []
        self.prompts: list[float] = []

    def start(
        self,
        prompt_rows: Tensor,
        n_fixed: int,
        text: TrailingText,
        settings: Settings,
        noise: NoiseSource,
    ) -> Row:
        """The row of a prompt [T, D]."""
        began = time.perf_counter()
        row = self._inner.start(prompt_rows, n_fixed, text, settings, noise)
        self.prompts.append(time.perf_counter() - began)
        return row

    def next_frames(self, rows: Sequence[Row]) -> list[Outcome]:
        """The next frame of every row."""
        wall, cpu = time.perf_counter(), time.process_time()
        outcomes = self._inner.next_frames(rows)
        if rows:
            self.wall.append(time.perf_counter() - wall)
            self.cpu.append(time.process_time() - cpu)
        return outcomes

    def release(self, row: Row) -> None:
        """Give back what is held for a row."""
        self._inner.release(row)

    def figures(self) -> dict[str, float]:
        """Median seconds of a call, and the seconds of the last prompt."""
        return {
            "frame_s": median(self.wall),
            "frame_cpu_s": median(self.cpu),
            "prompt_s": self.prompts[-1],
        }


def watched(engine: Qwen3TTSEngine) -> WatchedFrames:
    """The watcher, after it took the place of the engine's frame maker."""
    frames = WatchedFrames(engine.running.frames)
    engine.running = replace(engine.running, frames=frames)
    return frames
