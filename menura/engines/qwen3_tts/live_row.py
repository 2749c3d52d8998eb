"""One utterance on its way through a decoder: text in, a frame a step, samples out.

Legend: T frames, Q codebooks, n samples.
"""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from menura.engines.contract import (
    Delivery,
    EndOfText,
    FinishReason,
    NoiseSource,
    Prompt,
    RowStep,
    Words,
)
from menura.engines.qwen3_tts.codec import CodeArray, Codec
from menura.engines.qwen3_tts.codec_helper import CodecHelper
from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.engines.qwen3_tts.generate import Models
from menura.engines.qwen3_tts.options import Generation
from menura.engines.qwen3_tts.playout import (
    ChunkedPlayout,
    Piece,
    Playout,
    ReferenceStreams,
    WholePlayout,
)
from menura.engines.qwen3_tts.prompt import QwenPrompt
from menura.engines.qwen3_tts.prompt_rows import PromptRows, embed, embed_more
from menura.engines.qwen3_tts.prompt_stream import PromptStream
from menura.engines.qwen3_tts.utterance_row import FrameMaker, Row, TrailingText
from menura.engines.qwen3_tts.watchdog import Watchdog
from menura.errors import MenuraError
from menura.text.byte_level_bpe import ByteLevelBPE
from menura.text.duration import expected_seconds

_ALL_AT_ONCE = Delivery()


@dataclass(frozen=True, kw_only=True)
class Utterance(Prompt):
    """One utterance to be made: what the talker sees, and how codes are chosen."""

    plan: QwenPrompt
    generation: Generation


@dataclass(frozen=True)
class Loaded:
    """A loaded model as its rows need it. `is_exact`: upstream's calls, and no watchdog.

    `apart`: prompts that begin alike have rows that begin alike, whatever the text is. `helper`:
    who decodes pieces beside the talker, where that pays.
    """

    config: Qwen3TTSConfig
    tokenizer: ByteLevelBPE
    models: Models
    frames: FrameMaker
    codec: Codec
    references: ReferenceStreams
    is_exact: bool
    apart: bool = False
    helper: CodecHelper | None = None


