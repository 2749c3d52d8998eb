"""The reference step for one utterance: a prompt goes in, then every step gives one frame.

A frame's first code is drawn at the end of the step before, because only the talker says whether
another frame follows. A step expands that code into a frame, shows the frame together with the
next text row to the talker, and draws the first code of the frame after it.

Nothing is read from the device inside a step but its outcome, once, at the end.

Source: Qwen3-TTS technical report, 2026.
Legend: T prompt positions, K text rows, Q codebooks, D talker width, V codec vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from menura.engines.contract import NoiseSource
from menura.engines.qwen3_tts.code_predictor import CodePredictor
from menura.engines.qwen3_tts.talker import Talker
from menura.errors import NumericsError
from menura.runtime.kv_cache import GrowingCache
from menura.runtime.sampling import Drawn, Sampling, draw
from menura.speech import FinishReason

NOISE = "talker"

_MIN_FRAMES = 2  # parity: no utterance ends before its second frame


@dataclass(frozen=True)
class Models:
    """The two parts that make codes."""

    talker: Talker
    code_predictor: CodePredictor


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


@dataclass
class Row:
    """One utterance on its way: what its next step needs. Made by `prefill`.

    `hidden` [1, 1, D] is the talker's last state, `first` the code drawn from it and not yet
    expanded. `seen` [V] marks the first codes drawn so far, `codes` [V] the entries that are
    codes, `codes_or_end` [V] these and the end.
    """

    models: Models
    settings: Settings
    noise: NoiseSource
    text: TrailingText
    cache: GrowingCache
    hidden: Tensor
    first: Drawn
    seen: Tensor
    codes: Tensor
    codes_or_end: Tensor
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


@torch.inference_mode()
def prefill(
    models: Models,
    prompt_rows: Tensor,
    text: TrailingText,
    settings: Settings,
    noise: NoiseSource,
) -> Row:
    """An utterance whose prompt rows [T, D] the talker has read; its first frame comes next.

    Raises: NumericsError: the scores of the first code are not numbers.
    """
    config = models.talker.config
    ids = torch.arange(config.codec_vocab_size, device=prompt_rows.device)
    codes = ids < config.code_predictor.codebook_size
    row = Row(
        models,
        settings,
        noise,
        text,
        GrowingCache(),
        hidden=prompt_rows[None, -1:],
        first=Drawn(ids[0], codes[0]),
        seen=torch.zeros_like(codes),
        codes=codes,
        codes_or_end=codes | (ids == config.eos_id),
    )
    _settle(row, [], _listen(row, prompt_rows[None]))
    return row


@torch.inference_mode()
def next_frame(row: Row) -> Tensor:
    """The row's next frame of codes [Q], on the CPU; `row.finish` says whether it was the last.

    Raises: NumericsError: some scores are not numbers, and the row has ended.
    """
    assert row.can_move, "the row has ended, or waits for text"
    predictor = row.models.code_predictor
    inputs = [row.models.talker.embed_code(row.first.code)[None, None]]
    others = predictor.predict(row.hidden, inputs[0], row.settings.code_predictor, row.noise)
    inputs += [predictor.embed(i, drawn.code)[None, None] for i, drawn in enumerate(others, 1)]
    frame_input = torch.cat(inputs, dim=1).sum(dim=1, keepdim=True)
    following = _listen(row, frame_input + row.text.row(row.n_frames))
    return _settle(row, [row.first, *others], following)


def _listen(row: Row, inputs: Tensor) -> Drawn:
    """The first code that the talker draws after the inputs [1, T, D]."""
    talker = row.models.talker
    start = row.cache.n_positions
    positions = torch.arange(start, start + inputs.shape[1], device=inputs.device)[None]
    states = talker(inputs, positions, row.cache)
    row.hidden = states[:, -1:]
    # parity: the head scores the whole prompt, though only its last position is used
    scores = talker.codec_head(states)[0, -1]
    allowed = row.codes if row.n_drawn < _MIN_FRAMES else row.codes_or_end
    return draw(scores, row.settings.talker, row.noise, NOISE, seen=row.seen, allowed=allowed)


def _settle(row: Row, frame: Sequence[Drawn], following: Drawn) -> Tensor:
    """The frame's codes [Q], read from the device with the code that follows them; ends the row."""
    drawn = [*frame, following]
    codes = torch.stack([choice.code for choice in drawn])
    are_sound = torch.stack([choice.is_sound for choice in drawn])
    outcome = torch.cat((codes, are_sound.long())).cpu()
    _check_numbers(row, outcome[len(drawn) :].tolist())
    row.n_drawn += 1
    row.first = following
    row.seen.index_fill_(0, following.code[None], True)
    if int(outcome[len(frame)]) == row.models.talker.config.eos_id:
        row.finish = FinishReason.STOP
    elif row.n_drawn >= row.settings.max_new_tokens:
        row.finish = FinishReason.LENGTH
    return outcome[: len(frame)]


def _check_numbers(row: Row, are_sound: list[int]) -> None:
    """End the row if a draw had no numbers; the last is that of the next frame's first code."""
    if all(are_sound):
        return
    place = are_sound.index(0)
    is_next = place == len(are_sound) - 1
    codebook, frame = (0, row.n_frames + 1) if is_next else (place, row.n_frames)
    row.finish = FinishReason.ERROR
    raise NumericsError(
        f"the scores of codebook {codebook} in frame {frame} are not numbers (NaN or infinity), "
        "so this utterance ended; check the model's files, or load it with precision='exact'"
    )
