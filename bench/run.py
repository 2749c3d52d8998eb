"""Measures one case of `bench/cases` and keeps the result: `python -m bench.run CASE`.

Every run of every side is a new process; the sides take turns, so that a noisy machine disturbs
them alike. Wall and CPU seconds and peak memory are the operating system's own. Where a command
prints a JSON object with `timings`, those are kept too.

Of a case with `by_turns = true` every side is one process, which loads its model once and then
answers each line of its input with the `timings` of one turn.
"""

import argparse
import datetime
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path

from bench.compare import table

BENCH = Path(__file__).parent
# Where `make parity` puts upstream's environment; a case may be pointed at another one.
UPSTREAM_PYTHON = os.environ.get("PARITY_PYTHON", BENCH.parent / ".venv-parity" / "bin" / "python")
Figures = dict[str, float]


def main() -> None:
    """Measure the case that is named, print its table, write its result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=sorted(p.stem for p in (BENCH / "cases").glob("*.toml")))
    parser.add_argument("--repeats", type=int, help="counted runs of each side")
    parser.add_argument("--no-save", action="store_true", help="only print")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = measure(arguments.case, Path(folder), arguments.repeats)
    sys.stdout.write(table(result) + "\n")
    if not arguments.no_save:
        day = datetime.date.today().isoformat()
        path = BENCH / "results" / f"{arguments.case}-{day}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n")
        sys.stdout.write(f"kept in {path.relative_to(BENCH.parent)}\n")


def measure(case: str, folder: Path, repeats: int | None) -> dict[str, object]:
    """The result of a case: the machine, what installing took, and each side's runs."""
    facts = tomllib.loads((BENCH / "cases" / f"{case}.toml").read_text())
    install: Figures = {}
    bin_folder = Path(sys.executable).parent
    if facts.get("fresh_install"):
        install = install_afresh(folder / "venv")
        bin_folder = folder / "venv" / "bin"
    words = {
        "bin": str(bin_folder),
        "python": sys.executable,
        "upstream": str(UPSTREAM_PYTHON),
        "tmp": str(folder),
        "case": str(BENCH / "cases"),
        "text": (BENCH / "cases" / "harvard.txt").read_text(),
    }
    words |= {name: told(command, words) for name, command in facts.get("words", {}).items()}
    sides = {
        name: [word.format_map(words) for word in side["command"]]
        for name, side in facts["sides"].items()
    }
    warm_up = facts.get("warm_up", True)  # a first turn that fills the disk cache
    n_turns = (repeats or facts["repeats"]) + warm_up
    take = runs_by_turns if facts.get("by_turns") else runs_of_processes
    runs = {name: turns[warm_up:] for name, turns in take(sides, n_turns, folder).items()}
    return {
        "case": case,
        "about": facts["about"],
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": machine(),
        "install": install,
        "runs": runs,
    }


def runs_of_processes(
    sides: Mapping[str, list[str]], n_turns: int, folder: Path
) -> dict[str, list[Figures]]:
    """The figures of each side's turns, each turn a new process."""
    runs: dict[str, list[Figures]] = {name: [] for name in sides}
    for _ in range(n_turns):
        for name, command in sides.items():
            runs[name].append(run_once(command, folder))
    return runs


def runs_by_turns(
    sides: Mapping[str, list[str]], n_turns: int, folder: Path
) -> dict[str, list[Figures]]:
    """The figures of each side's turns in one process, and the peak memory of all its turns.

    The order alternates: what one turn leaves behind disturbs both sides alike.
    """
    processes = {name: _start(command, folder) for name, command in sides.items()}
    runs: dict[str, list[Figures]] = {name: [] for name in sides}
    for turn in range(n_turns):
        for name in sorted(sides, reverse=bool(turn % 2)):
            runs[name].append(_turn(processes[name]))
    for name, process in processes.items():
        assert process.stdin is not None
        process.stdin.close()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        for figures in runs[name]:
            figures["peak_mb"] = usage.ru_maxrss / 1024
    return runs


def _start(command: list[str], folder: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command, cwd=BENCH.parent, text=True, env=_environment(folder),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def _turn(side: "subprocess.Popen[str]") -> Figures:
    assert side.stdin is not None
    assert side.stdout is not None
    side.stdin.write("\n")
    side.stdin.flush()
    line = side.stdout.readline()
    if not line:
        raise SystemExit(f"{side.args!r} ended with {side.wait()}, see above.")
    return {name: float(value) for name, value in json.loads(line)["timings"].items()}


def _environment(folder: Path) -> Mapping[str, str]:
    return os.environ | {"MENURA_HOME": str(folder / "home"), "MENURA_SERVER": "off"}


def told(command: list[str], words: Mapping[str, str]) -> str:
    """What the command prints: a word that the sides' commands need, made before them."""
    filled = [word.format_map(words) for word in command]
    done = subprocess.run(filled, cwd=BENCH.parent, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def install_afresh(venv: Path) -> Figures:
    """Seconds and megabytes of `pip install .` in a new environment, pip itself left out."""
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    before = megabytes(venv)
    start = time.perf_counter()
    pip = [str(venv / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, str(BENCH.parent)], check=True)
    return {"seconds": time.perf_counter() - start, "megabytes": megabytes(venv) - before}


def megabytes(folder: Path) -> float:
    """The size of all files below the folder."""
    sizes = (p.lstat().st_size for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    return sum(sizes) / 1e6


def run_once(command: list[str], folder: Path) -> Figures:
    """The figures of one run of the command; it must succeed."""
    with (folder / "stdout").open("w+b") as out, (folder / "stderr").open("w+b") as err:
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=BENCH.parent, stdout=out, stderr=err, env=_environment(folder)
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall_s = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            err.seek(0)
            said = err.read()[-2000:].decode(errors="replace")
            raise SystemExit(f"{command} ended with {process.returncode}:\n{said}")
        out.seek(0)
        printed = out.read().decode()
    figures = {
        "wall_s": wall_s,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_mb": usage.ru_maxrss / 1024,
    }
    if printed.startswith("{"):
        figures |= {name: float(value) for name, value in json.loads(printed)["timings"].items()}
    return figures


def machine() -> Mapping[str, object]:
    """What the figures were measured on."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in _lines("/proc/cpuinfo")
            if "model name" in line
        ),
        platform.processor(),
    )
    return {
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
        "disk_free_gb": round(shutil.disk_usage(BENCH).free / 1e9),
    }


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


if __name__ == "__main__":
    main()
