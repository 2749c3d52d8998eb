"""One side's process: started once, asked to speak again and again, and its peak memory."""

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence

from bench.run import BENCH

Figures = Mapping[str, float]
_SAID_CHARACTERS = 1500


class SideFailedError(Exception):
    """A side's process ended before it answered; the message has the end of what it said."""


class SideProcess:
    """A side that loads as soon as it is made. No other should run meanwhile."""

    def __init__(self, command: Sequence[str], n_threads: int) -> None:
        self._said = tempfile.TemporaryFile("w+")  # noqa: SIM115 - it lives as long as the process
        self._process = subprocess.Popen(
            command,
            cwd=BENCH.parent,
            env=os.environ | {"OMP_NUM_THREADS": str(n_threads)},
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
        )
        self.started = self._answer()

    def speak(self) -> Figures:
        """The figures of one turn. Raises: SideFailedError: the process ended."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it has ended: the answer says why
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        return self._answer()

    def end(self) -> float:
        """The peak memory in megabytes; the process has ended afterwards."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._said.close()
        return usage.ru_maxrss / 1024

    def _answer(self) -> Figures:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith('{"timings"'):
                timings = json.loads(line)["timings"]
                return {name: float(value) for name, value in timings.items()}
        code = self._process.wait()
        self._said.seek(0)
        raise SideFailedError(f"ended with {code}: {self._said.read()[-_SAID_CHARACTERS:].strip()}")
