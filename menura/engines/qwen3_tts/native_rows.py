"""The frames of many rows in one native call; `generate.py` says what such a frame is.

Each row has a slot: the place of its keys and values inside the kernels. Its noise is drawn here,
in the order of the reference step, so a seed means the same draws on every path. The kernels sum
in an order that does not know how many rows move together, so a row's codes are those of the row
alone.

Legend: T prompt positions, Q codebooks, D talker width, V codec vocabulary.
"""

import gc
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from menura.engines.contract import NoiseSource
from menura.engines.qwen3_tts import code_predictor, generate
from menura.engines.qwen3_tts.config import TalkerConfig
from menura.engines.qwen3_tts.prefix_states import FEWEST_ROWS, PrefixStates
from menura.engines.qwen3_tts.utterance_row import Outcome, Row, Settings, TrailingText
from menura.errors import MenuraError, NumericsError
from menura.runtime.native.frame import FrameRow
from menura.runtime.sampling import draw
from menura.speech import FinishReason, FloatArray

MAX_ROWS = 8  # in one call
N_SLOTS = 64  # of utterances that are under way at the same time


class FrameStep(Protocol):
    """What is asked of the kernels; `runtime.native.frame.FrameStep` has it."""

    def prefill(
        self, slot: int, position: int, inputs: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """State [D] and scores [V] after the inputs [T, D], which stand from `position` on."""
        ...

    def frame(self, rows: Sequence[FrameRow]) -> None:
        """Make the next frame of up to `MAX_ROWS` rows; what comes out is filled into them."""
        ...

    def export(self, slot: int, n_positions: int) -> NDArray[np.uint8]:
        """The keys and values [n_bytes] of a slot's first positions."""
        ...

    def load(self, slot: int, n_positions: int, state: NDArray[np.uint8]) -> None:
        """Begin a slot with keys and values [n_bytes] that were exported."""
        ...

    def release(self, slot: int) -> None:
        """Free what the slot holds."""
        ...


@dataclass(kw_only=True, eq=False)
class NativeRow(Row):
    """An utterance in a slot; `call` is what its next step gets and gives."""

    slot: int
    call: FrameRow
    lost: "weakref.finalize[..., NativeRow] | None" = None


class NativeRows:
    """Makes the frames of all rows that can move in one call of the kernels."""

    def __init__(self, step: FrameStep, config: TalkerConfig, prefixes: PrefixStates) -> None:
        self.step = step
        self._config = config
        self._prefixes = prefixes
        self._free_slots = list(reversed(range(N_SLOTS)))
        self._lost_slots: deque[int] = deque()  # of rows that the garbage collector found
        ids = np.arange(config.codec_vocab_size)
        self._codes = ids < config.code_predictor.codebook_size
        self._codes_or_end = self._codes | (ids == config.eos_id)

    def start(
        self,
        prompt_rows: Tensor,
        n_fixed: int,
        text: TrailingText,
        settings: Settings,
        noise: NoiseSource,
    ) -> NativeRow:
        """An utterance whose prompt rows [T, D] the talker has read.

        Raises: NumericsError: the scores of the first code are not numbers; MenuraError: there is
            no slot or no memory left.
        """
        slot = self._slot()
        try:
            inputs = np.ascontiguousarray(prompt_rows.float().numpy())
            hidden, scores = self._read(slot, inputs, n_fixed)
            first = draw(
                torch.from_numpy(scores),
                settings.talker,
                noise,
                generate.NOISE,
                allowed=torch.from_numpy(self._codes),
            )
            call = self._call(slot, len(inputs), hidden, settings)
            row = NativeRow(settings=settings, noise=noise, text=text, slot=slot, call=call)
            self._take(row, int(first.code), [int(first.is_sound)])
        except BaseException:
            self._free(slot)
            raise
        row.lost = weakref.finalize(row, self._lost_slots.append, slot)
        return row

    def next_frames(self, rows: Sequence[Row]) -> list[Outcome]:
        """The next frame [Q] of every row, or why it has none."""
        outcomes: list[Outcome] = []
        for start in range(0, len(rows), MAX_ROWS):
            together = [_native(row) for row in rows[start : start + MAX_ROWS]]
            for row in together:
                self._prepare(row)
            try:
                self.step.frame([row.call for row in together])
            except MenuraError as error:  # no memory: these rows end, others may go on
                outcomes += [_ended(row, error) for row in together]
            else:
                outcomes += [self._settled(row) for row in together]
        return outcomes

    def release(self, row: Row) -> None:
        """Free the row's slot for another."""
        taken = _native(row)
        if taken.lost is not None and taken.lost.detach() is not None:
            self._free(taken.slot)

    def _slot(self) -> int:
        """A slot that no row has; those of rows that nobody released are taken back first.

        Raises: MenuraError: all have one.
        """
        if not self._free_slots:
            gc.collect()  # a row that nobody released may hang in a circle
        while self._lost_slots:
            self._free(self._lost_slots.popleft())
        if not self._free_slots:
            raise MenuraError(
                f"{N_SLOTS} utterances are under way, and there is no room for another: wait "
                "until one ends, or close a stream that nobody hears."
            )
        return self._free_slots.pop()

    def _read(self, slot: int, inputs: FloatArray, n_fixed: int) -> tuple[FloatArray, FloatArray]:
        """State [D] and scores [V] after the prompt [T, D], from what is known of its beginning."""
        if n_fixed < FEWEST_ROWS:
            return self.step.prefill(slot, 0, inputs)
        fixed = inputs[:n_fixed]
        state = self._prefixes.find(fixed)
        if state is None:
            self.step.prefill(slot, 0, fixed)
            self._prefixes.keep(fixed, self.step.export(slot, n_fixed))
        else:
            self.step.load(slot, n_fixed, state)
        return self.step.prefill(slot, n_fixed, inputs[n_fixed:])

    def _call(self, slot: int, n_prompt: int, hidden: FloatArray, settings: Settings) -> FrameRow:
        return FrameRow(
            slot=slot,
            position=n_prompt,
            first=0,
            hidden=np.array(hidden, np.float32),
            text=np.zeros_like(hidden),
            others_noise=None,
            first_noise=None,
            talker=settings.talker,
            predictor=settings.code_predictor,
            seen=np.zeros(self._config.codec_vocab_size, np.bool_),
            allowed=self._codes,
        )

    def _prepare(self, row: NativeRow) -> None:
        """Fill in what the row's next step needs; the noise is drawn as the reference draws it."""
        assert row.can_move, "the row has ended, or waits for text"
        call, config = row.call, self._config
        call.text = np.ascontiguousarray(row.text.row(row.n_frames).float().numpy())
        call.allowed = self._codes_or_end if row.may_end else self._codes
        if row.settings.code_predictor.do_sample:
            size = config.code_predictor.codebook_size
            call.others_noise = np.empty((config.n_codebooks - 1, size), np.float32)
            for place in call.others_noise:
                place[:] = row.noise.draw(code_predictor.NOISE, (size,))
        if row.settings.talker.do_sample:
            waits = row.noise.draw(generate.NOISE, (config.codec_vocab_size,))
            call.first_noise = np.asarray(waits, np.float32)

    def _settled(self, row: NativeRow) -> Outcome:
        """The frame [Q] that the step gave, or the row's failure."""
        call = row.call
        frame = np.array(call.codes, np.int64)
        call.position += 1
        try:
            self._take(row, call.next_first, call.sound.tolist())
        except NumericsError as error:
            return error
        return frame

    def _take(self, row: NativeRow, first: int, are_sound: Sequence[int]) -> None:
        """Note the first code of the row's next frame. Raises: NumericsError."""
        row.note(first, are_sound, self._config.eos_id)
        row.call.first = first
        row.call.seen[first] = True

    def _free(self, slot: int) -> None:
        self._free_slots.append(slot)
        self.step.release(slot)


def _ended(row: NativeRow, error: MenuraError) -> MenuraError:
    """The error, after it ended the row."""
    row.finish = FinishReason.ERROR
    return error


def _native(row: Row) -> NativeRow:
    assert isinstance(row, NativeRow)
    return row
