"""A prompt whose text comes in pieces: begun as soon as enough ids are certain, extended after.

A row can start when its first text row is known; with a reference beside the text, when there are
as many text rows as reference rows. Then one text id goes with every frame.
"""

from dataclasses import replace

from menura.engines.qwen3_tts.prompt import N_ROLE_IDS, QwenPrompt, target_ids
from menura.text.byte_level_bpe import ByteLevelBPE, TextStream


class PromptStream:
    """The ids of an open prompt's text, in the order: `add` and `close`, `start` once, `take`."""

    def __init__(self, prompt: QwenPrompt, tokenizer: ByteLevelBPE) -> None:
        assert prompt.is_open
        parses = prompt.wording.parse_special_tokens
        self._prompt = prompt
        self._text = TextStream(tokenizer, parse_special_tokens=parses)
        head = target_ids("", tokenizer, parse_special_tokens=False)
        self._ids = [*head[:1], *self._text.add("assistant\n")]
        self.is_complete = False

    def add(self, piece: str) -> None:
        """Take in a further piece of the text."""
        self._ids += self._text.add(piece)

    def close(self) -> None:
        """Take in that the text has ended."""
        self._ids += self._text.close()
        self.is_complete = True

    def start(self) -> QwenPrompt | None:
        """The prompt with the text so far, or None while it cannot start. It is given once."""
        if not self.is_complete and len(self._ids) < N_ROLE_IDS + self._n_to_start():
            return None
        ids = self.take()
        return replace(
            self._prompt,
            role_ids=ids[:N_ROLE_IDS],
            text_ids=ids[N_ROLE_IDS:],
            is_open=not self.is_complete,
        )

    def take(self) -> tuple[int, ...]:
        """The ids that became certain since the last time."""
        ids, self._ids = tuple(self._ids), []
        return ids

    def _n_to_start(self) -> int:
        """The text ids that must be known first: one, or as many as the reference has rows."""
        codes = self._prompt.reference_codes
        if codes is None:
            return 1
        return max(0, len(codes) + 1 - len(self._prompt.reference_ids))
