"""A fast mode on the CPU, turn by turn, and how fast the machine read memory around each turn.

    python -m bench.qwen3_tts.calm_turns FOLDER --threads 2 --frames 40 [--precision int8]

A virtual machine has its memory's speed from the host, which may halve it from one second to the
next. So the memory is measured right before and after every turn, and a turn is calm if both times
at least `--calm` GB/s were read. Calm turns and disturbed ones are told apart, and all are kept.
Each figure is measured until it has `--turns` calm turns, or `--minutes` are over.
"""

import argparse
import datetime
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import menura
from bench.memory import MemoryMeter
from bench.qwen3_tts.fast_mode import ROWS, encoded, first_audio_s, steps
from bench.qwen3_tts.peers.report import CALM_GB_S
from bench.qwen3_tts.stopwatch import SEED
from bench.run import BENCH, machine

_HEAD = f"{'figure':<28}{'turns':<13}{'median':>9}{'best':>9}{'worst':>9}{'GB/s':>8}"
Figures = Mapping[str, float]


@dataclass(frozen=True)
class Plan:
    """What is asked for."""

    folder: Path
    n_threads: int
    n_frames: int
    precision: str
    n_turns: int
    calm_gb_s: float
    patience_s: float
    minutes: float


@dataclass(frozen=True)
class Turn:
    """One turn: its figures, and the slower of the readings before and after it."""

    read_gb_s: float
    figures: Figures


def main() -> None:
    """Measure, print the table, write the result."""
    plan = asked()
    now, host = datetime.datetime.now(datetime.UTC), machine()
    turns = measured(plan)
    result = {
        "case": f"qwen3_tts_calm_{plan.folder.name}_{plan.precision}_{plan.n_threads}",
        "about": f"{plan.folder.name}, {plan.precision}, {plan.n_threads} thread(s), "
        f"{plan.n_frames} frames a turn; calm: at least {plan.calm_gb_s:.0f} GB/s before and after",
        "date": now.isoformat(timespec="seconds"),
        "machine": host,
        "calm_gb_s": plan.calm_gb_s,
        "turns": {name: [asdict(turn) for turn in taken] for name, taken in turns.items()},
    }
    sys.stdout.write(f"{result['about']}\n{table(turns, plan.calm_gb_s)}\n")
    path = BENCH / "results" / f"{result['case']}-{datetime.date.today().isoformat()}.json"
    path.write_text(json.dumps(result, indent=1) + "\n")
    sys.stdout.write(f"kept in {path.relative_to(BENCH.parent)}\n")


def asked() -> Plan:
    """The plan that the command line states."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--frames", type=int, default=40, help="frames of one turn")
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--turns", type=int, default=7, help="calm turns of each figure")
    parser.add_argument("--calm", type=float, default=CALM_GB_S, metavar="GB/S")
    parser.add_argument("--patience", type=float, default=4.0, metavar="S", help="for a calm start")
    parser.add_argument("--minutes", type=float, default=15.0, help="no new round after these")
    given = parser.parse_args()
    return Plan(
        given.folder, given.threads, given.frames, given.precision, given.turns, given.calm,
        given.patience, given.minutes,
    )  # fmt: skip


def measured(plan: Plan) -> dict[str, list[Turn]]:
    """The turns of each figure, those of a first round left out: it only warms up."""
    meter = MemoryMeter(plan.n_threads)
    tts = menura.load(plan.folder, device="cpu", precision=plan.precision, threads=plan.n_threads)
    tasks = tasks_of(tts, plan.n_frames)
    for task in tasks.values():
        task()
    turns: dict[str, list[Turn]] = {name: [] for name in tasks}
    end = time.monotonic() + plan.minutes * 60
    while time.monotonic() < end and (names := lacking(turns, plan)):
        for name in names:
            turns[name].append(turn_of(tasks[name], meter, plan))
        progress(turns, plan)
    meter.close()
    return turns


def tasks_of(tts: menura.TTS, n_frames: int) -> dict[str, Callable[[], Figures]]:
    """What measures each figure once. A voice in context is a new one each time."""
    seeds = iter(range(SEED, sys.maxsize))
    voice = encoded(tts)["x_vector"]

    def in_context() -> Figures:
        return {"s": first_audio_s(tts, encoded(tts, next(seeds))["in_context"])}

    def of_rows(n_rows: int) -> Callable[[], Figures]:
        return lambda: renamed(steps(tts, voice, n_frames, n_rows), n_rows)

    tasks: dict[str, Callable[[], Figures]] = {
        "first, preset": lambda: {"s": first_audio_s(tts, voice, is_whole=True)},
        "first, x-vector": lambda: {"s": first_audio_s(tts, voice)},
        "first, in context": in_context,
    }
    return tasks | {f"{n_rows} stream(s)": of_rows(n_rows) for n_rows in ROWS}


def renamed(figures: Figures, n_rows: int) -> Figures:
    """The figures of several streams without their number in the names."""
    return {name.replace(f"_of_{n_rows}", ""): value for name, value in figures.items()}


def lacking(turns: Mapping[str, Sequence[Turn]], plan: Plan) -> list[str]:
    """The figures that have too few calm turns."""
    return [name for name in turns if len(calm(turns[name], plan.calm_gb_s)) < plan.n_turns]


def calm(turns: Sequence[Turn], calm_gb_s: float) -> list[Turn]:
    """The calm ones."""
    return [turn for turn in turns if turn.read_gb_s >= calm_gb_s]


def turn_of(task: Callable[[], Figures], meter: MemoryMeter, plan: Plan) -> Turn:
    """One turn. It begins when the memory is calm, or after a while if it does not become so."""
    patient_until = time.monotonic() + plan.patience_s
    before = meter.gb_s()
    while before < plan.calm_gb_s and time.monotonic() < patient_until:
        before = meter.gb_s()
    figures = task()
    return Turn(min(before, meter.gb_s()), figures)


def progress(turns: Mapping[str, Sequence[Turn]], plan: Plan) -> None:
    """Tell on the error stream how many turns there are, and how many of them calm."""
    counts = (f"{len(calm(taken, plan.calm_gb_s))}/{len(taken)}" for taken in turns.values())
    sys.stderr.write(" ".join(counts) + "\n")


def table(turns: Mapping[str, Sequence[Turn]], calm_gb_s: float) -> str:
    """A line for each figure in each state of the machine."""
    lines = [_HEAD]
    for name, taken in turns.items():
        quiet = calm(taken, calm_gb_s)
        states = {"calm": quiet, "disturbed": [turn for turn in taken if turn not in quiet]}
        for state, some in states.items():
            lines += rows(name, state, some) if some else []
    return "\n".join(lines)


def rows(name: str, state: str, turns: Sequence[Turn]) -> Iterator[str]:
    """The lines of one figure's turns in one state."""
    read = median(turn.read_gb_s for turn in turns)
    for part in turns[0].figures:
        values = [turn.figures[part] for turn in turns]
        numbers = (median(values), min(values), max(values))
        row = f"{name + ', ' + part.removesuffix('_s'):<28}{len(turns):>3} {state:<9}"
        yield row + "".join(f"{number:>9.3f}" for number in numbers) + f"{read:>8.0f}"


if __name__ == "__main__":
    main()
