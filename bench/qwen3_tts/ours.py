"""Our side: the same request as upstream's, streamed for its first audio, and whole.

    python -m bench.qwen3_tts.ours FOLDER --threads N --frames N [--precision int8] [--by-turns]

In exact mode on the CPU unless another precision is asked for, in bfloat16 on CUDA. The stream is
the first request after loading, with nothing warmed up.
"""

import numpy as np

from bench.qwen3_tts.stopwatch import (
    CLIP_RATE_HZ,
    CLIP_SAMPLES,
    SEED,
    TEXT,
    Task,
    task,
)
from bench.stopwatch import Stopwatch, take_turns, tell

with Stopwatch() as IMPORTING:
    import torch

    import menura
    from menura.engines.qwen3_tts.codec import CodeArray, Codec
    from menura.engines.qwen3_tts.engine import Qwen3TTSEngine

from bench.qwen3_tts.watched_frames import watched

PIECE_FRAMES = 4  # of a stream, after a first piece of one frame


class Ours:
    """Our loaded model, watched: what making its frames takes."""

    def __init__(self, asked: Task) -> None:
        self._limit = asked.n_frames + 1
        with Stopwatch() as self.loading:
            self._tts = menura.load(
                asked.folder,
                device=asked.device,
                precision=asked.precision if asked.device == "cpu" else "bf16",
                threads=asked.n_threads,
            )
        clip = np.random.default_rng(SEED).normal(0, 0.1, CLIP_SAMPLES).astype(np.float32)
        self._voice = self._tts.voice(clip, mode="x_vector", rate_hz=CLIP_RATE_HZ)
        assert isinstance(self._tts.engine, Qwen3TTSEngine)
        self._engine = self._tts.engine
        self._frames = watched(self._engine)

    def speak(self) -> dict[str, float]:
        """The figures of one whole request, and of its codes decoded again."""
        self._frames.clear()
        with Stopwatch() as speaking:
            speech = self._tts.speak(TEXT, voice=self._voice, language="english", seed=SEED,
                                     max_new_tokens=self._limit)  # fmt: skip
        assert speech.frames is not None
        figures = self._frames.figures()
        figures |= decoded(self._engine.codec, speech.frames.astype(np.int64, copy=False))
        figures |= {"whole_s": speaking.wall_s, "whole_cpu_s": speaking.cpu_s}
        figures["rtf"] = speaking.wall_s / (len(speech.samples) / speech.sample_rate_hz)
        return figures | {"audio_sum": float(np.abs(speech.samples).sum())}

    def first_audio_s(self) -> float:
        """Seconds until the first piece of the same request, streamed."""
        with Stopwatch() as waiting:
            stream = self._tts.stream(TEXT, voice=self._voice, language="english", seed=SEED,
                                      max_new_tokens=self._limit)  # fmt: skip
            next(stream)
        stream.close()
        return waiting.wall_s


def decoded(codec: Codec, frames: CodeArray) -> dict[str, float]:
    """The codec's seconds a frame for the frames [T, Q]: whole, and in the pieces of a stream."""
    with Stopwatch() as whole:
        codec.decode(frames)
    stream = codec.stream()
    with Stopwatch() as streamed:
        for piece in np.split(frames, range(1, len(frames), PIECE_FRAMES)):
            stream.decode(piece)
    return {
        "codec_frame_s": whole.wall_s / len(frames),
        "codec_frame_cpu_s": whole.cpu_s / len(frames),
        "codec_streamed_s": streamed.wall_s / len(frames),
    }


def main() -> None:
    """Measure, and print the figures."""
    asked = task()
    ours = Ours(asked)
    if asked.by_turns:
        take_turns(ours.speak)
        return
    figures = {"import_s": IMPORTING.wall_s, "load_s": ours.loading.wall_s}
    figures["first_audio_s"] = ours.first_audio_s()
    figures |= ours.speak()
    if asked.device != "cpu":
        figures["gpu_peak_mb"] = torch.cuda.max_memory_allocated() / 2**20
    tell(figures)


if __name__ == "__main__":
    main()
