"""A fast mode on the CPU, turn by turn, and how fast the machine read memory around each turn.

    python -m bench.qwen3_tts.calm_turns FOLDER --calm GB/S [--threads 2] [--precision int8]

A virtual machine has its memory's speed from the host, which may halve it for seconds or minutes.
So the memory is measured right before and after every turn, and a turn is calm if at least `--calm`
GB/s were read both times. Calm turns and disturbed ones are told apart, and both are kept. Each
figure is measured until it has `--turns` calm turns, or `--minutes` are over.

Everything is warm: a first round is not counted, and the preset's prompt is known from it. The
other voices are new in every turn, encoded before it begins.
"""

import argparse
import datetime
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from statistics import median

import menura
from bench.memory import MemoryMeter
from bench.qwen3_tts.fast_mode import ROWS, encoded, first_audio_s, steps
from bench.qwen3_tts.stopwatch import SEED
from bench.run import BENCH, machine

_HEAD = f"{'figure':<28}{'turns':<13}{'median':>9}{'best':>9}{'worst':>9}{'GB/s':>8}"
Figures = Mapping[str, float]
# Prepares one turn; what it gives measures it.
Task = Callable[[], Callable[[], Figures]]


@dataclass(frozen=True)
class Plan:
    """What is asked for."""

    folder: Path
    calm_gb_s: float
    n_threads: int
    n_frames: int
    precision: str
    n_turns: int
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
    about = (
        f"{plan.folder.name}, {plan.precision}, {plan.n_threads} thread(s), {plan.n_frames} frames "
        f"a turn, warm; calm: at least {plan.calm_gb_s:.0f} GB/s before and after"
    )
    result = {
        "about": about,
        "date": now.isoformat(timespec="seconds"),
        "machine": host,
        "calm_gb_s": plan.calm_gb_s,
        "turns": {name: [asdict(turn) for turn in taken] for name, taken in turns.items()},
    }
    sys.stdout.write(f"{about}\n{table(turns, plan.calm_gb_s)}\n")
    case = f"{plan.folder.name}-{plan.precision}-{plan.n_threads}"
    path = BENCH / "results" / "calm" / f"{case}-{datetime.date.today().isoformat()}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n")
    sys.stdout.write(f"kept in {path.relative_to(BENCH.parent)}\n")


def asked() -> Plan:
    """The plan that the command line states."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--calm", type=float, required=True, metavar="GB/S")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--frames", type=int, default=40, help="frames of one turn")
    parser.add_argument("--precision", default="int8")
    parser.add_argument("--turns", type=int, default=5, help="calm turns of each figure")
    parser.add_argument(
        "--patience", type=float, default=15.0, metavar="S", help="for a calm start"
    )
    parser.add_argument("--minutes", type=float, default=15.0, help="no new round after these")
    given = parser.parse_args()
    return Plan(
        given.folder, given.calm, given.threads, given.frames, given.precision, given.turns,
        given.patience, given.minutes,
    )  # fmt: skip


def measured(plan: Plan) -> dict[str, list[Turn]]:
    """The turns of each figure."""
    with MemoryMeter(plan.n_threads) as meter:
        tts = menura.load(
            plan.folder, device="cpu", precision=plan.precision, threads=plan.n_threads
        )
        tasks = tasks_of(tts, plan.n_frames)
        for task in tasks.values():
            task()()
        turns: dict[str, list[Turn]] = {name: [] for name in tasks}
        end = time.monotonic() + plan.minutes * 60
        while time.monotonic() < end and (names := lacking(turns, plan)):
            for name in names:
                turns[name].append(turn_of(tasks[name], meter, plan))
            progress(turns, plan)
    return turns


def tasks_of(tts: menura.TTS, n_frames: int) -> dict[str, Task]:
    """What measures each figure once."""
    seeds = count(SEED)
    preset = encoded(tts, "x_vector")  # its prompt has the rows of a preset's

    def of_preset() -> Callable[[], Figures]:
        return lambda: {"s": first_audio_s(tts, preset, is_whole=True)}

    def of_clip(mode: str) -> Task:
        def prepared() -> Callable[[], Figures]:
            voice = encoded(tts, mode, next(seeds))
            return lambda: {"s": first_audio_s(tts, voice)}

        return prepared

    def of_rows(n_rows: int) -> Task:
        return lambda: lambda: renamed(steps(tts, preset, n_frames, n_rows), n_rows)

    firsts: dict[str, Task] = {
        "first, preset": of_preset,
        "first, x-vector": of_clip("x_vector"),
        "first, in context": of_clip("in_context"),
    }
    return firsts | {f"{n_rows} stream(s)": of_rows(n_rows) for n_rows in ROWS}


def renamed(figures: Figures, n_rows: int) -> Figures:
    """The figures of several streams without their number in the names."""
    return {name.replace(f"_of_{n_rows}", ""): value for name, value in figures.items()}


def lacking(turns: Mapping[str, Sequence[Turn]], plan: Plan) -> list[str]:
    """The figures that have too few calm turns."""
    return [name for name in turns if len(calm(turns[name], plan.calm_gb_s)) < plan.n_turns]


def calm(turns: Sequence[Turn], calm_gb_s: float) -> list[Turn]:
    """The calm ones."""
    return [turn for turn in turns if turn.read_gb_s >= calm_gb_s]


def turn_of(task: Task, meter: MemoryMeter, plan: Plan) -> Turn:
    """One turn. It begins when the memory is calm, or after a while if it does not become so."""
    figures, read_gb_s = meter.around(task(), plan.calm_gb_s, plan.patience_s)
    return Turn(read_gb_s, figures)


def progress(turns: Mapping[str, Sequence[Turn]], plan: Plan) -> None:
    """Tell on the error stream how many turns there are, and how many of them calm."""
    counts = (f"{len(calm(taken, plan.calm_gb_s))}/{len(taken)}" for taken in turns.values())
    sys.stderr.write(" ".join(counts) + "\n")


def table(turns: Mapping[str, Sequence[Turn]], calm_gb_s: float) -> str:
    """A line for each figure in each state of the machine."""
    lines = [_HEAD]
    for name, taken in turns.items():
        disturbed = [turn for turn in taken if turn.read_gb_s < calm_gb_s]
        for state, some in (("calm", calm(taken, calm_gb_s)), ("disturbed", disturbed)):
            lines += rows(name, state, some) if some else []
    return "\n".join(lines)


def rows(name: str, state: str, turns: Sequence[Turn]) -> Iterator[str]:
    """The lines of one figure's turns in one state."""
    read = median(turn.read_gb_s for turn in turns)
    for part in turns[0].figures:
        values = [turn.figures[part] for turn in turns]
        numbers = (median(values), min(values), max(values))
        row = f"{name + ', ' + part.replace('_s', ', s'):<28}{len(turns):>3} {state:<9}"
        yield row + "".join(f"{number:>9.3f}" for number in numbers) + f"{read:>8.0f}"


if __name__ == "__main__":
    main()
