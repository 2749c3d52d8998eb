"""An engine for tests: it speaks each word as its own tone, so what is heard says whose text it is.

It is found by a real entry point (`menura_tone-1.0.dist-info` beside this file). A frame is 0.1 s.
A word takes as many frames as the option `frames_per_word` says. Some words misbehave: see `Word`.
"""

import json
import zlib
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from menura.engines.contract import (
    Capability,
    Delivery,
    EndOfText,
    EngineSpec,
    FinishReason,
    LoadArguments,
    Match,
    NoiseSource,
    PresetVoice,
    Prompt,
    ReferenceRules,
    RowStep,
    Stage,
    TensorShapes,
    TranscriptUse,
    VoicePrompt,
    Words,
)
from menura.errors import InvalidValueError, MenuraError, UnsupportedError
from menura.options import Options, option
from menura.runtime.seeding import SeedNoise
from menura.speech import FloatArray, Manner, Reference

if TYPE_CHECKING:
    from torch import nn

RATE_HZ = 8_000
FRAME = 800
N_DELAY_STEPS = 3


RULES = ReferenceRules(
    transcript=TranscriptUse.BETTER,
    shortest_s=0.1,
    good_s=(0.5, 30.0),
    best_s=(1.0, 15.0),
    longest_s=60.0,
    way_with="x_vector",
    way_without="x_vector",
)


class Word(StrEnum):
    """Words that misbehave when they are reached."""

    FAIL = "FAIL"  # the row ends with an error
    NAN = "NAN"  # the samples are not numbers
    ENDLESS = "ENDLESS"  # the row never ends
    CRASH = "CRASH"  # the whole step raises
    LIMIT = "LIMIT"  # the row ends at a limit
    DELAY = "DELAY"  # some steps give nothing for this row
    TOIL = "TOIL"  # some steps only say how far the row is
    SILENT = "SILENT"  # the row ends without a sample
    REFUSED = "REFUSED"  # the prompt cannot be built
    UNLUCKY = "UNLUCKY"  # as LIMIT where the row's seed is odd, else a word like others
    UNSOUND = "UNSOUND"  # as NAN where the row's seed is odd, else a word like others
    MUTE = "MUTE"  # as SILENT where the row's seed is odd, else a word like others


BY_SEED = {Word.UNLUCKY: Word.LIMIT, Word.UNSOUND: Word.NAN, Word.MUTE: Word.SILENT}
MISBEHAVIOUR = {
    Word.FAIL: RowStep(0, finish=FinishReason.ERROR, error=MenuraError("this word fails.")),
    Word.NAN: RowStep(0, np.full(FRAME, np.nan, np.float32)),
    Word.SILENT: RowStep(0, finish=FinishReason.STOP),
}


@dataclass(frozen=True)
class ToneOptions(Options):
    frames_per_word: int = option(2, minimum=1, maximum=50, help="How long a word sounds.")
    loudness: float = option(0.5, minimum=0.0, maximum=1.0, help="The level of the tones.")
    colour: str = option("sine", choices=("sine", "square"), help="The shape of the tones.")
    chunk_frames: int = option(4, minimum=1, help="Frames in each chunk after the first.")
    retries: int = option(0, minimum=0, help="How often to draw a segment again that went wrong.")
    continue_segments: bool = option(False, help="Go on from the segment before.")


@dataclass(frozen=True)
class TonePrompt(Prompt):
    options: ToneOptions = field(default_factory=ToneOptions)


def tone_hz(word: str) -> int:
    """The word's own tone, a multiple of 10 Hz, so that a frame holds whole periods."""
    return 400 + 10 * (zlib.crc32(word.encode()) % 300)


