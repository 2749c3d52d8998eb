"""What a process holds, as Linux tells it: for tests that nothing of a server leaks."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import pytest

_PROC = Path("/proc")
_LIMIT_S = 60  # of what should take a moment

needs_proc = pytest.mark.skipif(
    not (_PROC / "self" / "fd").exists(), reason="reads what processes hold from /proc"
)


@dataclass(frozen=True)
class Holdings:
    """A process's open descriptors, threads, and resident memory in bytes."""

    n_descriptors: int
    n_threads: int
    rss_bytes: int


def holdings(pid: int) -> Holdings:
    """What the process holds now."""
    folder = _PROC / str(pid)
    lines = (folder / "status").read_text().splitlines()
    status = dict(line.partition(":")[::2] for line in lines)
    return Holdings(
        n_descriptors=len(list((folder / "fd").iterdir())),
        n_threads=int(status["Threads"]),
        rss_bytes=int(status["VmRSS"].split()[0]) * 1024,
    )


def children(pid: int) -> frozenset[int]:
    """The processes that a process has started and that have not ended."""
    found = set()
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and _parent(folder) == pid:
            found.add(int(folder.name))
    return frozenset(found)


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that has ended and is not yet reaped does not."""
    return _state(_PROC / str(pid)) not in ("", "Z", "X")


def other_threads_sleep(pid: int) -> bool:
    """Whether all of the process's threads but the first wait for something."""
    threads = (
        folder for folder in (_PROC / str(pid) / "task").iterdir() if folder.name != str(pid)
    )
    return all(_state(folder) == "S" for folder in threads)


def until(is_so: Callable[[], bool], otherwise: str) -> None:
    """Nothing, once it is so; a failure with these words where it never is."""
    give_up_at = monotonic() + _LIMIT_S
    while not is_so():
        if monotonic() > give_up_at:
            pytest.fail(otherwise)


def _parent(folder: Path) -> int:
    """The parent's number; 0 for a process that has ended."""
    facts = _facts(folder)
    return int(facts[1]) if facts and facts[0] not in ("Z", "X") else 0


def _state(folder: Path) -> str:
    return next(iter(_facts(folder)), "")


def _facts(folder: Path) -> list[str]:
    """State, parent and so on: what follows the name, which may hold anything, in brackets."""
    try:
        return (folder / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
