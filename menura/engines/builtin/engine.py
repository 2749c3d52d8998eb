"""The voice that speaks at once: wraps the library hibari-tts (Apache-2.0, 24 kHz English).

Source: PyPI hibari-tts 0.2.1. With the same text, speed and seed, a segment's samples are those
that the library gives. One segment is one step. Never imports torch.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from menura.engines.builtin import config
from menura.engines.contract import (
    Capability,
    Delivery,
    EndOfText,
    EngineSpec,
    FinishReason,
    LoadArguments,
    Match,
    NoiseSource,
    Prompt,
    RowStep,
    Stage,
    TensorShapes,
    VoicePrompt,
    Words,
)
from menura.errors import (
    MenuraError,
    ModelFilesError,
    NoAudioError,
    UnsupportedError,
    did_you_mean,
)
from menura.runtime.seeding import SeedNoise
from menura.speech import Manner, Reference
from menura.text.lines import blocks
from menura.text.scripts import RULER

if TYPE_CHECKING:
    from hibari import Hibari
    from torch import nn

_LEADERS = re.compile(r"(?:\s+[.·•*_-]){3,}(?=\s|$)")
_PAUSE_MARKS = ".,;:!?…"
_SESSION_BYTES = 64 * 2**20


@dataclass(frozen=True)
class BuiltinPrompt(Prompt):
    """What the library is given: the text that it reads, the voice and the pace."""

    spoken: str = ""
    voice: str = config.DEFAULT_VOICE
    speed: float = 1.0


class BuiltinEngine:
    """The built-in voice; each voice of the library is a small model, loaded when first used."""

    def __init__(self, here: config.Voices, threads: int) -> None:
        self._here = here
        self._threads = threads
        self._spec = config.spec(here)
        self._voices: dict[str, Hibari] = {}

    @classmethod
    def recognises(cls, folder: Path) -> Match | None:
        """None: the built-in voice is inside its package and claims no folder."""
        del folder
        return None

    @classmethod
    def describe(cls, folder: Path | None, extra: Mapping[str, object]) -> EngineSpec:
        """The spec; `extra` is what `config.Voices.of` reads."""
        del folder
        return config.spec(config.Voices.of(extra))

    @classmethod
    def load(cls, folder: Path | None, arguments: LoadArguments) -> "BuiltinEngine":
        """The engine with its default voice in memory.

        Raises: InvalidValueError: an argument that it does not have; UnsupportedError: a device
            or precision that it cannot run in.
        """
        del folder
        _check_arguments(arguments)
        here = config.Voices.of(arguments.extra)
        engine = cls(here, arguments.threads or 1)
        engine.library_voice(here.default)
        return engine

    @classmethod
    def saved_voices(cls, folder: Path | None, path: Path) -> tuple[VoicePrompt, ...]:
        """Never a voice. Raises: UnsupportedError: it cannot clone."""
        del folder, path
        raise UnsupportedError(
            "the built-in voice cannot speak like a recording, so there are no saved prompts of "
            "it; name the model that the prompts were made with.",
            param="model",
            needs=Capability.CLONE,
        )

    @classmethod
    def tiny(cls, folder: Path) -> Path | None:
        """None: it needs no files."""
        del folder
        return None

    @classmethod
    def expected_tensors(cls, folder: Path) -> Mapping[str, TensorShapes]:
        """None: its weights are the library's own."""
        del folder
        return {}

    @property
    def spec(self) -> EngineSpec:
        """What the built-in voice is and can do."""
        return self._spec

    @property
    def parts(self) -> "Mapping[str, nn.Module]":
        """Nothing: it is not made of torch modules."""
        return {}

    @property
    def stages(self) -> Mapping[Stage, tuple[str, ...]]:
        """Nothing: it has no parts to place."""
        return {}

    @property
    def applied(self) -> Mapping[str, object]:
        """How it runs: on the CPU, with the library's int8 weights."""
        precision = "int8, the library's own weights"
        return {"device": "cpu", "precision": precision, "threads": self._threads}

    def encode_voice(self, reference: Reference, mode: str) -> VoicePrompt:
        """Never a voice. Raises: UnsupportedError: it cannot clone."""
        del reference, mode
        raise UnsupportedError(
            "the built-in voice cannot speak like a recording.",
            param="voice",
            needs=Capability.CLONE,
        )

    def build_prompt(self, text: str | None, manner: Manner) -> BuiltinPrompt:
        """The prompt for one segment.

        Raises: UnsupportedError: the text comes in pieces, which it cannot take.
        """
        if text is None:
            raise UnsupportedError(
                "the built-in voice needs the whole text before it speaks.",
                param="text",
                needs=Capability.STREAM_TEXT,
            )
        plain = _with_plain_digits(_without_rulers(_unwrapped(text)))
        spoken, simplified = _simplify(plain)
        options = manner.options
        if not (isinstance(options, config.GenerationOptions) and options.inline_phonemes):
            spoken = spoken.replace("](", "] (")
        voice = manner.voice if isinstance(manner.voice, str) else self._here.default
        applied = {"read_without_accent": simplified} if simplified else {}
        return BuiltinPrompt(text, applied, spoken=spoken, voice=voice, speed=manner.speed)

    def noise(self, seed: int) -> NoiseSource:
        """The seed, from which the library makes its own generator."""
        return SeedNoise(seed)

    def decoder(self, rows: int) -> "BuiltinDecoder":
        """A decoder that speaks one segment a step for each of its rows."""
        return BuiltinDecoder(self, rows)

    def working_bytes(self, stage: Stage, prompt: Prompt) -> int:
        """An upper estimate of the library's working memory, in bytes."""
        del stage
        return _SESSION_BYTES + 4 * config.SAMPLE_RATE_HZ * len(prompt.text or "")

    def library_voice(self, name: str) -> "Hibari":
        """The library's model of a voice, loaded once. It never downloads: it is given a file."""
        if name not in self._voices:
            from hibari import Hibari  # noqa: PLC0415
            from hibari.voices import VOICES  # noqa: PLC0415

            file = self._here.files.get(name)
            if file is None:
                file = config.package_folder() / "assets" / VOICES[name]["file"]
            if not file.is_file():
                raise ModelFilesError(
                    f"the file of the voice {name!r} is gone; menura models pull builtin-{name}"
                )
            accent = VOICES[name]["british"]
            kin = [v for n, v in self._voices.items() if VOICES[n]["british"] == accent]
            self._voices[name] = Hibari(
                voice=name,
                model=str(file),
                threads=self._threads,
                g2p=kin[0].g2p if kin else None,
            )
        return self._voices[name]


