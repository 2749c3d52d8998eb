"""What an engine is: the one interface behind which every model stands.

An engine describes itself (`EngineSpec`), turns a reference into a `VoicePrompt` and a text into a
`Prompt`, and gives a `Decoder`, whose rows are the live utterances. Nothing here needs torch.

Shapes: n samples of one channel, T model frames, Q codebooks, C latent channels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from menura.engines.engine_spec import Capability, EngineSpec, PresetVoice
from menura.engines.reference_rules import ReferenceRules, TranscriptUse
from menura.errors import MenuraError
from menura.speech import FinishReason, FloatArray, Frames, Manner, Reference

if TYPE_CHECKING:
    from torch import Tensor, nn

__all__ = [
    "Capability", "Decoder", "Delivery", "EndOfText", "Engine", "EngineClass", "EngineSpec",
    "FinishReason", "LoadArguments", "Match", "NoiseSource", "PresetVoice", "Prompt",
    "ReferenceRules", "RowStep", "Stage", "TensorShapes", "TranscriptUse", "VoicePrompt", "Words",
]  # fmt: skip


# Tensor -> shape; None where a tensor may be in the file, of any shape, or not.
TensorShapes = Mapping[str, tuple[int, ...] | None]


class Stage(StrEnum):
    """The parts of the work that may stand on the device at different times."""

    VOICE = "voice"
    GENERATE = "generate"
    AUDIO = "audio"


@dataclass(frozen=True, eq=False)
class VoicePrompt:
    """What one engine made of a reference: named arrays, and the weights that they belong to."""

    engine: str
    fingerprint: str
    mode: str
    arrays: Mapping[str, NDArray[np.generic]]
    transcript: str | None = None


@dataclass(frozen=True)
class Prompt:
    """What the model sees for one segment: engines add their ids and masks. Needs no weights.

    `applied` says what is really used; its lists are joined over the segments. `text` is None
    where the text comes later, in pieces. `sampled_s` is the audio that the model makes for it in
    any case, what follows the speech's end included; None where its length is not fixed before.
    """

    text: str | None
    applied: Mapping[str, object] = field(default_factory=dict)
    sampled_s: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class Delivery:
    """How often a row hands over samples: the frames in its first and in its later chunks.

    `None` means once, when the row has ended.
    """

    first_chunk_frames: int | None = None
    chunk_frames: int | None = None


@dataclass(frozen=True)
class Words:
    """A further piece of a text that comes while it is spoken."""

    text: str


@dataclass(frozen=True)
class EndOfText:
    """The text that came in pieces is complete."""


@dataclass(frozen=True, eq=False)
class RowStep:
    """What one step gave for one row: samples [n], frames [T, Q] or [T, C], and how it ended.

    `finish` is None while the row goes on; with `FinishReason.ERROR`, `error` says why. With
    `FinishReason.LENGTH`, `reason` may say in words which limit it was. `done` is the share of the
    row's work that is done, where it is known; `trimmed_s` the audio after the speech's end that
    was left out.
    """

    row: int
    samples: FloatArray | None = None
    frames: Frames | None = None
    finish: FinishReason | None = None
    error: MenuraError | None = None
    reason: str = ""
    done: float | None = None
    trimmed_s: float = 0.0

    @property
    def is_news(self) -> bool:
        """Whether it only says how far the row is: nothing to be heard, and it goes on."""
        return self.samples is None and self.frames is None and self.finish is None


class NoiseSource(Protocol):
    """All the randomness of one row, so that a row's draws never depend on its neighbours."""

    @property
    def seed(self) -> int:
        """The seed behind the draws."""
        ...

    def draw(self, name: str, shape: tuple[int, ...]) -> "FloatArray | Tensor":
        """The next numbers [shape] of the named stream; the name decides their distribution."""
        ...


