"""How near a fast mode is to float32: states, scores, codes, draws and samples, as numbers.

    python -m bench.qwen3_tts.quality FOLDER --precision int8 [--frames 200] [--threads 1]
                                             [--without-kernels]

Both ways see the same prompts and, frame by frame, the codes that float32 drew: left to themselves,
they would part after the first code that differs. It ends with 1 where a bound of `accelerate` is
not kept.

Legend: T positions, L layers, D width, V entries, Q codebooks.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from bench.qwen3_tts.forced_sides import Side, side_of, states
from menura.engines.contract import LoadArguments
from menura.engines.qwen3_tts import accelerate
from menura.engines.qwen3_tts.accelerate import Bounds, Running
from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.engines.qwen3_tts.config_files import read_config
from menura.engines.qwen3_tts.generate import Models, next_frame, prefill
from menura.engines.qwen3_tts.utterance_row import Settings, TrailingText
from menura.engines.qwen3_tts.voice_encoder import fingerprint_of
from menura.nn.transformer import Transformer
from menura.runtime.native import frame as native_frame
from menura.runtime.sampling import Sampling, filtered
from menura.runtime.torch_noise import TorchNoise
from menura.speech import FloatArray

SAMPLING = Sampling(temperature=0.9, top_k=50, repetition_penalty=1.05)
N_PROMPT = 32  # the most that is traced in one pass
N_DRAWS = 2000
N_CODEC_FRAMES = 40
SEED = 5


@dataclass(frozen=True)
class Quality:
    """What was measured. `agreement`: the share of best codes that are float32's.

    `chi_square`: of first codes drawn in the fast mode against float32's probabilities, with
    `chi_square_limit`, above which one in a thousand lies where both are the same.
    """

    talker_cosine: float
    predictor_cosine: float
    first_score_error: float
    other_score_error: float
    agreement: float
    chi_square: float
    chi_square_limit: float
    codec_db: float

    def broken(self, bounds: Bounds) -> list[str]:
        """The bounds that are not kept, in words."""
        found = {
            "talker_cosine": self.talker_cosine >= bounds.cosine,
            "predictor_cosine": self.predictor_cosine >= bounds.cosine,
            "first_score_error": self.first_score_error <= bounds.score_error,
            "other_score_error": self.other_score_error <= bounds.score_error,
            "chi_square": self.chi_square <= self.chi_square_limit,
            "codec_db": self.codec_db >= bounds.codec_db,
        }
        return [f"{name} is {getattr(self, name):.5g}" for name, kept in found.items() if not kept]


def measure(folder: Path, precision: str, n_frames: int, n_threads: int | None) -> Quality:
    """The quality of a precision on a checkpoint. Raises: as `accelerate.load`."""
    config = read_config(folder)
    fingerprint = fingerprint_of(folder)
    exact = accelerate.load(folder, config, fingerprint, LoadArguments("cpu", "exact", n_threads))
    fast = accelerate.load(folder, config, fingerprint, LoadArguments("cpu", precision, n_threads))
    side = side_of(fast, config)
    models = exact.models
    prompt = prompt_rows(models, N_PROMPT)
    with torch.inference_mode():
        talker, predictor = models.talker.transformer, models.code_predictor.transformer
        narrow = models.code_predictor.projection(prompt[: config.talker.n_codebooks])
        talker_cosine = layer_cosine(side, "talker", talker, prompt)
        predictor_cosine = layer_cosine(side, "predictor", predictor, narrow)
    forced = _forced(models, side, prompt, n_frames)
    chi_square, limit = _chi_square(models, side, prompt, config)
    return Quality(
        talker_cosine,
        predictor_cosine,
        *forced,
        chi_square=chi_square,
        chi_square_limit=limit,
        codec_db=_codec_db(exact, fast, config),
    )


@torch.inference_mode()
def prompt_rows(models: Models, n_rows: int) -> Tensor:
    """Rows [T, D] such as prompts have: a text's embedding and a code's."""
    config = models.talker.config
    draws = torch.Generator().manual_seed(SEED)
    ids = torch.randint(config.text_vocab_size, (n_rows,), generator=draws)
    codes = torch.randint(config.code_predictor.codebook_size, (n_rows,), generator=draws)
    return models.talker.embed_text(ids) + models.talker.embed_code(codes)


def layer_cosine(side: Side, which: str, exact: Transformer, inputs: Tensor) -> float:
    """The least cosine of any position after any layer, for inputs [T, D]."""
    found = side.trace(which, inputs)
    wanted = states(exact, inputs)
    dots = (found * wanted).sum(axis=-1)
    lengths = np.linalg.norm(found, axis=-1) * np.linalg.norm(wanted, axis=-1)
    return float((dots / lengths).min())


@contextmanager
def _scores_of(models: Models) -> Iterator[list[FloatArray]]:
    """The scores [V] that the heads give inside the block, in their order."""
    scores: list[FloatArray] = []

    def keep(module: nn.Module, given: object, found: Tensor) -> None:
        del module, given
        scores.append(found[0, -1].numpy())

    heads = [*models.code_predictor.heads, models.talker.codec_head]
    hooks = [head.register_forward_hook(keep) for head in heads]
    yield scores
    for hook in hooks:
        hook.remove()


def _forced(
    models: Models, side: Side, prompt: Tensor, n_frames: int
) -> tuple[float, float, float]:
    """Median errors of first and other scores, and agreement, while float32's codes are shown."""
    text = TrailingText(prompt, prompt[0])
    settings = Settings(SAMPLING, SAMPLING, n_frames + 1)
    row = prefill(models, prompt, text, settings, TorchNoise(SEED))
    side.start(prompt)
    firsts, others, agreed = [], [], []
    while row.finish is None:
        text_row = text.row(row.n_frames)
        with _scores_of(models) as wanted:
            codes = next_frame(row).numpy()
        found = side.frame(codes, text_row)
        errors = [_error(a, b) for a, b in zip(found, wanted, strict=True)]
        others += errors[:-1]
        firsts.append(errors[-1])
        agreed += [int(a.argmax()) == int(b.argmax()) for a, b in zip(found, wanted, strict=True)]
    return float(np.median(firsts)), float(np.median(others)), float(np.mean(agreed))


