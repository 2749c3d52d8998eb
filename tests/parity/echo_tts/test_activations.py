"""A dump of our activations can be laid beside one of upstream's, made from the same input."""

import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load_file

from bench.echo_tts.dump_activations import table
from tests.house.source import ROOT
from tests.parity.distance import relative_l2
from tests.parity.echo_tts.recorded import BOUND
from tests.parity.echo_tts.sides import write_checkpoint
from tests.parity.processes import MAKE, PYTHON, run_side
from tests.parity.table import Verdict

pytestmark = pytest.mark.parity


def test_a_dump_is_upstreams(tmp_path: Path, verdicts: list[Verdict]) -> None:
    assert PYTHON.is_file(), f"{PYTHON} is missing: {MAKE}."
    root = write_checkpoint(tmp_path / "checkpoint")
    folder, codec = root / "jordand" / "echo-tts-base", root / "jordand" / "fish-s1-dac-min"
    ours, theirs = tmp_path / "ours.safetensors", tmp_path / "theirs.safetensors"
    dump: list[str | Path] = [sys.executable, "-m", "bench.echo_tts.dump_activations"]
    run_side([*dump, folder, ours, "--autoencoder", codec, "--t", "0.7", "--all"], tmp_path, 1)
    script = "bench.echo_tts.upstream_activations"
    run_side([PYTHON, "-m", script, ours, root, theirs], tmp_path, 1)

    found, wanted = load_file(ours), load_file(theirs)
    assert found.keys() == wanted.keys()
    assert len(found) > 150
    shared = {name for name in found if name.startswith("cond.") and name.endswith(".k_norm")}
    apart = {
        name: relative_l2(found[name].squeeze().numpy(), wanted[name].squeeze().numpy())
        for name in found.keys() - shared
    }
    worst = max(apart.values())
    verdict = Verdict("echo, 1 thread", f"dump of {len(apart)} arrays", None, worst, BOUND)
    verdicts.append(verdict)
    assert verdict.passed, verdict
    comparing = [*dump, "--compare", ours, theirs]
    printed = subprocess.run(comparing, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed == table(found, wanted) + "\n"
