"""Prints results of `bench.run` as tables: `python -m bench.compare RESULT.json ...`.

The median of each figure with its lowest and highest, and the ratio of each side to the first one
as the median of the ratios run by run.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any


def main() -> None:
    """Print the table of every result that is named."""
    for name in sys.argv[1:]:
        sys.stdout.write(table(json.loads(Path(name).read_text())) + "\n")


def table(result: Mapping[str, Any]) -> str:
    """The result in words: the machine, the installation, and a row for each side's figure."""
    machine = result["machine"]
    where = f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}"
    when = f"load {machine['load_before']:.1f}, {result['date']}"
    lines = [f"{result['case']}: {result['about']}", f"{where}, {when}"]
    if result["install"]:
        install = result["install"]
        lines.append(f"installed in {install['seconds']:.1f} s, {install['megabytes']:.0f} MB")
    head = f"{'side':<14}{'figure':<18}{'median':>11}{'lowest':>11}{'highest':>11}{'ratio':>8}"
    lines.append(head)
    first = next(iter(result["runs"].values()))
    for side, runs in result["runs"].items():
        for figure in runs[0]:
            values = [run[figure] for run in runs]
            numbers = (median(values), min(values), max(values))
            row = f"{side:<14}{figure:<18}" + "".join(f"{number:>11.3f}" for number in numbers)
            lines.append(row + _ratio(values, [run.get(figure) for run in first]))
    return "\n".join(lines)


def _ratio(values: list[float], others: list[float | None]) -> str:
    pairs = [(a, b) for a, b in zip(values, others, strict=True) if b]
    return f"{median(a / b for a, b in pairs):>8.2f}" if len(pairs) == len(values) else ""


if __name__ == "__main__":
    main()