class Decoder(Protocol):
    """Rows of live utterances that move together, one step at a time."""

    @property
    def free_rows(self) -> Sequence[int]:
        """The rows that can be admitted to."""
        ...

    @property
    def live(self) -> int:
        """How many rows can move now: a row that waits for words cannot."""
        ...

    def admit(self, row: int, prompt: Prompt, noise: NoiseSource, delivery: Delivery) -> None:
        """Put an utterance into a free row; if this raises, the row stays free."""
        ...

    def extend(self, row: int, more: Words | EndOfText) -> None:
        """Add words to a row whose prompt had no text; only where `spec.streams_text`."""
        ...

    def step(self) -> list[RowStep]:
        """Move every row that can move by one step. One row's failure is that row's `error`."""
        ...

    def release(self, row: int) -> None:
        """Free the row at once, whatever its state; a free row stays free."""
        ...


class Engine(Protocol):
    """A loaded model."""

    @property
    def spec(self) -> EngineSpec:
        """What this model is and can do."""
        ...

    @property
    def parts(self) -> Mapping[str, "nn.Module"]:
        """The model's modules by name; empty where the model is not made of torch modules."""
        ...

    @property
    def stages(self) -> Mapping[Stage, tuple[str, ...]]:
        """The parts that each stage needs on the device."""
        ...

    @property
    def applied(self) -> Mapping[str, object]:
        """How the model runs: device, precision, threads, and every fallback that was taken."""
        ...

    def encode_voice(self, reference: Reference, mode: str) -> VoicePrompt:
        """The voice of a recording. Raises: UnsupportedError where the model cannot clone."""
        ...

    def build_prompt(self, text: str | None, manner: Manner) -> Prompt:
        """The prompt for one segment; `text` is None where the words come later by `extend`."""
        ...

    def noise(self, seed: int) -> NoiseSource:
        """The row's randomness for a seed."""
        ...

    def decoder(self, rows: int) -> Decoder:
        """A decoder with this many rows, all free."""
        ...

    def working_bytes(self, stage: Stage, prompt: Prompt) -> int:
        """The memory that the stage needs for this prompt beside the weights, in bytes."""
        ...


@dataclass(frozen=True)
class LoadArguments:
    """How to load a model. `extra` are the engine's own arguments, such as a second folder."""

    device: str = "auto"
    precision: str = "auto"
    threads: int | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Match:
    """An engine's claim that it can load a folder, with the reason in words."""

    engine: str
    reason: str


class EngineClass(Protocol):
    """What a registry entry names: a class that finds, describes and loads its models."""

    @classmethod
    def recognises(cls, folder: Path) -> Match | None:
        """The claim on a folder, from names, headers and config alone; None if not its own.

        Raises: ModelFilesError: it is a part of such a model, and no model by itself.
        """
        ...

    @classmethod
    def describe(cls, folder: Path | None, extra: Mapping[str, object]) -> EngineSpec:
        """The spec of a model without loading its weights.

        `folder` is None for a model inside a package; `extra` are the arguments of `load`.
        """
        ...

    @classmethod
    def load(cls, folder: Path | None, arguments: LoadArguments) -> Engine:
        """The loaded model. Raises: InvalidValueError, ModelFilesError."""
        ...

    @classmethod
    def saved_voices(cls, folder: Path | None, path: Path) -> tuple[VoicePrompt, ...]:
        """The voices of the file at `path`, which the model's own tools saved; at least one.

        They are checked against the model in `folder`, whose weights are not read. Nothing of the
        file runs in this process. Raises: UnsupportedError: there are no such files for this model;
        InvalidValueError: this is none, or it is not sound; ModelFilesError.
        """
        ...

    @classmethod
    def tiny(cls, folder: Path) -> Path | None:
        """The folder, after the smallest loadable checkpoint was written into it, for tests.

        None where the engine needs no files.
        """
        ...

    @classmethod
    def expected_tensors(cls, folder: Path) -> Mapping[str, TensorShapes]:
        """Weights file (a path inside the folder) -> the tensors that the model needs in it.

        Read from the configuration files alone, so that a check needs no memory for weights. Empty
        where the engine has no safetensors files. Raises: ModelFilesError: a file is wrong.
        """
        ...
