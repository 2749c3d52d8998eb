"""What both sides are asked to speak: 32 single requests, 4 batches, and the parts alone.

Every case is plain data, so that it can be handed to upstream's process as JSON.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

EN = "Hello world, this is a small voice test."
ZH = "你好，世界。今天天气很好，我们一起去公园散步吧！"
MIXED = "The iPhone 2024, don't worry: 你好 OpenAI!"
FOX = "The quick brown fox jumps over the lazy dog."
PATHS = " path/to/file HelloWorld"
LONG = f"{ZH} {MIXED} {EN} {ZH}"
CALM = "speak with a warm and calm voice"
RATE_HZ = 24_000
MAX_NEW_TOKENS = 41

Kind = Literal["base", "custom_voice", "voice_design"]


@dataclass(frozen=True)
class Checkpoint:
    """One random model in the published layout: which, how large, whether it ever ends."""

    kind: Kind
    size: Literal["0b6", "1b7"]
    endless: bool = False
    full_vocabulary: bool = False


CHECKPOINTS: Mapping[str, Checkpoint] = {
    "base-1b7": Checkpoint("base", "1b7"),
    "base-0b6": Checkpoint("base", "0b6"),
    "custom-1b7": Checkpoint("custom_voice", "1b7"),
    "custom-0b6": Checkpoint("custom_voice", "0b6"),
    "design-1b7": Checkpoint("voice_design", "1b7"),
    "endless-1b7": Checkpoint("custom_voice", "1b7", endless=True),
    "fullvocab-0b6": Checkpoint("custom_voice", "0b6", full_vocabulary=True),
}


@dataclass(frozen=True)
class Line:
    """One text and how it is spoken: by a preset (`voice`), like a clip, or as described."""

    text: str
    voice: str | None = None
    clip: str | None = None
    transcript: str | None = None
    x_vector: bool = False
    language: str | None = None
    instruct: str | None = None


@dataclass(frozen=True)
class Case:
    """One call of upstream: a line, or several lines in one batch.

    `cached`: the clip is encoded before the call, as upstream's own voice prompt.
    """

    name: str
    checkpoint: str
    lines: tuple[Line, ...]
    asked: Mapping[str, bool | int | float] = field(default_factory=dict)
    seed: int = 1234
    cached: bool = False

    @property
    def options(self) -> dict[str, bool | int | float]:
        """The sampling options of both sides: short, where the case asks for no other limit."""
        return {"max_new_tokens": MAX_NEW_TOKENS, **self.asked}

    @property
    def is_batch(self) -> bool:
        """Whether upstream speaks several lines at once, from one stream of noise."""
        return len(self.lines) > 1

    def as_json(self) -> dict[str, object]:
        """The case with its model's kind, for upstream's process."""
        kind = CHECKPOINTS[self.checkpoint].kind
        return asdict(self) | {"kind": kind, "options": self.options}


def _preset(
    text: str, voice: str, language: str | None = None, instruct: str | None = None
) -> Line:
    return Line(text, voice=voice, language=language, instruct=instruct)


def _clone(text: str, language: str | None = None, clip: str = "short") -> Line:
    return Line(text, clip=clip, transcript=FOX, language=language)


def _x_vector(text: str, language: str | None = None, clip: str = "short") -> Line:
    return Line(text, clip=clip, x_vector=True, language=language)


_VIVIAN = _preset(ZH, "Vivian", "Chinese")
_GREEDY: Mapping[str, bool] = {"do_sample": False, "subtalker_dosample": False}
_NARROW: Mapping[str, float] = {
    "top_p": 0.8, "top_k": 20, "temperature": 0.7, "repetition_penalty": 1.3,
    "subtalker_top_p": 0.9, "subtalker_top_k": 10, "subtalker_temperature": 1.2,
}  # fmt: skip
_STREAMING = {"non_streaming_mode": False}
_NON_STREAMING = {"non_streaming_mode": True}
_THRICE = " ".join([ZH] * 3)


def _single(
    name: str,
    checkpoint: str,
    line: Line,
    options: Mapping[str, bool | int | float] | None = None,
    **more: int,
) -> Case:
    return Case(name, checkpoint, (line,), options or {}, seed=more.get("seed", 1234),
                cached=bool(more.get("cached", 0)))  # fmt: skip


SINGLE = (
    _single("preset", "custom-1b7", _VIVIAN),
    _single("preset_auto", "custom-1b7", _preset(EN, "ryan")),
    _single("preset_0b6", "custom-0b6", _preset(EN, "Ryan", "English")),
    _single("preset_0b6_instruct_ignored", "custom-0b6", _preset(EN, "Ryan", "English", CALM)),
    _single("preset_instruct", "custom-1b7", _preset(EN, "Ryan", "English", CALM)),
    _single("dialect_auto", "custom-1b7", _preset(ZH, "Eric")),
    _single("dialect_chinese", "custom-1b7", _preset(ZH, "Eric", "Chinese")),
    _single("dialect_english", "custom-1b7", _preset(EN, "eric", "English")),
    _single("no_speaker", "custom-1b7", _preset(EN, "", "English")),
    _single("fullvocab", "fullvocab-0b6", _preset(MIXED + PATHS, "Ryan", "English")),
    _single("design", "design-1b7", Line(MIXED, language="English", instruct=CALM)),
    _single("design_empty_instruct", "design-1b7", Line(MIXED, instruct="")),
    _single("clone_icl", "base-1b7", _clone(EN, "English"), seed=4),
    _single("clone_icl_nonstream", "base-1b7", _clone(EN, "English"), _NON_STREAMING),
    _single("clone_icl_long_text", "base-1b7", _clone(LONG, "Chinese")),
    _single("clone_icl_0b6", "base-0b6", _clone(MIXED), seed=5),
    _single("clone_icl_16k", "base-0b6", _clone(EN, clip="sixteen"), seed=4),
    _single("clone_xvec", "base-1b7", _x_vector(EN, "English")),
    _single("clone_xvec_0b6_nonstream", "base-0b6", _x_vector(ZH, "Chinese"),
            _NON_STREAMING),
    _single("clone_cached", "base-1b7", _clone(EN, "English"), seed=4, cached=1),
    _single("streaming_layout", "custom-1b7", _VIVIAN, _STREAMING),
    _single("streaming_layout_instruct", "custom-1b7", _preset(EN, "Vivian", None, CALM),
            _STREAMING),
    _single("one_token_text", "custom-1b7", _preset("a", "Vivian"), _STREAMING),
    _single("leading_newline", "custom-1b7", _preset("\nHello world", "Vivian")),
    _single("greedy", "custom-1b7", _VIVIAN, _GREEDY),
    _single("greedy_no_penalty", "custom-1b7", _preset(ZH, "Vivian"),
            {**_GREEDY, "repetition_penalty": 1.0}),
    _single("mixed_sampling", "custom-1b7", _VIVIAN, {"subtalker_dosample": False}),
    _single("top_p", "custom-1b7", _VIVIAN, _NARROW),
    _single("no_top_k", "custom-1b7", _VIVIAN, {"top_k": 0, "top_p": 0.95, "subtalker_top_k": 0}),
    _single("long_301", "endless-1b7", _preset(ZH, "Vivian"), {"max_new_tokens": 302}),
    _single("long_340", "endless-1b7", _preset(ZH, "Vivian"), {"max_new_tokens": 341}),
    _single("max_one", "endless-1b7", _preset(ZH, "Vivian"), {"max_new_tokens": 3}),
)  # fmt: skip

BATCHED = (
    Case("clone_cached_two", "base-1b7", (_clone(EN, "English"), _clone(ZH, "Chinese")),
         cached=True),
    Case("clone_batch_mixed", "base-1b7",
         (_clone(EN, "Auto"), _x_vector(MIXED, "Auto", "long"), _clone(ZH, "Auto"))),
    Case("batch3", "custom-1b7",
         (_preset(EN, "ryan", "English", ""), _preset("Hi.", "eric", "Auto", CALM),
          _preset(_THRICE, "vivian", "Chinese", ""))),
    Case("batch3_0b6_stream", "custom-0b6",
         tuple(_preset(text, "ryan", "Auto") for text in (EN, "Hi.", _THRICE)), _STREAMING),
)  # fmt: skip

# A few that touch every kind of model and layout, for other thread counts and other checkpoints.
FEW = ("preset_instruct", "preset_0b6", "design", "clone_icl", "clone_icl_nonstream", "clone_xvec",
       "streaming_layout", "top_p", "clone_batch_mixed")  # fmt: skip

CORPUS = (
    EN, ZH, MIXED, FOX, CALM, "", " ", "\n", "a\n\nb", "\nleading", "trailing\n", "  two  spaces  ",
    "HelloWorld iPhone YouTube OpenAI TTS ABCdef", "I'll, we'd, it's, DON'T, rock'n'roll",
    "3.14 1,000 2024-01-02", "path/to/file //comment\n/", "…—“quotes”", "नमस्ते दुनिया", "สวัสดี",
    "é e\u0301 \u00c5 \u212b ﬁ", "😀👍🏽", "<|im_start|>x<|im_end|>", "<tts_pad><think>y</think>",
    "tab\there\r\nnew", "こんにちは、안녕하세요", "x" * 200, "\u200b\ufeff\u00a0",
    "ALLCAPS lower MixedCase camelCase", "(a)[b]{c}", "a\u0301\u0323b",
)  # fmt: skip


def random_texts(n_texts: int = 1000) -> list[str]:
    """Texts of any characters, the same ones each time."""
    found: list[str] = []

    @settings(max_examples=n_texts, derandomize=True, database=None, deadline=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.text(max_size=60))
    def collect(text: str) -> None:
        found.append(text)

    collect()
    return found


def clip(seconds: float, rate_hz: int = RATE_HZ, seed: int = 1) -> NDArray[np.float32]:
    """A voice-like clip [n]: a gliding tone with its overtones, some noise, and a short pause."""
    n_samples = round(seconds * rate_hz)
    time = np.arange(n_samples) / rate_hz
    phase = 2 * np.pi * np.cumsum(140 + 60 * np.sin(4.4 * time)) / rate_hz
    tone = np.sum([np.sin(k * phase) / k for k in range(1, 9)], axis=0)
    noise = np.random.default_rng(seed).standard_normal(n_samples)
    wave = tone * (0.4 + 0.3 * np.sin(19 * time)) + 0.02 * noise
    wave[int(0.45 * n_samples) : int(0.5 * n_samples)] = 0
    return np.asarray(0.3 * wave / np.abs(wave).max(), np.float32)


CLIPS: Mapping[str, tuple[NDArray[np.float32], int]] = {
    "short": (clip(2.35), RATE_HZ),
    "long": (clip(3.1, seed=2), RATE_HZ),
    "sixteen": (clip(2.0, 16_000), 16_000),
}


def codec_inputs(n_codebooks: int = 16, n_codes: int = 256) -> dict[str, NDArray[np.generic]]:
    """Clips [n] and codes [T, Q] for the codec alone, of awkward lengths."""
    lengths = (1, 960, 1920, 1921, RATE_HZ, 22 * RATE_HZ + 17)
    inputs: dict[str, NDArray[np.generic]] = {
        f"encode_{n}": clip(max(n, RATE_HZ) / RATE_HZ)[:n] for n in lengths
    }
    inputs["encode16k_20800"] = clip(1.3, 16_000)
    draws = np.random.default_rng(5)
    for n_frames in (1, 2, 25, 73, 300, 301, 325, 620):
        inputs[f"decode_{n_frames}"] = draws.integers(0, n_codes, (n_frames, n_codebooks))
    return inputs
