"""Upstream's side, in upstream's own environment: one whole-text call, as its users make it.

    python -m bench.qwen3_tts.upstream FOLDER --threads N --frames N [--by-turns]

Its first audio is the whole audio: it has no other call. In float32 on the CPU, in bfloat16 on
CUDA.
"""

import contextlib
import sys
from typing import Any

import numpy as np

from bench.qwen3_tts.stopwatch import (
    CLIP_RATE_HZ,
    CLIP_SAMPLES,
    SEED,
    TEXT,
    Frames,
    Task,
    task,
)
from bench.stopwatch import Stopwatch, take_turns, tell
from tests.parity.qwen3_tts.upstream_side import upstream_package

with Stopwatch() as IMPORTING, contextlib.redirect_stdout(sys.stderr):  # it prints advice
    PACKAGE = upstream_package()
    import torch


class Upstream:
    """Upstream's loaded model, watched: when its talker is called, and what its codec takes."""

    def __init__(self, asked: Task, number: torch.dtype) -> None:
        self._n_frames = asked.n_frames
        with Stopwatch() as self.loading:
            model = PACKAGE.Qwen3TTSModel.from_pretrained(
                str(asked.folder), device_map=asked.device, dtype=number
            )
        self._model = model
        clip = np.random.default_rng(SEED).normal(0, 0.1, CLIP_SAMPLES).astype(np.float32)
        self._voice = model.create_voice_clone_prompt(
            ref_audio=(clip, CLIP_RATE_HZ), x_vector_only_mode=True
        )
        self._frames, self._decoding = Frames(), Stopwatch()
        model.model.talker.register_forward_pre_hook(lambda *_: self._frames.note())
        self._decode = model.model.speech_tokenizer.decode
        model.model.speech_tokenizer.decode = self._timed_decode

    def speak(self) -> dict[str, float]:
        """The figures of one request."""
        self._frames = Frames()
        torch.manual_seed(SEED)
        with Stopwatch() as speaking:
            waves, _ = self._model.generate_voice_clone(
                text=TEXT, language="English", voice_clone_prompt=self._voice,
                max_new_tokens=self._n_frames + 1,
            )  # fmt: skip
        return self._frames.figures(self._n_frames) | {
            "codec_frame_s": self._decoding.wall_s / self._n_frames,
            "codec_frame_cpu_s": self._decoding.cpu_s / self._n_frames,
            "first_audio_s": speaking.wall_s,
            "whole_s": speaking.wall_s,
            "whole_cpu_s": speaking.cpu_s,
            "audio_sum": float(np.abs(waves[0]).sum()),
        }

    def _timed_decode(self, *given: Any, **named: Any) -> Any:
        with self._decoding:
            return self._decode(*given, **named)


def main() -> None:
    """Measure, and print the figures."""
    asked = task()
    torch.set_num_threads(asked.n_threads)
    with contextlib.redirect_stdout(sys.stderr):
        number = torch.float32 if asked.device == "cpu" else torch.bfloat16
        upstream = Upstream(asked, number)
        if asked.by_turns:
            take_turns(upstream.speak)
            return
        figures = {"import_s": IMPORTING.wall_s, "load_s": upstream.loading.wall_s}
        figures |= upstream.speak()
    if asked.device != "cpu":
        figures["gpu_peak_mb"] = torch.cuda.max_memory_allocated() / 2**20
    tell(figures)


if __name__ == "__main__":
    main()
