"""vox-tts's side, in its own environment: its options are those of `our_side`, FOLDER a .tmod file.

Its first audio is taken from a stream that is asked for the smallest pieces, one frame each; the
whole request has its own default pieces.
"""

import contextlib
import sys

import numpy as np

from bench.qwen3_tts.peers.seat import SAMPLES_PER_FRAME, per_frame, serve
from bench.qwen3_tts.stopwatch import CLIP_RATE_HZ, CLIP_SAMPLES, SEED, TEXT, task
from bench.stopwatch import Stopwatch

with Stopwatch() as IMPORTING:
    import vox

ONE_FRAME = {"chunk_frames": 1, "chunk_samples": SAMPLES_PER_FRAME}


class Vox:
    """Its engine, and a voice by embedding from the clip that every side is given."""

    def __init__(self, model: str, n_threads: int, n_frames: int) -> None:
        self._wanted = {"seed": SEED, "max_frames": n_frames, "language": "english"}
        with Stopwatch() as self.loading:
            self._engine = vox.Engine(model, device="cpu", threads=n_threads)
        clip = np.random.default_rng(SEED).normal(0, 0.1, CLIP_SAMPLES).astype(np.float32)
        self._voice = self._engine.clone_voice((clip, CLIP_RATE_HZ), xvector_only=True, name="clip")

    def speak(self) -> dict[str, float]:
        """The figures of a request for the first audio, and of one for all of it."""
        first_s = self._first_audio_s()
        with Stopwatch() as speaking:
            samples = self._engine.synthesize(TEXT, self._voice, **self._wanted)
        spoken = {"whole_s": speaking.wall_s, "whole_cpu_s": speaking.cpu_s}
        figures = per_frame(spoken, len(samples) / SAMPLES_PER_FRAME) | spoken
        return figures | {
            "first_audio_s": first_s,
            "audio_sum": float(np.abs(samples).sum()),
        }

    def _first_audio_s(self) -> float:
        with Stopwatch() as waiting:
            session = self._engine.session(self._voice, **self._wanted, **ONE_FRAME)
            next(iter(session.feed(TEXT)))
        session.cancel()
        return waiting.wall_s


def main() -> None:
    """Load, and speak by turns."""
    asked = task()
    with contextlib.redirect_stdout(sys.stderr):
        peer = Vox(str(asked.folder), asked.n_threads, asked.n_frames)
        serve(IMPORTING, peer.loading, peer.speak)


if __name__ == "__main__":
    main()
