"""How fast this machine reads memory now, with the threads of what is measured.

It is asked again and again while something else is measured: what a virtual machine's neighbours
leave changes from second to second, and with it what a speed says.
"""

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TypeVar

from menura.runtime.native.compiler import BuildError, find_compiler

_SOURCE = Path(__file__).with_suffix(".cpp")
# The compiler's own words for this CPU; a reading loop needs the widest loads.
_FLAGS = ("-O3", "-march=native", "-std=c++17", "-pthread")
_PASSES = 7  # of a look: about a tenth of a second
T = TypeVar("T")


class MemoryMeter:
    """A program that reads half a gigabyte whenever it is asked. It is built anew and waits idly.

    Raises: SystemExit: there is no compiler, or not the memory.
    """

    def __init__(self, n_threads: int) -> None:
        try:
            compiler = find_compiler()
        except BuildError as error:
            raise SystemExit(f"The memory's speed cannot be measured: {error}.") from error
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "memory"
            build = [*compiler.command, *_FLAGS, str(_SOURCE), "-o", str(program)]
            subprocess.run(build, check=True)
            self._process = subprocess.Popen(
                [str(program), str(n_threads)],
                text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )  # fmt: skip
            self._passes(1)  # it has started: its file is not needed any more

    def __enter__(self) -> "MemoryMeter":
        return self

    def __exit__(self, *raised: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def gb_s(self) -> float:
        """Gigabytes that all threads together read in a second, now."""
        return median(self._passes(_PASSES))

    def around(self, work: Callable[[], T], enough: float, patience_s: float) -> tuple[T, float]:
        """What the work gives, and the slower of what is read before and after it.

        It begins as soon as enough is read (gigabytes a second), or after so many seconds without.
        """
        patient_until = time.monotonic() + patience_s
        while (before := self.gb_s()) < enough and time.monotonic() < patient_until:
            pass
        made = work()
        return made, min(before, self.gb_s())

    def most_gb_s(self, n_passes: int) -> float:
        """The best of many passes."""
        return max(self._passes(n_passes))

    def _passes(self, n: int) -> list[float]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: see below
            self._process.stdin.write(f"{n}\n")
            self._process.stdin.flush()
        rates = [float(word) for word in self._process.stdout.readline().split()]
        if len(rates) != n:
            raise SystemExit(f"The program that reads memory ended with {self._process.wait()}.")
        return rates
