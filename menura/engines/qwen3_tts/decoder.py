"""Rows of live utterances: a step makes one frame for each row that can move.

The rows go one after another, each with its own cache and upstream's call shapes, so a row's codes
are those of the same request alone. A row whose text comes in pieces waits until enough of it is
certain for its next frame.

Legend: T frames, Q codebooks, n samples.
"""

from collections.abc import Sequence

from menura.engines.contract import (
    Delivery,
    EndOfText,
    FinishReason,
    NoiseSource,
    Prompt,
    RowStep,
    Words,
)
from menura.engines.qwen3_tts.live_row import LiveRow, Loaded, Utterance
from menura.errors import MenuraError


class QwenDecoder:
    """The rows of one decoder."""

    def __init__(self, loaded: Loaded, rows: int) -> None:
        self._loaded = loaded
        self._rows: dict[int, LiveRow | None] = dict.fromkeys(range(rows))

    @property
    def free_rows(self) -> Sequence[int]:
        """The rows that can be admitted to."""
        return [row for row, live in self._rows.items() if live is None]

    @property
    def live(self) -> int:
        """How many rows can move now."""
        return sum(live is not None and live.can_move for live in self._rows.values())

    def admit(self, row: int, prompt: Prompt, noise: NoiseSource, delivery: Delivery) -> None:
        """Put an utterance into a free row; its prompt is read at the next step."""
        assert isinstance(prompt, Utterance)
        assert self._rows[row] is None, f"row {row} is taken"
        self._rows[row] = LiveRow(self._loaded, prompt, noise, delivery)

    def extend(self, row: int, more: Words | EndOfText) -> None:
        """Add words to a row whose prompt had no text, or say that no more come."""
        live = self._rows[row]
        assert live is not None, f"row {row} is free"
        live.extend(more)

    def step(self) -> list[RowStep]:
        """One frame for every row that can move; what is due of them is handed over."""
        steps: list[RowStep] = []
        for row, live in self._rows.items():
            if live is None or not live.can_move:
                continue
            try:
                step = live.step(row)
            except MenuraError as error:
                live.is_over = True
                step = RowStep(row, finish=FinishReason.ERROR, error=error)
            if step is not None:
                steps.append(step)
        return steps

    def release(self, row: int) -> None:
        """Free the row at once, whatever its state."""
        self._rows[row] = None
