"""Seconds a frame of both sides, by turns in one run: `python -m bench.qwen3_tts.by_turns`.

Both sides are loaded at once (12 GB), then speak the same few frames one after the other, again and
again. The two halves of a pair lie seconds apart, so that a busy machine disturbs both alike; their
ratio is steadier than that of whole processes.
"""

import argparse
import datetime
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from bench.compare import table
from bench.qwen3_tts import checkpoint
from bench.run import BENCH, UPSTREAM_PYTHON, machine

SIDES: Mapping[str, tuple[str, str]] = {
    "menura": (sys.executable, "bench.qwen3_tts.ours"),
    "upstream": (str(UPSTREAM_PYTHON), "bench.qwen3_tts.upstream"),
}


def main() -> None:
    """Measure, print the table, write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--frames", type=int, default=8, help="frames of one turn")
    parser.add_argument("--pairs", type=int, default=11, help="counted turns of each side")
    parser.add_argument("--precision", default="exact", help="of our side")
    given = parser.parse_args()
    mode = "" if given.precision == "exact" else f"_{given.precision}"
    words = f"{given.frames} frames a turn, {given.pairs} pairs, {given.threads} thread(s)"
    result = {
        "case": f"qwen3_tts_by_turns{mode}_{given.threads}",
        "about": f"Qwen3-TTS 0.6B Base (random weights), {given.precision} beside upstream's fp32: "
        f"{words}.",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "install": {},
        "runs": measure(given.threads, given.frames, given.pairs, given.precision),
    }
    sys.stdout.write(table(result) + "\n")
    path = BENCH / "results" / f"{result['case']}-{datetime.date.today().isoformat()}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")


def measure(
    n_threads: int, n_frames: int, n_pairs: int, precision: str
) -> dict[str, list[dict[str, float]]]:
    """Each side's figures, turn by turn, in alternating order; the first turn only warms up."""
    folder = checkpoint.folder()
    options = ["--by-turns", "--threads", str(n_threads), "--frames", str(n_frames)]
    options += ["--precision", precision]
    sides = {name: _start(python, module, folder, options)
             for name, (python, module) in SIDES.items()}  # fmt: skip
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
    for turn in range(n_pairs + 1):
        for name in sorted(sides, reverse=bool(turn % 2)):
            figures = _turn(sides[name])
            if turn:
                runs[name].append(figures)
    for side in sides.values():
        side.communicate(timeout=60)
    return runs


def _start(python: str, module: str, folder: Path, options: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [python, "-m", module, str(folder), *options],
        cwd=BENCH.parent, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _turn(side: "subprocess.Popen[str]") -> dict[str, float]:
    assert side.stdin is not None
    assert side.stdout is not None
    side.stdin.write("\n")
    side.stdin.flush()
    line = side.stdout.readline()
    if not line:
        raise SystemExit(f"a side ended with {side.wait()}: {side.args!r}")
    timings = json.loads(line)["timings"]
    return {name: float(value) for name, value in timings.items()}


if __name__ == "__main__":
    main()
