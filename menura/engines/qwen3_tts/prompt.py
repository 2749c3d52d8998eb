"""What the talker sees before its first frame: a plan of ids, and the rows that it becomes.

The plan needs no weights; training and tests use it alone. A row is the sum of a text part and a
codec part. In order:

    instruction   text                       the style, or the description of a designed voice
    role          text                       the three ids that begin the assistant's turn
    control       tts_pad ... tts_bos        over: think ids with the language, the speaker, pad
    then by layout
      streaming   text[0]                    over bos; one more text id goes with every frame
      whole       text, tts_eos, tts_pad     over: pad for every text id, bos
      in context  transcript + text          beside or before the frames of the reference

Source: Qwen3-TTS technical report, 2026, and what upstream's first forward pass was seen to get.
Legend: T rows, K text rows still to come, Q codebooks, N reference frames, D talker width.
"""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from menura.engines.contract import Prompt, VoicePrompt
from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.errors import InvalidValueError
from menura.speech import FloatArray, Manner
from menura.text.byte_level_bpe import ByteLevelBPE

IN_CONTEXT, X_VECTOR = "in_context", "x_vector"
CODES, EMBEDDING = "codes", "embedding"  # the arrays of a VoicePrompt
N_ROLE_IDS = 3

_START, _END = "<|im_start|>", "<|im_end|>"


class Layout(StrEnum):
    """Where the text stands: beside the frames, one id a frame, or all of it before them."""

    STREAMING = "streaming"
    WHOLE = "whole"


@dataclass(frozen=True)
class Wording:
    """How the text is laid out, and whether `<|im_end|>` and its like in it are control tokens."""

    layout: Layout
    parse_special_tokens: bool = False


@dataclass(frozen=True)
class QwenPrompt(Prompt):
    """The plan of one utterance, all of it ids but the speaker's embedding [D].

    `language` is the name that was looked up: a dialect where the speaker's replaced it.
    `reference_codes` [N, Q] make the prompt an in-context one. `is_open`: text is still to come;
    `is_streamed`: it comes or came in pieces.
    """

    wording: Wording = Wording(Layout.WHOLE)
    instruction_ids: tuple[int, ...] = ()
    role_ids: tuple[int, ...] = ()
    text_ids: tuple[int, ...] = ()
    control_codes: tuple[int, ...] = ()
    language: str | None = None
    speaker_code: int | None = None
    speaker_embedding: FloatArray | None = field(default=None, compare=False)
    reference_ids: tuple[int, ...] = ()
    reference_codes: NDArray[np.int64] | None = field(default=None, compare=False)
    is_open: bool = False
    is_streamed: bool = False


def build(
    text: str | None,
    manner: Manner,
    config: Qwen3TTSConfig,
    tokenizer: ByteLevelBPE,
    wording: Wording,
) -> QwenPrompt:
    """The plan for a text, or for one that comes later in pieces (None; see `text_stream.py`).

    Raises: InvalidValueError: the text comes in pieces and the layout needs all of it at once.
    """
    if text is None and wording.layout is not Layout.STREAMING:
        raise InvalidValueError(
            "non_streaming_mode=True needs the whole text before it speaks; leave it out for a "
            "text that comes in pieces.",
            param="non_streaming_mode",
        )
    voice = manner.voice
    speaker = voice if isinstance(voice, str) else None
    language = _language(manner.language, speaker, config)
    parses = wording.parse_special_tokens
    target = [] if text is None else target_ids(text, tokenizer, parse_special_tokens=parses)
    reference = voice if isinstance(voice, VoicePrompt) and voice.mode == IN_CONTEXT else None
    return QwenPrompt(
        text=text,
        applied={"language": language or "auto", "layout": wording.layout.value},
        wording=wording,
        instruction_ids=_instruction_ids(manner.instruct, config, tokenizer, parses),
        role_ids=tuple(target[:N_ROLE_IDS]),
        text_ids=tuple(target[N_ROLE_IDS:]),
        control_codes=_control_codes(language, config),
        language=language,
        speaker_code=None if speaker is None else config.talker.speaker_ids[speaker],
        speaker_embedding=_embedding(voice),
        reference_ids=_reference_ids(reference, tokenizer, parses),
        reference_codes=_codes(reference),
        is_open=text is None,
        is_streamed=text is None,
    )


def target_ids(text: str, tokenizer: ByteLevelBPE, *, parse_special_tokens: bool) -> list[int]:
    """The ids of the role and of the text, without what ends the turn.

    The ids of the role are the first three whatever the text is: a text that begins with a line
    break can merge with the role's own.
    """
    turn = f"assistant\n{text}"
    if not parse_special_tokens:
        return [tokenizer.special_ids[_START], *tokenizer.encode(turn)]
    tail = tokenizer.encode(f"{_END}\n{_START}assistant\n", parse_special_tokens=True)
    whole = tokenizer.encode(
        f"{_START}{turn}{_END}\n{_START}assistant\n", parse_special_tokens=True
    )
    return whole[: -len(tail)]


def _reference_ids(
    reference: VoicePrompt | None, tokenizer: ByteLevelBPE, parse_special_tokens: bool
) -> tuple[int, ...]:
    """The ids of the transcript alone; the role's are cut off as they are from a text."""
    if reference is None:
        return ()
    said = reference.transcript or ""
    ids = target_ids(said, tokenizer, parse_special_tokens=parse_special_tokens)
    return tuple(ids[N_ROLE_IDS:])


def _instruction_ids(
    instruct: str | None, config: Qwen3TTSConfig, tokenizer: ByteLevelBPE, parse: bool
) -> tuple[int, ...]:
    # parity: the small CustomVoice model drops instructions
    is_dropped = config.variant == "custom_voice" and config.size == "0b6"
    if not instruct or is_dropped:
        return ()
    if parse:
        whole = f"{_START}user\n{instruct}{_END}\n"
        return tuple(tokenizer.encode(whole, parse_special_tokens=True))
    start, end = tokenizer.special_ids[_START], tokenizer.special_ids[_END]
    said = tokenizer.encode(f"user\n{instruct}")
    return (start, *said, end, *tokenizer.encode("\n"))


def _language(asked: str | None, speaker: str | None, config: Qwen3TTSConfig) -> str | None:
    """The language to name: a speaker's dialect stands for Chinese, and where nothing is asked."""
    dialect = config.talker.speaker_dialects.get(speaker or "")
    return dialect if dialect and asked in (None, "chinese") else asked


def _control_codes(language: str | None, config: Qwen3TTSConfig) -> tuple[int, ...]:
    talker = config.talker
    if language is None:
        return (talker.nothink_id, talker.think_bos_id, talker.think_eos_id)
    named = talker.language_ids[language]
    return (talker.think_id, talker.think_bos_id, named, talker.think_eos_id)


def _embedding(voice: str | VoicePrompt | None) -> FloatArray | None:
    if not isinstance(voice, VoicePrompt):
        return None
    return voice.arrays[EMBEDDING].astype(np.float32, copy=False)


def _codes(reference: VoicePrompt | None) -> NDArray[np.int64] | None:
    return None if reference is None else reference.arrays[CODES].astype(np.int64, copy=False)