class LiveRow:
    """One utterance: what it waits for, where its codes stand, and what is not handed over yet."""

    def __init__(
        self, loaded: Loaded, utterance: Utterance, noise: NoiseSource, delivery: Delivery
    ) -> None:
        plan = utterance.plan
        self.is_over = False
        self._loaded = loaded
        self._utterance = utterance
        self._noise = noise
        self._streams = delivery != _ALL_AT_ONCE
        self._playout = _playout(loaded, utterance, delivery)
        self._held: list[Piece] = []
        self._watchdog = None if loaded.is_exact else Watchdog(loaded.codec.config.frame_rate_hz)
        self._text = PromptStream(plan, loaded.tokenizer) if plan.is_open else None
        self._heard = utterance.text or ""
        self._plan = None if plan.is_open else plan
        self._row: Row | None = None
        self._embedded: PromptRows | None = None
        if not plan.is_open:
            self._expect_all()

    @property
    def can_move(self) -> bool:
        """Whether a step gives a frame: not over, and as much text is here as the frame needs."""
        if self.is_over:
            return False
        return self._plan is not None if self._row is None else self._row.can_move

    def extend(self, more: Words | EndOfText) -> None:
        """Take in words of a text that comes in pieces, or its end."""
        if self.is_over:
            return
        assert self._text is not None, "the text was complete"
        if isinstance(more, Words):
            self._heard += more.text
            self._text.add(more.text)
        else:
            self._text.close()
            self._expect_all()
        if self._plan is None:
            self._plan = self._text.start()
        elif self._row is not None:
            self._feed(self._row)

    def ready(self) -> Row | None:
        """The row, after its prompt was read, if a frame of it can be made now.

        Raises: NumericsError: the model's scores are not numbers.
        """
        if self._row is None:
            self._row = self._start()
        return self._row if self._row.can_move else None  # else the second word is missing

    def hand_over(self, row: int, frame: CodeArray) -> RowStep | None:
        """What is handed over after a frame [Q]: samples [n] and frames [T, Q], or nothing yet."""
        assert self._row is not None
        finish = self._row.finish
        is_followed = self._row.can_move
        pieces = [self._playout.add(frame, is_followed=is_followed)]
        reason = self._alarm(int(frame[0])) if finish is None else ""
        if reason:
            finish = FinishReason.LENGTH
        elif finish is FinishReason.LENGTH:
            limit = self._utterance.generation.settings.max_new_tokens
            reason = f"it reached max_new_tokens={limit}"
        if finish is not None:
            self.is_over = True
            pieces.append(self._playout.close())
        elif not is_followed:  # the next frame waits for text, and what is heard must not
            pieces.append(self._playout.flush())
        self._held += [piece for piece in pieces if piece is not None]
        if not self._held or not (self._streams or self.is_over):
            return None
        samples = np.concatenate([piece.samples for piece in self._held])
        frames = np.concatenate([piece.frames for piece in self._held])
        self._held = []
        return RowStep(row, samples, frames, finish, reason=reason)

    def fail(self, row: int, error: MenuraError) -> list[RowStep]:
        """The end by an error, after what was due before it in a stream."""
        self.is_over = True
        end = RowStep(row, finish=FinishReason.ERROR, error=error)
        due: Piece | None = None
        with suppress(MenuraError):  # one error is told
            due = self._playout.flush() if self._streams else None
        return [end] if due is None else [RowStep(row, due.samples, due.frames), end]

    def release(self) -> None:
        """Give back what the frame maker holds for it."""
        self.is_over = True
        self._playout.drop()
        if self._row is not None:
            self._loaded.frames.release(self._row)
            self._row = None

    def _start(self) -> Row:
        """The row after the talker has read its prompt."""
        plan, loaded = self._plan, self._loaded
        assert plan is not None
        talker, predictor = loaded.models.talker, loaded.models.code_predictor
        rows = embed(plan, loaded.config, talker, predictor, apart=loaded.apart)
        text = TrailingText(rows.trailing, rows.padding, is_closed=not plan.is_open)
        settings = self._utterance.generation.settings
        row = self._loaded.frames.start(rows.rows, rows.n_fixed, text, settings, self._noise)
        if plan.is_open:
            self._embedded = rows
            self._feed(row)
        return row

    def _feed(self, row: Row) -> None:
        """Give the row the text rows that became certain, and the end of the text."""
        assert self._text is not None
        assert self._embedded is not None
        if ids := self._text.take():
            row.text.append(embed_more(ids, self._loaded.models.talker))
        if self._text.is_complete:
            row.text.append(self._embedded.end[None])
            row.text.close()

    def _alarm(self, first_code: int) -> str:
        """Why the watchdog says that the utterance should end with this frame; else empty."""
        if self._watchdog is None:
            return ""
        self._watchdog.note(first_code)
        settled = self._playout.settled()
        if settled is not None:
            self._watchdog.hear(settled, self._loaded.codec.sample_rate_hz)
        return self._watchdog.alarm

    def _expect_all(self) -> None:
        """Tell the watchdog how long the whole text should take; the caller's own limit wins."""
        if self._watchdog is not None and not self._utterance.generation.limit_is_given:
            self._watchdog.expect(expected_seconds(self._heard))


def _playout(loaded: Loaded, utterance: Utterance, delivery: Delivery) -> Playout:
    """Upstream's whole decode where exactness asks for it, else pieces as they are due."""
    reference = utterance.plan.reference_codes
    if loaded.is_exact and delivery == _ALL_AT_ONCE:
        return WholePlayout(loaded.codec, reference)
    generation = utterance.generation
    return ChunkedPlayout(
        loaded.references.start(reference),
        delivery.first_chunk_frames or generation.first_chunk_frames,
        delivery.chunk_frames or generation.chunk_frames,
        loaded.helper,
    )
