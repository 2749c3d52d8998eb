"""A bar on stderr for what takes long; it goes away when the work is done."""

from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

from menura.cli.terminal import console_on, shortened

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

_SOON_S = 1.0
_REDRAW_S = 0.1
_WHAT_CHARACTERS = 40
_PACE_S = 3600.0  # a single step may take minutes, and the pace is that of the whole


class Progress:
    """How far the work is. Nothing is drawn in its first second, or where `shown` is false."""

    def __init__(self, verb: str, *, shown: bool, in_bytes: bool = False) -> None:
        self._verb = verb
        self._shown = shown
        self._in_bytes = in_bytes
        self._next_drawing = perf_counter() + _SOON_S
        self._bar: Bar | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, done: float, total: float, what: str) -> None:
        """Draw that so much of the total is done, and what is being worked on."""
        if not self._shown or perf_counter() < self._next_drawing:
            return
        self._next_drawing = perf_counter() + _REDRAW_S
        if self._bar is None:
            self._bar = _bar(in_bytes=self._in_bytes)
            self._bar.add_task(self._verb, total=total, what="")
            self._bar.start()
        [task] = self._bar.task_ids
        line = shortened(what, _WHAT_CHARACTERS)
        self._bar.update(task, completed=done, total=total, what=line, refresh=True)


def _bar(*, in_bytes: bool) -> "Bar":
    """A bar that is drawn only when told to, so that no thread is needed."""
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as Bar  # noqa: PLC0415

    amount = [DownloadColumn(), TransferSpeedColumn()] if in_bytes else []
    return Bar(
        TextColumn("{task.description}"),
        BarColumn(complete_style="cyan", finished_style="cyan"),
        TextColumn("{task.percentage:>3.0f} %"),
        *amount,
        TextColumn("{task.fields[what]}", style="dim", markup=False),
        TimeRemainingColumn(),
        TextColumn("left", style="progress.remaining"),
        console=console_on("stderr"),
        speed_estimate_period=30.0 if in_bytes else _PACE_S,
        transient=True,
        auto_refresh=False,
    )
