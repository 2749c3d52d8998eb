"""Both sides of a run, each in its own process with the same threads, on the same checkpoints."""

import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from menura.engines.qwen3_tts import tiny
from tests.parity.processes import PYTHON, run_side
from tests.parity.qwen3_tts import cases
from tests.parity.qwen3_tts.cases import BATCHED, CHECKPOINTS, CLIPS, FEW, SINGLE, Case

Arrays = dict[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Run:
    """One run of both sides. `seed_shift` moves the cases' own seeds."""

    name: str
    n_threads: int
    names: tuple[str, ...]
    checkpoint_seed: int = 0
    seed_shift: int = 0
    with_parts: bool = False

    def cases(self) -> list[Case]:
        """The cases of this run, with their seeds."""
        chosen = [case for case in (*SINGLE, *BATCHED) if case.name in self.names]
        return [replace(case, seed=case.seed + self.seed_shift) for case in chosen]


# `make parity PARITY_FULL=1` runs every case at two threads too, which takes twice as long.
FULL = os.environ.get("PARITY_FULL") == "1"
EVERYTHING = tuple(case.name for case in (*SINGLE, *BATCHED))
RUNS = (
    Run("1 thread", 1, EVERYTHING, with_parts=True),
    Run("2 threads", 2, EVERYTHING if FULL else FEW),
    Run("other weights", 1, FEW, checkpoint_seed=11, seed_shift=100),
    Run("other seeds", 1, FEW, seed_shift=3000),
)


@dataclass(frozen=True)
class Outputs:
    """The folders that the two sides wrote."""

    upstream: Path
    ours: Path

    def arrays(self, name: str) -> tuple[Arrays, Arrays]:
        """What upstream and we made under a name."""
        return dict(np.load(self.upstream / f"{name}.npz")), dict(
            np.load(self.ours / f"{name}.npz")
        )


def both(run: Run, folder: Path) -> Outputs:
    """What both sides made of a run, upstream first."""
    outputs = Outputs(upstream(run, folder), folder / "ours")
    outputs.ours.mkdir()
    ours = [sys.executable, "-m", "tests.parity.qwen3_tts.our_side"]
    run_side([*ours, *_inputs(folder), outputs.upstream, outputs.ours], folder, run.n_threads)
    return outputs


def upstream(run: Run, folder: Path) -> Path:
    """The folder with what upstream made of a run; job, inputs and checkpoints are written too."""
    out = folder / "upstream"
    out.mkdir()
    job, inputs = _inputs(folder)
    job.write_text(json.dumps(_job(run, folder)), "utf-8")
    _write_inputs(inputs, with_codec=run.with_parts)
    script = Path(__file__).with_name("upstream_side.py")
    run_side([PYTHON, script, job, inputs, out], folder, run.n_threads)
    return out


def _inputs(folder: Path) -> tuple[Path, Path]:
    return folder / "job.json", folder / "inputs.npz"


def _job(run: Run, folder: Path) -> dict[str, object]:
    chosen = run.cases()
    tokenizers = ["custom-1b7", "fullvocab-0b6"] if run.with_parts else []
    needed = {case.checkpoint for case in chosen} | set(tokenizers)
    return {
        "threads": run.n_threads,
        "folders": {
            name: str(write_checkpoint(folder / name, name, run.checkpoint_seed))
            for name in sorted(needed)
        },
        "cases": [case.as_json() for case in chosen],
        "codec": "base-1b7" if run.with_parts else None,
        "tokenizers": tokenizers,
        "texts": [*cases.CORPUS, *cases.random_texts()] if run.with_parts else [],
    }


def write_checkpoint(folder: Path, name: str, seed: int) -> Path:
    """The folder, with the random checkpoint of this name in it."""
    wanted = CHECKPOINTS[name]
    return tiny.write(
        folder,
        tiny.Tiny(wanted.kind, wanted.size, seed, wanted.endless, wanted.full_vocabulary),
    )


def _write_inputs(path: Path, *, with_codec: bool) -> None:
    inputs: Arrays = dict(cases.codec_inputs()) if with_codec else {}
    for name, (samples, rate_hz) in CLIPS.items():
        inputs |= {name: samples, f"rate_{name}": np.array(rate_hz)}
    np.savez(path, allow_pickle=False, **inputs)
