"""The processes of both sides: upstream in its own environment, ours in this one."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.house.source import ROOT

# Where `make parity` puts upstream's environment; tests may be pointed at another one.
PYTHON = Path(os.environ.get("PARITY_PYTHON", ROOT / ".venv-parity" / "bin" / "python"))
MAKE = "make parity builds upstream's environment and runs these tests in it"


def run_side(command: Sequence[str | Path], folder: Path, n_threads: int) -> None:
    """Run one side, with a home of its own in the folder. Its output is shown only if it fails."""
    threads = str(n_threads)
    home = {"MENURA_HOME": str(folder / "home"), "HF_HUB_CACHE": str(folder / "hub")}
    environment = os.environ | home | {"OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{command} failed:\n{done.stdout[-2000:]}\n{done.stderr[-6000:]}")
