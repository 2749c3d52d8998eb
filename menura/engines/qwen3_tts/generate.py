"""The reference step for one utterance: a prompt goes in, then every step gives one frame.

A frame's first code is drawn at the end of the step before, because only the talker says whether
another frame follows. A step expands that code into a frame, shows the frame together with the
next text row to the talker, and draws the first code of the frame after it.

Nothing is read from the device inside a step but its outcome, once, at the end.

Source: Qwen3-TTS technical report, 2026.
Legend: T prompt positions, Q codebooks, D talker width, V codec vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from menura.engines.contract import NoiseSource
from menura.engines.qwen3_tts.code_predictor import CodePredictor
from menura.engines.qwen3_tts.talker import Talker
from menura.engines.qwen3_tts.utterance_row import Outcome, Row, Settings, TrailingText
from menura.errors import NumericsError
from menura.runtime.kv_cache import GrowingCache
from menura.runtime.sampling import Drawn, draw

NOISE = "talker"


@dataclass(frozen=True)
class Models:
    """The two parts that make codes."""

    talker: Talker
    code_predictor: CodePredictor


@dataclass(kw_only=True, eq=False)
class EagerRow(Row):
    """An utterance with all that its next step needs. Made by `prefill`.

    `hidden` [1, 1, D] is the talker's last state, `first` the code drawn from it and not yet
    expanded. `seen` [V] marks the first codes drawn so far, `codes` [V] the entries that are
    codes, `codes_or_end` [V] these and the end.
    """

    models: Models
    cache: GrowingCache
    hidden: Tensor
    first: Drawn
    seen: Tensor
    codes: Tensor
    codes_or_end: Tensor


@torch.inference_mode()
def prefill(
    models: Models,
    prompt_rows: Tensor,
    text: TrailingText,
    settings: Settings,
    noise: NoiseSource,
) -> EagerRow:
    """An utterance whose prompt rows [T, D] the talker has read; its first frame comes next.

    Raises: NumericsError: the scores of the first code are not numbers.
    """
    config = models.talker.config
    ids = torch.arange(config.codec_vocab_size, device=prompt_rows.device)
    codes = ids < config.code_predictor.codebook_size
    row = EagerRow(
        settings=settings,
        noise=noise,
        text=text,
        models=models,
        cache=GrowingCache(),
        hidden=prompt_rows[None, -1:],
        first=Drawn(ids[0], codes[0]),
        seen=torch.zeros_like(codes),
        codes=codes,
        codes_or_end=codes | (ids == config.eos_id),
    )
    _settle(row, [], _listen(row, prompt_rows[None]))
    return row


@torch.inference_mode()
def next_frame(row: EagerRow) -> Tensor:
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


def _listen(row: EagerRow, inputs: Tensor) -> Drawn:
    """The first code that the talker draws after the inputs [1, T, D]."""
    talker = row.models.talker
    start = row.cache.n_positions
    positions = torch.arange(start, start + inputs.shape[1], device=inputs.device)[None]
    states = talker(inputs, positions, row.cache)
    row.hidden = states[:, -1:]
    # parity: the head scores the whole prompt, though only its last position is used
    scores = talker.codec_head(states)[0, -1]
    allowed = row.codes_or_end if row.may_end else row.codes
    return draw(scores, row.settings.talker, row.noise, NOISE, seen=row.seen, allowed=allowed)


def _settle(row: EagerRow, frame: Sequence[Drawn], following: Drawn) -> Tensor:
    """The frame's codes [Q], read from the device with the code that follows them; ends the row."""
    drawn = [*frame, following]
    codes = torch.stack([choice.code for choice in drawn])
    are_sound = torch.stack([choice.is_sound for choice in drawn])
    outcome = torch.cat((codes, are_sound.long())).cpu()
    following_code = int(outcome[len(frame)])
    row.note(following_code, outcome[len(drawn) :].tolist(), row.models.talker.config.eos_id)
    row.first = following
    row.seen.index_fill_(0, following.code[None], True)
    return outcome[: len(frame)]


class OneByOne:
    """Makes the frames of rows one after another: each call is upstream's for the row alone."""

    def __init__(self, models: Models) -> None:
        self._models = models

    def start(
        self,
        prompt_rows: Tensor,
        n_fixed: int,
        text: TrailingText,
        settings: Settings,
        noise: NoiseSource,
    ) -> EagerRow:
        """An utterance whose prompt rows [T, D] the talker has read.

        Raises: NumericsError: the scores of the first code are not numbers.
        """
        del n_fixed
        return prefill(self._models, prompt_rows, text, settings, noise)

    def next_frames(self, rows: Sequence[Row]) -> list[Outcome]:
        """The next frame [Q] of every row, or why it has none."""
        return [self._next_frame(row) for row in rows]

    def release(self, row: Row) -> None:
        """Nothing: what a row needs, it holds itself."""

    def _next_frame(self, row: Row) -> Outcome:
        assert isinstance(row, EagerRow)
        try:
            return next_frame(row).numpy()
        except NumericsError as error:
            return error
