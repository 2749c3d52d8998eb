"""The processes of both sides: upstream in its own environment, ours in this one."""

import functools
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from tests.house.source import ROOT

# Where `make parity` puts upstream's environment; tests may be pointed at another one.
PYTHON = Path(os.environ.get("PARITY_PYTHON", ROOT / ".venv-parity" / "bin" / "python"))
MAKE = "make parity builds upstream's environment and runs these tests in it"


Run = TypeVar("Run")
Outputs = TypeVar("Outputs")


def once(make: Callable[[Run], Outputs]) -> Callable[[Run], Outputs]:
    """What both sides made of a run, made when it is first asked for.

    A failure is kept too, so that a side that fails is run once.
    """
    assert PYTHON.is_file(), f"{PYTHON} is missing: {MAKE}."

    @functools.cache
    def outcome(run: Run) -> Outputs | RuntimeError:
        try:
            return make(run)
        except RuntimeError as error:
            return error

    def outputs_or_failure(run: Run) -> Outputs:
        found = outcome(run)
        if isinstance(found, RuntimeError):
            raise found
        return found

    return outputs_or_failure


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
