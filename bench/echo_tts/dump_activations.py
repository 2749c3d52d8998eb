"""Writes what every block of a checkpoint gives at one time, to be compared on any machine.

    python -m bench.echo_tts.dump_activations FOLDER --autoencoder FOLDER --t 0.7 OUT.safetensors
    python -m bench.echo_tts.dump_activations --compare OURS.safetensors THEIRS.safetensors

The file also holds what the model was given (`in.ids`, `in.speaker`, `in.x`, `in.t`), so that
another implementation can be given the same: `bench.echo_tts.upstream_activations` reads it and
writes upstream's numbers under the same names. The names are in `bench.echo_tts.activations`.
`--all` writes every module inside the blocks too (about 1 GB for the published model).
"""

import argparse
import re
import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

import menura
from bench.echo_tts.activations import Given, activations
from menura.engines.echo_tts.engine import EchoTTSEngine

TEXT = "[S1] The birch canoe slid on the smooth planks."
RATE_HZ = 44_100
SPEAKER_FRAMES = 64  # of noise, where no reference is given
_OUTSIDE_BLOCKS = re.compile(r"\.blocks\.\d+\.")


def main() -> None:
    """Write a dump, or print the table of two."""
    given = _arguments().parse_args()
    if given.compare:
        ours, theirs = (load_file(path) for path in given.compare)
        sys.stdout.write(table(ours, theirs) + "\n")
        return
    found = dump(given)
    save_file({name: value.contiguous() for name, value in found.items()}, given.out)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--autoencoder", type=Path, help="the codec's folder")
    parser.add_argument("--t", type=float, default=0.7, help="the time, 1 (noise) to 0")
    parser.add_argument("--text", default=TEXT)
    parser.add_argument("--reference", type=Path, help="an audio file; without it, random latents")
    parser.add_argument("--frames", type=int, default=64, help="latents of the window")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--precision", choices=("exact", "bf16"), default="exact")
    parser.add_argument("--all", action="store_true", help="the modules inside the blocks too")
    parser.add_argument("--compare", type=Path, nargs=2, metavar=("OURS", "THEIRS"))
    return parser


def dump(asked: argparse.Namespace) -> dict[str, Tensor]:
    """What the model was given, and the outputs [...] of its modules by upstream's names."""
    tts = menura.load(
        asked.folder, autoencoder=asked.autoencoder, device="cpu", precision=asked.precision
    )
    engine = tts.engine
    assert isinstance(engine, EchoTTSEngine)
    latents = engine.config.dit.latent_size
    draws = torch.Generator().manual_seed(asked.seed)
    if asked.reference is None:
        speaker = torch.randn(SPEAKER_FRAMES, latents, generator=draws)
    else:
        voice = tts.voice(asked.reference)
        speaker = torch.from_numpy(np.array(voice.prompt.arrays["latents"], np.float32))
    given = Given(
        ids=torch.tensor(engine.tokenizer.encode(asked.text)),
        speaker=speaker,
        latents=torch.randn(asked.frames, latents, generator=draws),
        time=asked.t,
    )
    found = activations(engine.dit, given, lambda name: asked.all or is_whole_block(name))
    return found | {
        "in.ids": given.ids, "in.speaker": given.speaker, "in.x": given.latents,
        "in.t": torch.tensor(given.time, dtype=torch.float64),
    }  # fmt: skip


def is_whole_block(name: str) -> bool:
    """Whether a module is a block, or stands outside of blocks."""
    return _OUTSIDE_BLOCKS.search(f".{name}") is None


def table(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> str:
    """A line for each array [...] that both have: the relative L2 difference and the largest."""
    lines = [f"{'array':<48}{'relative':>12}{'largest':>12}"]
    for name in ours:
        if name not in theirs:
            lines.append(f"{name:<48}{'only ours':>12}")
            continue
        one, other = (x[name].double().squeeze() for x in (ours, theirs))
        if one.shape != other.shape:
            lines.append(f"{name:<48}  {tuple(one.shape)} and {tuple(other.shape)}")
            continue
        apart = one - other
        relative = float(apart.norm() / other.norm()) if other.norm() else float(apart.norm())
        lines.append(f"{name:<48}{relative:>12.3g}{float(apart.abs().max()):>12.3g}")
    return "\n".join([*lines, *(f"{n:<48}{'only theirs':>12}" for n in theirs if n not in ours)])


if __name__ == "__main__":
    main()
