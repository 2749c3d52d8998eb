"""What both sides measure alike; it imports nothing of either.

A request is sampled in two steps: the first is guided (three lanes), the second is not (one lane),
as the two halves of any request are at upstream's defaults. So a request of 40 steps takes 20 times
both, which is told as `steps_40_s`: reckoned from two steps, not measured. Random latents never
flatten, so nothing is cropped here: every frame is decoded on both sides.
"""

import argparse
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

RATE_HZ = 44_100
SAMPLES_PER_FRAME = 2048
SEED = 7
N_STEPS = 2
GUIDED_LANES = 3
FULL_STEPS = 40
SPEAKER_S = 10.0
CODEC_FRAMES = 128  # decoded by the codec alone: 5.9 s
TEXTS = {
    "5s": "The birch canoe slid on the smooth planks, and nobody on the shore said a word.",
    "30s": (
        "The birch canoe slid on the smooth planks. Glue the sheet to the dark blue background. "
        "It is easy to tell the depth of a well. These days a chicken leg is a rare dish. "
        "Rice is often served in round bowls. The juice of lemons makes fine punch. "
        "The box was thrown beside the parked truck. The hogs were fed chopped corn and garbage. "
        "Four hours of steady work faced us. A large size in stockings is hard to sell."
    ),
}
OPTIONS: dict[str, float | None] = {
    "num_steps": N_STEPS, "cfg_scale_text": 3.0, "cfg_scale_speaker": 8.0, "cfg_min_t": 0.5,
    "cfg_max_t": 1.0, "truncation_factor": None, "rescale_k": None, "rescale_sigma": None,
    "speaker_kv_scale": None, "speaker_kv_max_layers": None, "speaker_kv_min_t": None,
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """What a side is to do, with which checkpoint, number format and threads.

    `dtype`: bf16, fp32, or exact (float32, and on our side exact mode). `what`: `speak` a text in a
    window of so many frames, use the `codec` alone, or encode a reference of so many seconds
    (`reference`). `by_turns`: once for each line of the input.
    """

    root: Path
    what: str
    dtype: str
    n_threads: int
    n_frames: int
    text: str
    seconds: float
    with_auto: bool
    one_pass: bool
    by_turns: bool

    @property
    def model(self) -> Path:
        """The folder of the transformer."""
        return self.root / "jordand" / "echo-tts-base"

    @property
    def codec(self) -> Path:
        """The folder of the autoencoder."""
        return self.root / "jordand" / "fish-s1-dac-min"


def task() -> Task:
    """The task that the command line states."""
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("what", choices=("speak", "codec", "reference"))
    parser.add_argument("--dtype", choices=("bf16", "fp32", "exact"), default="fp32")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--frames", type=int, default=640)
    parser.add_argument("--text", choices=sorted(TEXTS), default="5s")
    parser.add_argument("--seconds", type=float, default=SPEAKER_S)
    parser.add_argument("--auto", action="store_true", help="ours: length=auto as well")
    parser.add_argument("--one-pass", action="store_true", help="reference: not chunk by chunk")
    parser.add_argument("--by-turns", action="store_true")
    given = parser.parse_args()
    return Task(
        given.root, given.what, given.dtype, given.threads, given.frames, TEXTS[given.text],
        given.seconds, given.auto, given.one_pass, given.by_turns,
    )  # fmt: skip


def clip(seconds: float = SPEAKER_S) -> NDArray[np.float32]:
    """A reference [n] at 44.1 kHz: noise."""
    n_samples = round(seconds * RATE_HZ)
    return np.random.default_rng(SEED).normal(0, 0.1, n_samples).astype(np.float32)


def z_q(n_channels: int) -> NDArray[np.float32]:
    """What the codec decodes alone [T, C]."""
    shape = CODEC_FRAMES, n_channels
    return np.random.default_rng(SEED).normal(0, 1, shape).astype(np.float32)


@dataclass
class Steps:
    """When each of a request's steps began and when the model last answered."""

    begun: list[tuple[float, float]] = field(default_factory=list)
    answered: tuple[float, float] = (0.0, 0.0)

    def begin(self) -> None:
        """Note that the model is called now."""
        self.begun.append(_now())

    def answer(self) -> None:
        """Note that the model has answered."""
        self.answered = _now()

    def figures(self, start: float, end: float) -> dict[str, float]:
        """Seconds of each part of a request that went from `start` to `end` by the clock."""
        assert len(self.begun) == N_STEPS, "a request has another number of steps"
        (guided, guided_cpu), (single, single_cpu) = self.begun
        answered, answered_cpu = self.answered
        steps_s = answered - guided
        return {
            "before_steps_s": guided - start,
            "step_3_lanes_s": single - guided,
            "step_3_lanes_cpu_s": single_cpu - guided_cpu,
            "step_1_lane_s": answered - single,
            "step_1_lane_cpu_s": answered_cpu - single_cpu,
            "after_steps_s": end - answered,
            "whole_2_steps_s": end - start,
            "steps_40_s": steps_s * FULL_STEPS / N_STEPS,
            "whole_40_steps_s": end - start - steps_s + steps_s * FULL_STEPS / N_STEPS,
        }


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()