def _error(found: FloatArray, wanted: FloatArray) -> float:
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


@torch.inference_mode()
def _chi_square(
    models: Models, side: Side, prompt: Tensor, config: Qwen3TTSConfig
) -> tuple[float, float]:
    """The statistic of first codes drawn by the fast mode, and its limit."""
    n_codes = config.talker.code_predictor.codebook_size
    states = models.talker(prompt[None], torch.arange(len(prompt))[None])
    wanted = models.talker.codec_head(states)[0, -1, :n_codes]
    scores = side.start(prompt)
    everything = Sampling(temperature=SAMPLING.temperature)
    odds, expected = (
        filtered(s, everything).softmax(-1).double().numpy()
        for s in (torch.from_numpy(scores)[:n_codes], wanted)
    )
    waits = np.random.default_rng(SEED).exponential(size=(N_DRAWS, n_codes))
    counts = np.bincount((odds / waits).argmax(axis=1), minlength=n_codes)
    order = np.argsort(-expected)
    large = order[expected[order] * N_DRAWS >= 5]
    found, hoped = counts[large].astype(float), expected[large] * N_DRAWS
    rest = N_DRAWS - hoped.sum()
    if rest >= 5:
        found, hoped = np.append(found, N_DRAWS - found.sum()), np.append(hoped, rest)
    freedom = len(hoped) - 1
    statistic = float(((found - hoped) ** 2 / hoped).sum())
    # Wilson and Hilferty: the cube root of chi-square over its freedom is nearly normal.
    spread = 2 / (9 * freedom)
    return statistic, freedom * (1 - spread + 3.09 * spread**0.5) ** 3


def _codec_db(exact: Running, fast: Running, config: Qwen3TTSConfig) -> float:
    """The level of the fast codec's error below the exact codec's samples, in dB."""
    draws = np.random.default_rng(SEED)
    shape = (N_CODEC_FRAMES, config.codec.n_codebooks)
    codes = draws.integers(0, config.codec.decoder.codebook_size, shape)
    wanted, found = exact.codec.decode(codes), fast.codec.decode(codes)
    noise = np.square(found - wanted, dtype=np.float64).sum()
    return float(10 * np.log10(np.square(wanted, dtype=np.float64).sum() / noise))


def main() -> int:
    """Measure, print what was found and which bounds were not kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--precision", choices=("bf16", "int8", "int4"), default="int8")
    parser.add_argument("--frames", type=int, default=200)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--without-kernels", action="store_true")
    given = parser.parse_args()
    if given.without_kernels:
        native_frame.why_not = lambda: "they are left out here"
    quality = measure(given.folder, given.precision, given.frames, given.threads)
    sys.stdout.write(json.dumps(asdict(quality), indent=1) + "\n")
    bounds = accelerate.BOUNDS.get(given.precision)
    broken = [] if bounds is None else quality.broken(bounds)
    sys.stdout.writelines(f"not kept: {line}\n" for line in broken)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
