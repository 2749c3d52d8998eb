"""Upstream's numbers for a dump of ours, in upstream's environment.

    python -m bench.echo_tts.upstream_activations OURS.safetensors ROOT THEIRS.safetensors

Reads from our dump what the model was given, and writes what upstream's modules make of it, under
the same names. ROOT holds jordand/echo-tts-base and jordand/fish-s1-dac-min. Another script that
hooks upstream's modules can use `in.ids`, `in.speaker`, `in.x` and `in.t` in the same way.
"""

import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from tests.parity.echo_tts.upstream_hooks import listening
from tests.parity.echo_tts.upstream_package import load


def main(ours: str, root: str, out: str) -> None:
    """Write upstream's dump."""
    torch.set_grad_enabled(False)
    given = load_file(ours)
    kind = given["plain.in_proj"].dtype
    model = load(Path(root), kind).model
    ids, speaker = given["in.ids"][None].int(), given["in.speaker"][None]
    found = listening(
        model, ids=ids, text_mask=torch.ones_like(ids, dtype=torch.bool), speaker=speaker,
        speaker_mask=torch.ones(speaker.shape[:2], dtype=torch.bool), x=given["in.x"][None],
        time=float(given["in.t"]),
    )  # fmt: skip
    same = {name: found[name].contiguous() for name in found if name in given}
    save_file(same | {name: given[name] for name in given if name.startswith("in.")}, out)


if __name__ == "__main__":
    main(*sys.argv[1:])
