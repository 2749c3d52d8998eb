"""The sides that speak by turns: how each is started, and what its numbers weigh.

`.venv-peers` (made by `make peers`) has an environment for each peer; `PEERS` names another folder.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from bench.run import BENCH, UPSTREAM_PYTHON

PEERS = Path(os.environ.get("PEERS", BENCH.parent / ".venv-peers"))
_PACKAGE = "bench.qwen3_tts.peers"
VOX_FORMAT = ("--dtype", "bf16", "--codec-dtype", "bf16", "--quant", "q8")


@dataclass(frozen=True)
class Side:
    """One side: the Python that runs it, its module, and its precision in our words.

    `weight_bits`: of one weight of the language model, scales included where we know them.
    `codec`: the format of the codec's numbers, a key of the machine's limits.
    """

    python: Path
    module: str
    precision: str
    weight_bits: float
    codec: str

    def command(self, model: Path, n_threads: int, n_frames: int) -> list[str]:
        """The command line of its process."""
        options = ["--threads", str(n_threads), "--frames", str(n_frames)]
        options += ["--precision", self.precision]
        return [str(self.python), "-m", f"{_PACKAGE}.{self.module}", str(model), *options]


OURS, UPSTREAM = Path(sys.executable), Path(UPSTREAM_PYTHON)
VOX = PEERS / "vox" / "bin" / "python"
MIZUOTO = PEERS / "mizuoto" / "bin" / "mizuoto"
# Ours comes first: ratios are to it. Its int8 has a float scale for each 64 weights.
SIDES: Mapping[str, Side] = {
    "ours auto": Side(OURS, "our_side", "auto", 8.5, "bf16"),
    "ours bf16": Side(OURS, "our_side", "bf16", 16, "bf16"),
    "upstream fp32": Side(UPSTREAM, "upstream_side", "exact", 32, "fp32"),
    "upstream bf16": Side(UPSTREAM, "upstream_side", "bf16", 16, "bf16"),
    "vox q8": Side(VOX, "vox_side", "q8", 8, "bf16"),
    "mizuoto bf16": Side(OURS, "mizuoto_side", "bf16", 16, "bf16"),
}


def model_of(side: Side, checkpoint: Path) -> Path:
    """What the side loads: the checkpoint, or for vox-tts its own file, converted once."""
    return vox_file(checkpoint) if side.module == "vox_side" else checkpoint


def vox_file(checkpoint: Path) -> Path:
    """The checkpoint as a .tmod file in the user's cache, which vox-tts's own converter writes."""
    stamp = int((checkpoint / "model.safetensors").stat().st_mtime)
    path = user_cache_path("menura") / "bench" / f"{checkpoint.name}-{stamp}.q8.tmod"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        words = ["--model", str(checkpoint), *VOX_FORMAT, "-o", str(unfinished)]
        command = [str(VOX), "-m", "vox", "build", *words]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        unfinished.rename(path)
    return path
