"""How near Echo-TTS is to float32 in another number format: latents and samples of the same noise.

    python -m bench.echo_tts.quality ROOT --threads 1 [--precision bf16] [--frames 64] [--steps 40]

ROOT is what `bench.echo_tts.checkpoint` prints. The two models are loaded one after the other. It
ends with 1 where a bound of `accelerate` is not kept.

Legend: T latents, C latent channels.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch

import menura
from bench.echo_tts.checkpoint import CODEC, MODEL
from bench.echo_tts.task import RATE_HZ, SEED, clip
from menura.engines.echo_tts.accelerate import BOUNDS, Bounds
from menura.engines.echo_tts.decoder import ROW_TOLERANCES
from menura.engines.echo_tts.engine import EchoTTSEngine
from menura.runtime.torch_devices import DTYPES
from menura.speech import FloatArray, SpeechRequest

TEXT: Final = "The birch canoe slid on the smooth planks."
OTHERS: Final = ("Rice is often served in round bowls.", "Glue the sheet.")


@dataclass(frozen=True)
class Quality:
    """What was measured.

    `audio_db`: the level of the samples' error below the samples; `noise_db`: what it is for
    float32's own latents with random noise as large as the error. `row_error`: of a request's
    samples beside two others, from it alone.
    """

    latent_error: float
    audio_db: float
    noise_db: float
    row_error: float

    def broken(self, bounds: Bounds, tolerance: float) -> list[str]:
        """The bounds that are not kept, in words."""
        found = {
            "latent_error": self.latent_error <= bounds.latent_error,
            "audio_db": self.audio_db >= self.noise_db - bounds.excess_db,
            "row_error": self.row_error <= tolerance,
        }
        return [f"{name} is {getattr(self, name):.5g}" for name, kept in found.items() if not kept]


def measure(
    model: Path, codec: Path | None, precision: str, options: Mapping[str, object], seconds: float
) -> Quality:
    """The quality of a precision, for a request with these options and a voice of some seconds."""
    wanted, _ = _spoken(_load(model, codec, "fp32"), options, seconds, OTHERS[:0])
    tts = _load(model, codec, precision)
    found, _ = _spoken(tts, options, seconds, OTHERS[:0])
    beside, decode = _spoken(tts, options, seconds, OTHERS)
    heard, exact = decode(found), decode(wanted)
    noisy = wanted + np.linalg.norm(found - wanted) * _direction(wanted.shape)
    return Quality(
        latent_error=_distance(found, wanted),
        audio_db=_below_db(_distance(heard, exact)),
        noise_db=_below_db(_distance(decode(noisy), exact)),
        row_error=_distance(decode(beside), heard),
    )


def _load(model: Path, codec: Path | None, precision: str) -> menura.TTS:
    if codec is None:
        return menura.load(model, device="cpu", precision=precision)
    return menura.load(model, device="cpu", precision=precision, autoencoder=codec)


def _spoken(
    tts: menura.TTS, options: Mapping[str, object], seconds: float, others: Sequence[str]
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """The latents [T, C] of the text, spoken together with others, and what makes samples of them.

    The autoencoder computes in float32 whatever the precision is.
    """
    engine = tts.engine
    assert isinstance(engine, EchoTTSEngine)
    voice = tts.voice(clip(seconds), rate_hz=RATE_HZ)
    requests = [
        SpeechRequest(text, voice, seed=SEED, split=False, options=options)
        for text in (TEXT, *others)
    ]
    frames = tts.speak_many(requests)[0].frames
    assert frames is not None
    return frames.astype(np.float32), engine._loaded.decoding.whole


def _direction(shape: tuple[int, ...]) -> FloatArray:
    """Random numbers [T, C] of the length 1."""
    drawn = np.random.default_rng(SEED).standard_normal(shape)
    return (drawn / np.linalg.norm(drawn)).astype(np.float32)


def _distance(found: FloatArray, wanted: FloatArray) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


def _below_db(distance: float) -> float:
    """A distance as a level below the whole."""
    return -20 * math.log10(distance) if distance else math.inf


def main() -> int:
    """Measure, print what was found and which bounds were not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("root", type=Path)
    parser.add_argument("--precision", choices=("bf16", "fp16"), default="bf16")
    parser.add_argument("--frames", type=int, default=64)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--threads", type=int, required=True)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    options = {"num_steps": given.steps, "sequence_length": given.frames}
    model, codec = given.root / MODEL, given.root / CODEC
    quality = measure(model, codec, given.precision, options, given.seconds)
    sys.stdout.write(json.dumps(asdict(quality), indent=1) + "\n")
    dtype = DTYPES[given.precision]
    bounds = BOUNDS.get(dtype)
    broken = [] if bounds is None else quality.broken(bounds, ROW_TOLERANCES[dtype])
    sys.stdout.writelines(f"not kept: {line}\n" for line in broken)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