class BuiltinDecoder:
    """Rows of segments that wait to be spoken; a step speaks each of them whole."""

    def __init__(self, engine: BuiltinEngine, rows: int) -> None:
        self._engine = engine
        self._free = list(range(rows))
        self._waiting: dict[int, tuple[BuiltinPrompt, int]] = {}

    @property
    def free_rows(self) -> Sequence[int]:
        """The rows that can be admitted to."""
        return tuple(self._free)

    @property
    def live(self) -> int:
        """How many rows have a segment to speak."""
        return len(self._waiting)

    def admit(self, row: int, prompt: Prompt, noise: NoiseSource, delivery: Delivery) -> None:
        """Put a segment into a free row; it leaves whole, whatever the delivery."""
        del delivery
        assert isinstance(prompt, BuiltinPrompt)
        self._free.remove(row)
        self._waiting[row] = (prompt, noise.seed)

    def extend(self, row: int, more: Words | EndOfText) -> None:
        """Never called: no prompt of this engine has its text to come."""
        raise AssertionError((row, more))

    def step(self) -> list[RowStep]:
        """The whole audio of every waiting segment."""
        steps = [self._speak(row, prompt, seed) for row, (prompt, seed) in self._waiting.items()]
        self._waiting.clear()
        return steps

    def release(self, row: int) -> None:
        """Free the row."""
        self._waiting.pop(row, None)
        if row not in self._free:
            self._free.append(row)

    def _speak(self, row: int, prompt: BuiltinPrompt, seed: int) -> RowStep:
        voice = self._engine.library_voice(prompt.voice)
        try:
            samples = voice(prompt.spoken, speed=prompt.speed, seed=seed)
        except Exception as cause:  # whatever the library raises is this segment's failure alone
            message = f"the built-in voice failed on {prompt.text!r:.80}: {cause}"
            return RowStep(row, finish=FinishReason.ERROR, error=MenuraError(message))
        if len(samples) == 0:
            error = NoAudioError(
                f"the built-in voice finds nothing to read in {prompt.text!r:.80}."
            )
            return RowStep(row, finish=FinishReason.ERROR, error=error)
        return RowStep(row, samples.astype(np.float32, copy=False), finish=FinishReason.STOP)


def _unwrapped(text: str) -> str:
    """The text with a line break only where it means something: the library pauses at each."""
    lines = (text[block.start : block.end] for block in blocks(text))
    return "\n".join(" ".join(line.split()) for line in lines)


def _without_rulers(text: str) -> str:
    """The text without drawn lines ("=====", ". . . ."), which the library reads sign by sign.

    Of a run of marks at which it pauses, three stay.
    """
    drawn = RULER.sub(lambda run: run[1] * 3 if run[1] in _PAUSE_MARKS else " ", text)
    return _LEADERS.sub(" ", drawn)


def _with_plain_digits(text: str) -> str:
    """The text with digits such as those of x₁₂, ⑴ and 2⁻¹ as plain ones.

    The library fails on many of them or drops them; a lone ² or ³ it reads as a power.
    """
    runs = groupby(text, key=lambda character: character.isdigit() and not character.isdecimal())
    pieces: list[str] = []
    for is_odd, characters in runs:
        run = "".join(characters)
        plain = is_odd and run not in ("²", "³")
        pieces.append("".join(str(unicodedata.digit(c)) for c in run) if plain else run)
    return "".join(pieces)


def _simplify(text: str) -> tuple[str, list[str]]:
    """The text with letters that the library would drop put as their base letter, and which."""
    known = config.alphabet()
    letters = [c for c in sorted(set(text)) if c.isalpha() and c not in known]
    simplified: dict[int, str] = {ord(c): base for c in letters if (base := _base(c))}
    return text.translate(simplified), list(map(chr, simplified))


def _base(letter: str) -> str:
    """The letter without its accents, or the empty string where it has none that is known."""
    base = "".join(c for c in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(c))
    return base if all(c in config.alphabet() or not c.isalpha() for c in base) else ""


def _check_arguments(arguments: LoadArguments) -> None:
    for param, value, allowed in (
        ("device", arguments.device, ("auto", "cpu")),
        ("precision", arguments.precision, ("auto", "exact", "int8")),
    ):
        if value not in allowed:
            raise UnsupportedError(
                f"{param} {value!r} is nothing that the built-in voice can run with; it runs with: "
                f"{', '.join(allowed)}.{did_you_mean(value, allowed)}",
                param=param,
            )
