"""The rows of a prompt: the embeddings of its plan, summed as the talker reads them.

Every lookup is called with the shapes that upstream uses, because a matrix product of another
number of rows rounds differently. A text that comes in pieces is looked up id by id instead, so
that its rows do not depend on how it was cut.

Legend: T rows, K text rows, N reference frames, Q codebooks, D talker width.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from menura.engines.qwen3_tts.code_predictor import CodePredictor
from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.engines.qwen3_tts.prompt import Layout, QwenPrompt
from menura.engines.qwen3_tts.talker import Talker


class PromptRows(NamedTuple):
    """The rows [T, D] to read first, and the text rows [K, D] that go with the frames.

    The first `n_fixed` rows depend on no text. `end` [D] closes a text that came in pieces;
    `padding` [D] stands for text after its end.
    """

    rows: Tensor
    n_fixed: int
    trailing: Tensor
    end: Tensor
    padding: Tensor


@torch.inference_mode()
def embed(
    prompt: QwenPrompt,
    config: Qwen3TTSConfig,
    talker: Talker,
    code_predictor: CodePredictor,
    *,
    apart: bool = False,
) -> PromptRows:
    """The rows [T, D] of a plan, and the text rows [K, D] that follow.

    With `apart`, transcript and text are looked up in two calls, so that the transcript's rows are
    the same whatever the text is.
    """
    table = _Table(config, talker, apart=apart)
    head = []
    if prompt.instruction_ids:
        head.append(table.text(prompt.instruction_ids))
    head += [table.text(prompt.role_ids), _control_rows(prompt, table)]
    if prompt.reference_codes is not None:
        frames = _frame_rows(prompt, table, code_predictor)
        body, trailing = _in_context(prompt, table, frames)
    elif prompt.wording.layout is Layout.STREAMING:
        body, trailing = _streaming(prompt, table)
    else:
        body, trailing = _whole(prompt, table)
    rows = torch.cat([*head, body])
    n_fixed = min(sum(map(len, head)) + _n_fixed_in_context(prompt), len(rows) - 1)
    return PromptRows(rows, n_fixed, trailing, table.eos[0], table.pad[0])


@torch.inference_mode()
def embed_more(ids: Sequence[int], talker: Talker) -> Tensor:
    """The rows [K, D] of K text ids that came later, each looked up alone."""
    none = talker.no_rows()
    return torch.cat(
        [none, *(talker.embed_text(torch.tensor([[i]], device=none.device))[0] for i in ids)]
    )


class _Table:
    """The lookups of one prompt; `bos`, `eos` and `pad` [1, D] come from a single one."""

    def __init__(self, config: Qwen3TTSConfig, talker: Talker, *, apart: bool) -> None:
        self.talker = talker
        self.apart = apart
        self.config = config
        specials = self.text((config.tts_bos_id, config.tts_eos_id, config.tts_pad_id))
        self.bos, self.eos, self.pad = specials[:1], specials[1:2], specials[2:]

    def text(self, ids: Sequence[int]) -> Tensor:
        """The rows [K, D] of text ids, looked up together."""
        rows: Tensor = self.talker.embed_text(self.ids([ids]))[0]
        return rows

    def text_of(self, prompt: QwenPrompt, *parts: Sequence[int]) -> Tensor:
        """The rows [K, D] of ids of the prompt's text, together or, if it is streamed, alone."""
        ids = [i for part in parts for i in part]
        if prompt.is_streamed and ids:
            return embed_more(ids, self.talker)
        return torch.cat([self.text(part) for part in parts]) if self.apart else self.text(ids)

    def codes(self, codes: Sequence[int]) -> Tensor:
        """The rows [K, D] of first codes or control ids."""
        rows: Tensor = self.talker.embed_code(self.ids([codes]))[0]
        return rows

    def ids(self, values: Sequence[Sequence[int]]) -> Tensor:
        """The values as a tensor [1, K] where the weights are."""
        return torch.tensor(values, dtype=torch.long, device=self.talker.no_rows().device)


def _control_rows(prompt: QwenPrompt, table: _Table) -> Tensor:
    """Think ids, speaker and codec pad under tts_pad, the last of them under tts_bos."""
    codec = [table.codes(prompt.control_codes)]
    if prompt.speaker_code is not None:
        codec.append(table.codes([prompt.speaker_code]))
    if prompt.speaker_embedding is not None:
        codec.append(torch.from_numpy(prompt.speaker_embedding)[None].to(codec[0]))
    codec.append(table.codes([table.config.talker.pad_id]))
    below = torch.cat(codec)
    above = torch.cat([table.pad.expand(len(below) - 1, -1), table.bos])
    return above + below


def _streaming(prompt: QwenPrompt, table: _Table) -> tuple[Tensor, Tensor]:
    # parity: an empty text speaks the id that ends the turn
    first = table.text(prompt.text_ids[:1] or [table.config.im_end_id])
    trailing = table.text_of(prompt, prompt.text_ids[1:])
    if not prompt.is_open:
        trailing = torch.cat([trailing, table.eos])
    return first + table.codes([table.config.talker.bos_id]), trailing


def _whole(prompt: QwenPrompt, table: _Table) -> tuple[Tensor, Tensor]:
    talker = table.config.talker
    text = torch.cat([table.text(prompt.text_ids), table.eos])
    below = table.codes([talker.pad_id] * len(text))
    start = table.pad + table.codes([talker.bos_id])
    return torch.cat([text + below, start]), table.pad


def _in_context(prompt: QwenPrompt, table: _Table, frames: Tensor) -> tuple[Tensor, Tensor]:
    """Transcript and text beside the reference's frames, or before them."""
    text = table.text_of(prompt, prompt.reference_ids, prompt.text_ids)
    if not prompt.is_open:
        text = torch.cat([text, table.eos])
    if prompt.wording.layout is Layout.WHOLE:
        below = table.codes([table.config.talker.pad_id] * len(text))
        return torch.cat([text + below, frames + table.pad]), table.pad
    if prompt.is_open or len(text) > len(frames):  # an open one has at least as many
        return text[: len(frames)] + frames, text[len(frames) :]
    missing = len(frames) - len(text)
    return torch.cat([text, table.pad.expand(missing, -1)]) + frames, table.pad


def _n_fixed_in_context(prompt: QwenPrompt) -> int:
    """How many rows after the head hold only the reference: its transcript comes first."""
    codes, n_ids = prompt.reference_codes, len(prompt.reference_ids)
    if codes is None or prompt.wording.layout is Layout.WHOLE:
        return n_ids
    return min(n_ids, len(codes) + 1)


def _frame_rows(prompt: QwenPrompt, table: _Table, code_predictor: CodePredictor) -> Tensor:
    """The start of speech, then the reference's frames, each the sum of its codes [N + 1, D]."""
    assert prompt.reference_codes is not None
    start = table.codes([table.config.talker.bos_id])
    codes = torch.from_numpy(prompt.reference_codes).to(start.device)
    others = (
        code_predictor.embed(codebook, codes[:, codebook : codebook + 1])
        for codebook in range(1, codes.shape[1])
    )
    embedded = torch.cat([table.talker.embed_code(codes[:, :1]), *others], dim=1)
    return torch.cat([start, embedded.sum(dim=1)])
