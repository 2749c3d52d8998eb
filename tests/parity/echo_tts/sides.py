"""Both sides of a run, each in its own process with the same threads, on the same checkpoint."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from menura.engines.echo_tts import tiny
from tests.parity.echo_tts import cases
from tests.parity.processes import PYTHON, run_side

Arrays = dict[str, NDArray[np.generic]]

GROUPS = ("text", "codec", "speakers", "blocks", "sampler", "pipeline", "files", "bf16")
# What upstream's package has not: compared with recorded numbers.
ONLY_RECORDED = ("blockwise", "resampled")
FEW_SAMPLER = ("flat_preset", "force_two_layers", "cfg_band")
FEW_PIPELINE = ("text_only", "short")


@dataclass(frozen=True)
class Run:
    """One run of both sides: how many threads, which groups, which cases of the two long ones."""

    name: str
    n_threads: int
    groups: tuple[str, ...]
    sampler: tuple[str, ...]
    pipeline: tuple[str, ...]


RUNS = (
    Run("1 thread", 1, GROUPS, tuple(cases.SAMPLER), tuple(cases.PIPELINE)),
    Run("2 threads", 2, ("codec", "blocks", "sampler", "pipeline"), FEW_SAMPLER, FEW_PIPELINE),
)


@dataclass(frozen=True)
class Outputs:
    """The folders that the two sides wrote."""

    upstream: Path
    ours: Path

    def arrays(self, group: str) -> tuple[Arrays, Arrays]:
        """What upstream and we made in a group."""
        return dict(np.load(self.upstream / f"{group}.npz")), self.only_ours(group)

    def only_ours(self, group: str) -> Arrays:
        """What we made in a group."""
        return dict(np.load(self.ours / f"{group}.npz"))


def both(run: Run, folder: Path) -> Outputs:
    """What both sides made of a run."""
    outputs = Outputs(folder / "upstream", folder / "ours")
    job, inputs = folder / "job.json", folder / "inputs.npz"
    root = write_checkpoint(folder / "checkpoint")
    job.write_text(json.dumps(_job(run, root)), "utf-8")
    np.savez(inputs, allow_pickle=False, **_inputs())
    for python, side, out in (
        (PYTHON, "upstream_side", outputs.upstream),
        (Path(sys.executable), "our_side", outputs.ours),
    ):
        out.mkdir()
        module = f"tests.parity.echo_tts.{side}"
        run_side([python, "-m", module, job, inputs, out], folder, run.n_threads)
    return outputs


def write_checkpoint(root: Path) -> Path:
    """The folder, with our tiny checkpoint in it as upstream looks for a published one."""
    published = root / "jordand"
    tiny.write_pair(published / "echo-tts-base", published / "fish-s1-dac-min")
    return root


def _job(run: Run, root: Path) -> Mapping[str, object]:
    return {
        "root": str(root),
        "threads": run.n_threads,
        "groups": run.groups,
        "only_recorded": ONLY_RECORDED if run.groups == GROUPS else (),
        "texts": [*cases.CORPUS, *cases.random_texts()],
        "cut": cases.CUT,
        "t": cases.T,
        "clip": _clip_name(cases.CLIP_SECONDS),
        "text": cases.TEXT,
        "batch": cases.BATCH,
        "spoken": cases.SPOKEN,
        "base": cases.BASE,
        "sampler": {name: cases.SAMPLER[name] for name in run.sampler},
        "bf16": {name: cases.SAMPLER[name] for name in cases.BF16},
        "speakers": {
            name: (_clip_name(seconds), options)
            for name, (seconds, options) in cases.SPEAKERS.items()
        },
        "pipeline_options": cases.PIPELINE_OPTIONS,
        "pipeline": {name: _spoken(cases.PIPELINE[name]) for name in run.pipeline},
        "files": list(cases.FILES),
    }


def _spoken(case: cases.Spoken) -> Mapping[str, object]:
    clip = None if case.seconds is None else _clip_name(case.seconds)
    return {"clip": clip, "seed": case.seed, "upstream": case.upstream}


def _inputs() -> Arrays:
    seconds = {seconds for seconds, _ in cases.SPEAKERS.values()}
    return {
        **cases.arrays(),
        **{f"clip.{_clip_name(s)}": cases.clip(s) for s in sorted(seconds)},
        **{f"file.{name}": cases.file_samples(name) for name in cases.FILES},
    }


def _clip_name(seconds: float) -> str:
    return f"{seconds:.2f}"