def heard_hz(samples: FloatArray) -> list[int]:
    """The tone of each frame of samples [n], by its spectrum's peak."""
    frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME)
    return [int(np.abs(np.fft.rfft(frame)).argmax()) * RATE_HZ // FRAME for frame in frames]


class ToneEngine:
    def __init__(self, max_rows: int = 4) -> None:
        self._max_rows = max_rows
        self.decoders: list[ToneDecoder] = []

    @classmethod
    def recognises(cls, folder: Path) -> Match | None:
        return Match("tone", "it holds tone.json") if (folder / "tone.json").is_file() else None

    @classmethod
    def describe(cls, folder: Path | None, extra: Mapping[str, object]) -> EngineSpec:
        return cls().spec

    @classmethod
    def load(cls, folder: Path | None, arguments: LoadArguments) -> "ToneEngine":
        if arguments.extra:
            raise InvalidValueError(f"the tone engine knows no {', '.join(arguments.extra)}.")
        return cls()

    @classmethod
    def saved_voices(cls, folder: Path | None, path: Path) -> tuple[VoicePrompt, ...]:
        if not path.read_bytes().startswith(b"tone"):
            raise InvalidValueError(f"{path} holds no tone voices.", param="voice")
        levels = {"embedding": np.array([0.25], np.float32)}
        return (VoicePrompt("tone", "1", "x_vector", levels),)

    @classmethod
    def tiny(cls, folder: Path) -> Path | None:
        (folder / "tone.json").write_text(json.dumps({"tone": 1}))
        return folder

    @classmethod
    def expected_tensors(cls, folder: Path) -> Mapping[str, TensorShapes]:
        return {}

    @property
    def spec(self) -> EngineSpec:
        return EngineSpec(
            engine="tone",
            model="tone",
            variant="tone",
            sample_rate_hz=RATE_HZ,
            frame_rate_hz=RATE_HZ / FRAME,
            languages=("english", "chinese"),
            voices=(PresetVoice("low", ("english",)), PresetVoice("high", ("chinese",))),
            default_voice="low",
            options=ToneOptions,
            capabilities=frozenset({Capability.CLONE, Capability.STREAM_TEXT}),
            max_continued_s=5.0,
            max_rows=self._max_rows,
            reference=RULES,
            fingerprint="1",
        )

    @property
    def parts(self) -> "Mapping[str, nn.Module]":
        return {}

    @property
    def stages(self) -> Mapping[Stage, tuple[str, ...]]:
        return {}

    @property
    def applied(self) -> Mapping[str, object]:
        return {"device": "cpu"}

    def encode_voice(self, reference: Reference, mode: str) -> VoicePrompt:
        if mode not in ("auto", "x_vector"):
            raise UnsupportedError(f"mode {mode!r} is not one of: auto, x_vector.", param="mode")
        loudness = np.sqrt(np.mean(reference.samples**2, keepdims=True))
        return VoicePrompt("tone", "1", "x_vector", {"embedding": loudness}, reference.transcript)

    def build_prompt(self, text: str | None, manner: Manner) -> TonePrompt:
        if text is not None and Word.REFUSED in text:
            raise UnsupportedError("the tone engine refuses this segment.", param="text")
        assert isinstance(manner.options, ToneOptions)
        applied: dict[str, object] = {"tones": True}
        if manner.before is not None:
            assert manner.before.frames.ndim == 2
            applied["went_on_from"] = [f"{manner.before.text} {len(manner.before.frames)}"]
        return TonePrompt(text, applied, options=manner.options)

    def noise(self, seed: int) -> NoiseSource:
        return SeedNoise(seed)

    def decoder(self, rows: int) -> "ToneDecoder":
        self.decoders.append(ToneDecoder(rows))
        return self.decoders[-1]

    def working_bytes(self, stage: Stage, prompt: Prompt) -> int:
        return FRAME * 4


@dataclass
class _Row:
    """One utterance: the words that are certain, and the frames that are not handed over yet."""

    options: ToneOptions
    noise: NoiseSource
    delivery: Delivery
    words: deque[str]
    complete: bool
    uncertain: str = ""
    frame_of_word: int = 0
    delay: int = 0
    handed_over: bool = False
    samples: list[FloatArray] = field(default_factory=list)
    frames: list[tuple[int, int]] = field(default_factory=list)

    @property
    def can_move(self) -> bool:
        return bool(self.words) or self.complete

    def next_frame(self, word: str) -> None:
        level = self.options.loudness * (1 + 0.1 * float(self.noise.draw("level", (1,))[0]))
        phase = 2 * np.pi * tone_hz(word) / RATE_HZ * np.arange(FRAME)
        wave = np.sin(phase) if self.options.colour == "sine" else np.sign(np.sin(phase))
        self.samples.append((level * wave).astype(np.float32))
        self.frames.append((tone_hz(word), round(1000 * level)))
        self.frame_of_word += 1
        if self.frame_of_word == self.options.frames_per_word:
            self.frame_of_word = 0
            self.words.popleft()

    def hand_over(self, row: int, finish: FinishReason | None) -> list[RowStep]:
        first = self.delivery.first_chunk_frames
        due = self.delivery.chunk_frames if self.handed_over else first
        if finish is None and (due is None or len(self.samples) < due):
            return []
        samples = np.concatenate(self.samples) if self.samples else None
        frames = np.array(self.frames, np.int64) if self.frames else None
        self.samples, self.frames, self.handed_over = [], [], True
        return [RowStep(row, samples, frames, finish)]


class ToneDecoder:
    def __init__(self, rows: int) -> None:
        self.n_steps = 0
        self._rows: dict[int, _Row | None] = dict.fromkeys(range(rows))

    @property
    def free_rows(self) -> Sequence[int]:
        return [row for row, state in self._rows.items() if state is None]

    @property
    def live(self) -> int:
        return sum(state is not None and state.can_move for state in self._rows.values())

    def admit(self, row: int, prompt: Prompt, noise: NoiseSource, delivery: Delivery) -> None:
        assert self._rows[row] is None, f"row {row} is taken"
        assert isinstance(prompt, TonePrompt)
        words = deque((prompt.text or "").split())
        self._rows[row] = _Row(prompt.options, noise, delivery, words, prompt.text is not None)

    def extend(self, row: int, more: Words | EndOfText) -> None:
        state = self._rows[row]
        assert state is not None
        if isinstance(more, EndOfText):
            state.words.extend(state.uncertain.split())
            state.complete = True
            return
        *certain, state.uncertain = (state.uncertain + more.text).split(" ")
        state.words.extend(word for word in certain if word)

    def step(self) -> list[RowStep]:
        self.n_steps += 1
        return [
            step
            for row, state in self._rows.items()
            if state is not None and state.can_move
            for step in self._step(row, state)
        ]

    def release(self, row: int) -> None:
        self._rows[row] = None

    def _step(self, row: int, state: _Row) -> list[RowStep]:
        if not state.words:
            return state.hand_over(row, FinishReason.STOP)
        word = state.words[0]
        if word in BY_SEED and state.noise.seed % 2:
            word = BY_SEED[Word(word)]
        if word == Word.DELAY and state.delay < N_DELAY_STEPS:
            state.delay += 1
            return []
        if word == Word.TOIL and state.delay < N_DELAY_STEPS:
            state.delay += 1
            return [RowStep(row, done=state.delay / (N_DELAY_STEPS + 1))]
        if word == Word.CRASH:
            raise RuntimeError("the whole step crashed")
        if word == Word.LIMIT:
            return state.hand_over(row, FinishReason.LENGTH)
        if word in MISBEHAVIOUR:
            return [replace(MISBEHAVIOUR[Word(word)], row=row)]
        state.next_frame(word)
        if word == Word.ENDLESS and state.frame_of_word == 0:
            state.words.appendleft(word)
        return state.hand_over(row, None)
