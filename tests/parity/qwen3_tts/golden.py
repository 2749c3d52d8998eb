"""Upstream's codes for a few cases, kept in a file: the default tests need no upstream.

python -m tests.parity.qwen3_tts.golden     (after `make parity`) writes the file anew
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.house.source import ROOT
from tests.parity.qwen3_tts.cases import FEW, SINGLE
from tests.parity.qwen3_tts.sides import Run, upstream

PATH = ROOT / "tests" / "unit" / "engines" / "qwen3_tts" / "golden_codes.npz"
NAMES = tuple(case.name for case in SINGLE if case.name in FEW)
RUN = Run("golden", 1, NAMES)


def read() -> Mapping[str, NDArray[np.int64]]:
    """Upstream's codes [T, Q] by the names of the cases."""
    with np.load(PATH) as found:
        return {name: found[name].astype(np.int64) for name in found.files}


def main() -> None:
    """Run upstream and write its codes."""
    with tempfile.TemporaryDirectory() as folder:
        out = upstream(RUN, Path(folder))
        codes = {name: np.load(out / f"{name}.npz")["codes_0"].astype(np.uint16) for name in NAMES}
    np.savez_compressed(PATH, allow_pickle=False, **codes)


if __name__ == "__main__":
    main()
