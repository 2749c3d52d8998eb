"""What is known of one utterance between two frames, whoever makes the frames.

Legend: T prompt positions, K text rows, Q codebooks, D talker width.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from menura.engines.contract import NoiseSource
from menura.errors import MenuraError, NumericsError
from menura.runtime.sampling import Sampling
from menura.speech import FinishReason

MIN_FRAMES = 2  # parity: no utterance ends before its second frame


@dataclass(frozen=True)
class Settings:
    """How both parts choose, and how many first codes are drawn at most.

    The last first code is never expanded: `max_new_tokens` M gives at most M - 1 frames.
    """

    talker: Sampling
    code_predictor: Sampling
    max_new_tokens: int


class TrailingText:
    """The text rows that are still to be spoken, one for each frame; more may come later.

    Once the text is closed, `padding` [D] stands for every row past its end.
    """

    def __init__(self, rows: Tensor, padding: Tensor, *, is_closed: bool = True) -> None:
        self._rows = list(rows)
        self._padding = padding
        self._is_closed = is_closed

    def append(self, rows: Tensor) -> None:
        """Add rows [K, D] of text that became certain."""
        assert not self._is_closed, "the text is complete"
        self._rows.extend(rows)

    def close(self) -> None:
        """Say that no more text comes."""
        self._is_closed = True

    def reaches(self, frame: int) -> bool:
        """Whether the row that goes with this frame is known."""
        return self._is_closed or frame < len(self._rows)

    def row(self, frame: int) -> Tensor:
        """The row [D] that goes with this frame."""
        return self._rows[frame] if frame < len(self._rows) else self._padding


@dataclass(kw_only=True, eq=False)
class Row:
    """One utterance on its way. `n_drawn` counts first codes: one more than the frames given."""

    settings: Settings
    noise: NoiseSource
    text: TrailingText
    n_drawn: int = 0
    finish: FinishReason | None = None

    @property
    def n_frames(self) -> int:
        """How many frames the row has given."""
        return self.n_drawn - 1

    @property
    def can_move(self) -> bool:
        """Whether a next frame can be made: not ended, and the text row that goes with it known."""
        return self.finish is None and self.text.reaches(self.n_frames)

    @property
    def may_end(self) -> bool:
        """Whether the next first code may be the end."""
        return self.n_drawn >= MIN_FRAMES

    def note(self, following: int, are_sound: Sequence[int], end_id: int) -> None:
        """Note a step's outcome: the first code that follows its frame, which may end the row.

        `are_sound` says for each draw, in their order, whether its scores were numbers.

        Raises: NumericsError: some were not, and the row has ended.
        """
        self._check_numbers(are_sound)
        self.n_drawn += 1
        if following == end_id:
            self.finish = FinishReason.STOP
        elif self.n_drawn >= self.settings.max_new_tokens:
            self.finish = FinishReason.LENGTH

    def _check_numbers(self, are_sound: Sequence[int]) -> None:
        """End the row if a draw had no numbers; the last is that of the next frame's first code."""
        if all(are_sound):
            return
        place = list(are_sound).index(0)
        is_next = place == len(are_sound) - 1
        codebook, frame = (0, self.n_frames + 1) if is_next else (place, self.n_frames)
        self.finish = FinishReason.ERROR
        raise NumericsError(
            f"the scores of codebook {codebook} in frame {frame} are not numbers (NaN or "
            "infinity), so this utterance ended; check the model's files, or load it with "
            "precision='exact'"
        )


# A frame's codes [Q], or why the row has none.
Outcome = NDArray[np.int64] | MenuraError


class FrameMaker(Protocol):
    """Reads prompts and makes the frames of many rows. A row's codes never depend on the others."""

    def start(
        self,
        prompt_rows: Tensor,
        n_fixed: int,
        text: TrailingText,
        settings: Settings,
        noise: NoiseSource,
    ) -> Row:
        """An utterance whose prompt rows [T, D] were read; its first frame comes next.

        The first `n_fixed` of them depend on no text, so another utterance may begin alike.

        Raises: NumericsError: the scores of the first code are not numbers.
        """
        ...

    def next_frames(self, rows: Sequence[Row]) -> list[Outcome]:
        """The next frame of every row; each can move. `row.finish` says if it was its last."""
        ...

    def release(self, row: Row) -> None:
        """Give back what is held for a row. It is not used again."""
        ...
