"""Ours, upstream and other people's engines in one run: `python -m bench.qwen3_tts.side_by_side`.

Each side is a process of its own. All load the same random checkpoint of the real shapes, one after
the other, and stay; then they speak the same request by turns, one at a time. What the machine can
do at most is measured before and after, and how fast it reads memory around each turn (see
`calm_turns`). A side that cannot start is left out, and the table says so.

All sides together take about 17 GB. `--sides` names fewer, and our own always runs.
"""

import argparse
import datetime
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.memory import MemoryMeter
from bench.qwen3_tts import checkpoint
from bench.qwen3_tts.peers.report import OURS, shares, table
from bench.qwen3_tts.peers.side_process import Figures, SideFailedError, SideProcess
from bench.qwen3_tts.peers.sides import SIDES, Side, model_of
from bench.qwen3_tts.peers.work import work_of
from bench.run import BENCH, machine, told


@dataclass(frozen=True)
class Plan:
    """What is asked for: equal threads and frames of every side, and how many counted turns."""

    n_threads: int
    n_frames: int
    n_pairs: int
    names: tuple[str, ...]
    calm_gb_s: float
    patience_s: float


def main() -> None:
    """Measure, print the table, write the result."""
    plan = asked()
    result = measured(plan, checkpoint.folder())
    sys.stdout.write(table(result) + "\n")
    path = BENCH / "results" / f"{result['case']}-{datetime.date.today().isoformat()}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    sys.stdout.write(f"kept in {path.relative_to(BENCH.parent)}\n")


def asked() -> Plan:
    """The plan that the command line states."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--frames", type=int, default=24, help="frames of one turn")
    parser.add_argument("--pairs", type=int, default=5, help="counted turns of each side")
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--calm", type=float, default=0.0, metavar="GB/S", help="see calm_turns")
    parser.add_argument("--patience", type=float, default=0.0, metavar="S", help="for a calm start")
    given = parser.parse_args()
    names = tuple(name for name in SIDES if name in {OURS, *given.sides})
    return Plan(given.threads, given.frames, given.pairs, names, given.calm, given.patience)


def measured(plan: Plan, folder: Path) -> dict[str, object]:
    """The result: the machine and its limits, each side's loading, turns and peak memory."""
    before, now = machine(), datetime.datetime.now(datetime.UTC)
    with MemoryMeter(plan.n_threads) as meter:
        limits = limits_of(plan)
        processes, absent = started(plan, folder)
        runs = by_turns(processes, plan, absent, meter)
    if OURS in absent:
        raise SystemExit(f"{OURS} {absent[OURS]}")
    started_s = {name: process.started for name, process in processes.items()}
    peaks = {name: process.end() for name, process in processes.items()}
    after = limits_of(plan)
    limits = {name: max(value, after[name]) for name, value in limits.items()}
    work = work_of(folder)
    words = f"{plan.n_frames} frames a turn, {plan.n_pairs} turns, {plan.n_threads} thread(s)"
    return {
        "case": f"qwen3_tts_side_by_side_{plan.n_threads}",
        "about": f"Qwen3-TTS 0.6B Base (random weights), prompt and codec included: {words}.",
        "date": now.isoformat(timespec="seconds"),
        "machine": before,
        "install": {},
        "limits": limits,
        "calm_gb_s": plan.calm_gb_s,
        "work": asdict(work),
        "processes": {name: {**started_s[name], "peak_mb": peaks[name]} for name in processes},
        "shares": {name: shares(runs[name], SIDES[name], work, limits) for name in processes},
        "absent": absent,
        "runs": runs,
    }


def limits_of(plan: Plan) -> Mapping[str, float]:
    """What the machine can do now, measured by a process of its own."""
    command = [sys.executable, "-m", "bench.qwen3_tts.peers.limits", str(plan.n_threads)]
    found = json.loads(told(command, {}))
    return {name: float(value) for name, value in found.items()}


def started(plan: Plan, folder: Path) -> tuple[dict[str, SideProcess], dict[str, str]]:
    """The sides that have loaded, and why the others have not."""
    processes: dict[str, SideProcess] = {}
    absent: dict[str, str] = {}
    for name in plan.names:
        side = SIDES[name]
        if not side.python.exists():
            absent[name] = f"there is no {side.python}"
            continue
        try:
            processes[name] = loaded(side, plan, folder)
        except SideFailedError as failure:
            absent[name] = str(failure)
        progress(f"{name}: {absent.get(name, 'loaded')}")
    return processes, absent


def loaded(side: Side, plan: Plan, folder: Path) -> SideProcess:
    """The side's process. What a first load leaves in the cache is there before this one."""
    command = side.command(model_of(side, folder), plan.n_threads, plan.n_frames)
    if side.precision in {"auto", "bf16"} and side.module == "our_side":
        SideProcess(command, plan.n_threads).end()
    return SideProcess(command, plan.n_threads)


def by_turns(
    processes: dict[str, SideProcess], plan: Plan, absent: dict[str, str], meter: MemoryMeter
) -> dict[str, list[Figures]]:
    """Each side's figures, turn by turn, in alternating order; the first turn only warms up.

    With each goes the slower reading of memory before and after it. A side that fails is taken out
    of the processes, and the reason is noted.
    """
    runs: dict[str, list[Figures]] = {name: [] for name in processes}
    for turn in range(plan.n_pairs + 1):
        for name in order(list(processes), turn):
            try:
                speak = processes[name].speak
                figures, around = meter.around(speak, plan.calm_gb_s, plan.patience_s)
            except SideFailedError as failure:
                absent[name] = str(failure)
                del processes[name], runs[name]
                continue
            if turn:
                runs[name].append({**figures, "read_around_gb_s": around})
        progress(f"turn {turn} of {plan.n_pairs}")
    return runs


def order(names: Sequence[str], turn: int) -> Iterable[str]:
    """The sides in their order, or backwards in every second turn."""
    return reversed(names) if turn % 2 else names


def progress(line: str) -> None:
    """Tell on the error stream how far the run is."""
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    main()
