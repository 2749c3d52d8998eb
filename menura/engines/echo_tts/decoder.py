"""Rows of live utterances: a step is one Euler step for every row that samples, in one packed pass.

Rows stand at different times, and differ in text, voice, window and guidance. A row that has
sampled decodes one piece a step while the others go on. The rows of a pass add up their numbers in
another order than a row alone, so the two are equal within `ROW_TOLERANCES` and not bit for bit.

Legend: T latents, n samples.
"""

from collections.abc import Mapping, Sequence

import torch

from menura.engines.contract import (
    Delivery,
    EndOfText,
    FinishReason,
    NoiseSource,
    Prompt,
    RowStep,
    Words,
)
from menura.engines.echo_tts.generate import advance
from menura.engines.echo_tts.live_row import LiveRow, Loaded
from menura.engines.echo_tts.prompt import EchoPrompt
from menura.errors import MenuraError

ROW_TOLERANCES: Mapping[torch.dtype, float] = {
    torch.float32: 1e-5,
    torch.bfloat16: 0.05,
    torch.float16: 0.05,
}
"""How far, relatively, a row's samples may be from those of the same row alone."""


class EchoDecoder:
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
        return len(self._moving())

    def admit(self, row: int, prompt: Prompt, noise: NoiseSource, delivery: Delivery) -> None:
        """Put an utterance into a free row: its text and voice are read now."""
        assert isinstance(prompt, EchoPrompt)
        assert self._rows[row] is None, f"row {row} is taken"
        self._rows[row] = LiveRow(self._loaded, prompt, noise, delivery)

    def extend(self, row: int, more: Words | EndOfText) -> None:
        """Nothing: the model needs its whole text at once, so no row waits for words."""
        raise AssertionError(f"row {row} has its whole text and takes no {type(more).__name__}")

    def step(self) -> list[RowStep]:
        """One Euler step for every row that samples, one piece of audio for every other."""
        moving = self._moving()
        sampling = [live.sampler for live in moving.values() if live.is_sampling]
        if sampling:
            advance(self._loaded.dit, sampling)
        return [_step(row, live) for row, live in moving.items()]

    def release(self, row: int) -> None:
        """Free the row at once, whatever its state."""
        self._rows[row] = None

    def _moving(self) -> dict[int, LiveRow]:
        return {n: live for n, live in self._rows.items() if live is not None and not live.is_over}


def _step(row: int, live: LiveRow) -> RowStep:
    """The row's step; its failure ends it and touches no other row."""
    try:
        return live.step(row)
    except MenuraError as error:
        live.is_over = True
        return RowStep(row, finish=FinishReason.ERROR, error=error)
