"""Mizuoto's side, its program beside this one; the options are those of `our_side`.

It loads its model at the first request: `load_s` is what that one took beyond the second. Its
requests have at least 15 frames; its first audio is that of the same stream as all the audio.
"""

import tempfile
import time
import wave
from pathlib import Path

import numpy as np

from bench.qwen3_tts.peers.mizuoto_server import MizuotoServer
from bench.qwen3_tts.peers.seat import SAMPLES_PER_FRAME, per_frame, serve
from bench.qwen3_tts.peers.sides import MIZUOTO
from bench.qwen3_tts.stopwatch import CLIP_RATE_HZ, CLIP_SAMPLES, SEED, task
from bench.stopwatch import Stopwatch

LEAST_LIMIT = 16


def main() -> None:
    """Start the server, let it load, and speak by turns."""
    asked = task()
    limit = max(asked.n_frames + 1, LEAST_LIMIT)  # the last step makes no frame
    cache = MIZUOTO.parent.parent  # on the same disk as its program: a temporary one may be small
    with tempfile.TemporaryDirectory(dir=cache) as name:
        folder = Path(name)
        clip = written_clip(folder / "clip.wav")
        with MizuotoServer(MIZUOTO, folder, asked.folder) as server:
            with Stopwatch() as starting:
                server.wait()
            first, second = (spoken(server, clip, LEAST_LIMIT) for _ in range(2))
            loading = Stopwatch(wall_s=first["whole_s"] - second["whole_s"])
            serve(starting, loading, lambda: spoken(server, clip, limit))


def written_clip(path: Path) -> Path:
    """The clip that every side is given, as a WAV file."""
    clip = np.random.default_rng(SEED).normal(0, 0.1, CLIP_SAMPLES)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(CLIP_RATE_HZ)
        file.writeframes((clip.clip(-1, 1) * 32767).astype("<i2").tobytes())
    return path


def spoken(server: MizuotoServer, clip: Path, limit: int) -> dict[str, float]:
    """The figures of one request."""
    cpu_s, start = server.cpu_s(), time.perf_counter()
    pieces = server.speech(clip, limit)
    audio = next(pieces)
    first_s = time.perf_counter() - start
    audio += b"".join(pieces)
    took = {"whole_s": time.perf_counter() - start, "whole_cpu_s": server.cpu_s() - cpu_s}
    return per_frame(took, len(audio) / 2 / SAMPLES_PER_FRAME) | took | {"first_audio_s": first_s}


if __name__ == "__main__":
    main()
