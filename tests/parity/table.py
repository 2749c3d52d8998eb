"""The table that `make parity` ends with: one line for each thing that was compared."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Verdict:
    """One comparison. `codes_equal` is None where there are no codes to compare.

    `difference` is the largest between two samples (or numbers), or relative to their length (L2),
    as the engine's comparison says; it is allowed up to `bound`.
    """

    run: str
    case: str
    codes_equal: bool | None
    difference: float
    bound: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether both sides agree as well as they should."""
        return self.codes_equal is not False and self.difference <= self.bound


def lines(verdicts: Iterable[Verdict]) -> list[str]:
    """The table's lines, and the count of those that agree."""
    rows = list(verdicts)
    table = [f"{'run':<18} {'case':<42} {'codes':<8} {'difference':<12} verdict"]
    for row in rows:
        codes = {None: "-", True: "equal", False: "DIFFER"}[row.codes_equal]
        asked = "bit-equal" if row.bound == 0 else f"within {row.bound:g}"
        verdict = asked if row.passed else f"FAILED, asked: {asked}"
        table.append(f"{row.run:<18} {row.case:<42} {codes:<8} {row.difference:<12.3g} {verdict}")
    n_passed = sum(row.passed for row in rows)
    return [*table, f"{n_passed} of {len(rows)} comparisons agree"]
