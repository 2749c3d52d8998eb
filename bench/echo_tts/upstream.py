"""Upstream's side, in its own environment; the same tasks as ours (`task.py`).

    python -m bench.echo_tts.upstream ROOT speak|codec|reference --threads N ...

Whole requests are calls of its `sample_pipeline`, with the speaker's latents encoded before, since
ours keeps a voice too. It pads every text to 768 ids.
"""

import contextlib
import sys
import time
from typing import Any

import numpy as np
import torch

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
from tests.parity.echo_tts.upstream_package import load

Figures = dict[str, float]
MAX_IDS = 768


class Upstream:
    """Upstream's loaded model, watched: when it is called and when it answers."""

    def __init__(self, asked: Task) -> None:
        self._asked = asked
        with Stopwatch() as self.loading:
            kind = torch.bfloat16 if asked.dtype == "bf16" else torch.float32
            self._loaded = load(asked.root, kind, with_blockwise=False)
        self._speech = self._loaded.package.inference
        self._steps = Steps()
        self._loaded.model.register_forward_pre_hook(lambda *_: self._steps.begin())
        self._loaded.model.register_forward_hook(lambda *_: self._steps.answer())
        self._speaker: Any = None

    def speak(self) -> Figures:
        """The figures of one request, in the order of `sample_pipeline` without the reference."""
        if self._speaker is None:
            self._speaker = self._encode(clip())
        self._steps = Steps()
        start = time.perf_counter()
        ids, mask = self._speech.get_text_input_ids_and_mask([self._asked.text], MAX_IDS)
        latents = self._speech.sample_euler_cfg_independent_guidances(
            self._loaded.model, *self._speaker, ids, mask, SEED, **OPTIONS,
            sequence_length=self._asked.n_frames,
        )  # fmt: skip
        audio = self._speech.ae_decode(self._loaded.codec, self._loaded.pca, latents)
        audio = self._speech.crop_audio_to_flattening_point(audio, latents[0])
        figures = self._steps.figures(start, time.perf_counter())
        samples = audio.float().numpy().ravel()
        audio_s = len(samples) / RATE_HZ
        return figures | {"audio_s": audio_s, "audio_sum": float(np.abs(samples).sum())}

    def codec(self) -> Figures:
        """Seconds of decoding, a second of audio, and of encoding a reference."""
        codec = self._loaded.codec
        given = torch.from_numpy(z_q(self._loaded.pca.pca_mean.numel())).T[None].contiguous()
        audio_s = given.shape[-1] * SAMPLES_PER_FRAME / RATE_HZ
        with Stopwatch() as decoding:
            decoded = codec.decode_zq(given)
        with Stopwatch() as encoding:
            latents, _ = self._encode(clip(self._asked.seconds))
        return {
            "decode_s_per_s": decoding.wall_s / audio_s,
            "decode_cpu_s_per_s": decoding.cpu_s / audio_s,
            "encode_s": encoding.wall_s,
            "encode_cpu_s": encoding.cpu_s,
            "decoded_sum": float(decoded.abs().sum()),
            "n_latents": float(latents.shape[1]),
        }

    def reference(self) -> Figures:
        """Seconds of encoding a long reference; the peak of memory is the process's own."""
        with Stopwatch() as encoding:
            self._encode(clip(self._asked.seconds))
        return {"encode_s": encoding.wall_s, "reference_s": self._asked.seconds}

    def _encode(self, samples: Any) -> Any:
        return self._speech.get_speaker_latent_and_mask(
            self._loaded.codec, self._loaded.pca, torch.from_numpy(samples)[None]
        )


def main() -> None:
    """Measure, and print the figures."""
    asked = task()
    torch.set_num_threads(asked.n_threads)
    torch.set_grad_enabled(False)
    with contextlib.redirect_stdout(sys.stderr):
        upstream = Upstream(asked)
        measures = {"speak": upstream.speak, "codec": upstream.codec,
                    "reference": upstream.reference}  # fmt: skip
        measure = measures[asked.what]
        if asked.by_turns:
            take_turns(measure)
        else:
            tell({"load_s": upstream.loading.wall_s} | measure())


if __name__ == "__main__":
    main()
