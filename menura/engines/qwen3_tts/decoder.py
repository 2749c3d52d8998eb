"""Rows of live utterances: a step makes one frame for each row that can move.

The rows that can move are gathered, and the frame maker is asked once for all their frames; it sees
to it that a row's codes are those of the same request alone. A row whose text comes in pieces waits
until enough of it is certain for its next frame.

Legend: T frames, Q codebooks, n samples.
"""

from collections.abc import Sequence

from menura.engines.contract import (
    Delivery,
    EndOfText,
    NoiseSource,
    Prompt,
    RowStep,
    Words,
)
from menura.engines.qwen3_tts.live_row import LiveRow, Loaded, Utterance
from menura.engines.qwen3_tts.utterance_row import Outcome, Row
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
        moving: list[tuple[int, LiveRow, Row]] = []
        for number, live in self._rows.items():
            if live is None or not live.can_move:
                continue
            try:
                row = live.ready()
            except MenuraError as error:
                steps += live.fail(number, error)
            else:
                moving += [] if row is None else [(number, live, row)]
        outcomes = self._loaded.frames.next_frames([row for _, _, row in moving])
        for (number, live, _), outcome in zip(moving, outcomes, strict=True):
            steps += _handed_over(number, live, outcome)
        return steps

    def release(self, row: int) -> None:
        """Free the row at once, whatever its state."""
        live, self._rows[row] = self._rows[row], None
        if live is not None:
            live.release()


def _handed_over(number: int, live: LiveRow, outcome: Outcome) -> list[RowStep]:
    """The row's step, if anything is due with its new frame; or its failure."""
    if isinstance(outcome, MenuraError):
        return live.fail(number, outcome)
    try:
        step = live.hand_over(number, outcome)
    except MenuraError as error:
        return live.fail(number, error)
    return [] if step is None else [step]
