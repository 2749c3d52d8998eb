"""Our side: `python -m bench.echo_tts.ours ROOT speak|codec|reference --threads N ...` (`task.py`).

Whole requests are calls of the public `speak`, with a voice that was made before. The autoencoder
computes in float32 on both sides.
"""

import time
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import menura
from bench.echo_tts.task import (
    OPTIONS,
    RATE_HZ,
    SAMPLES_PER_FRAME,
    SEED,
    Steps,
    Task,
    clip,
    task,
    z_q,
)
from bench.stopwatch import Stopwatch, take_turns, tell
from menura.engines.echo_tts.autoencoder import Autoencoder
from menura.engines.echo_tts.engine import EchoTTSEngine

Figures = dict[str, float]


class Ours:
    """Our loaded model, watched: when a step begins and ends."""

    def __init__(self, asked: Task) -> None:
        self._asked = asked
        with Stopwatch() as self.loading:
            self._tts = menura.load(
                asked.model,
                autoencoder=asked.codec,
                device="cpu",
                precision=asked.dtype,
                threads=asked.n_threads,
            )
        engine = self._tts.engine
        assert isinstance(engine, EchoTTSEngine)
        self._engine = engine
        self._steps = Steps()
        trunk = engine.parts["dit"]
        trunk.get_submodule("in_proj").register_forward_pre_hook(lambda *_: self._steps.begin())
        trunk.get_submodule("out_proj").register_forward_hook(lambda *_: self._steps.answer())
        self._voice: menura.Voice | None = None

    def speak(self) -> Figures:
        """The figures of one request, and with `--auto` of the same in a window by its text."""
        figures = self._speak({"sequence_length": self._asked.n_frames})
        if self._asked.with_auto:
            auto = self._speak({"length": "auto"})
            figures |= {f"auto_{name}": auto[name] for name in ("whole_40_steps_s", "audio_s")}
        return figures

    def codec(self) -> Figures:
        """Seconds of decoding, a second of audio, and of encoding a reference."""
        codec = self._engine.autoencoder
        given = z_q(codec.config.latent_dim)
        audio_s = len(given) * SAMPLES_PER_FRAME / RATE_HZ
        with Stopwatch() as decoding:
            decoded = codec.decode(given)
        with Stopwatch() as encoding:
            n_latents = self._encode(clip(self._asked.seconds))
        return {
            "decode_s_per_s": decoding.wall_s / audio_s,
            "decode_cpu_s_per_s": decoding.cpu_s / audio_s,
            "encode_s": encoding.wall_s,
            "encode_cpu_s": encoding.cpu_s,
            "decoded_sum": float(np.abs(decoded).sum()),
            "n_latents": float(n_latents),
        }

    def reference(self) -> Figures:
        """Seconds of encoding a long reference; the peak of memory is the process's own."""
        samples = clip(self._asked.seconds)
        with Stopwatch() as encoding:
            if self._asked.one_pass:
                first_level_in_one_pass(self._engine.autoencoder, samples)
            else:
                self._encode(samples)
        return {"encode_s": encoding.wall_s, "reference_s": self._asked.seconds}

    def _encode(self, samples: NDArray[np.float32]) -> int:
        """The number of latents of a reference [n], encoded as a user encodes one."""
        voice = self._tts.voice(samples, rate_hz=RATE_HZ)
        return len(voice.prompt.arrays["latents"])

    def _speak(self, window: dict[str, int | str]) -> Figures:
        if self._voice is None:
            self._voice = self._tts.voice(clip(), rate_hz=RATE_HZ)
        self._steps = Steps()
        given: dict[str, Any] = {name: v for name, v in OPTIONS.items() if v is not None}
        start = time.perf_counter()
        speech = self._tts.speak(
            self._asked.text, voice=self._voice, split=False, seed=SEED, **(given | window)
        )
        figures = self._steps.figures(start, time.perf_counter())
        audio_s = len(speech.samples) / RATE_HZ
        return figures | {"audio_s": audio_s, "audio_sum": float(np.abs(speech.samples).sum())}


def first_level_in_one_pass(codec: Autoencoder, samples: NDArray[np.float32]) -> None:
    """Run a clip [n] through the encoder's first level at once: a lower bound of one pass."""
    encoder = codec.encoder
    with torch.inference_mode():
        hidden = encoder.input_conv(torch.from_numpy(samples)[None, None])
        encoder.blocks[0](hidden)


def main() -> None:
    """Measure, and print the figures."""
    asked = task()
    ours = Ours(asked)
    measure = {"speak": ours.speak, "codec": ours.codec, "reference": ours.reference}[asked.what]
    if asked.by_turns:
        take_turns(measure)
    else:
        tell({"load_s": ours.loading.wall_s} | measure())


if __name__ == "__main__":
    main()
