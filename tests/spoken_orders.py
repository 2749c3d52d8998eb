"""A pool without processes, for tests of what stands before it: it speaks at once, by a script.

Every sentence (up to `.`) is a segment; every word in it is a chunk of `WORD_SAMPLES` samples, all
equal to `level_of(word)`. Some words misbehave: see `Spoken`.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

import numpy as np

from menura.engines.contract import Capability, PresetVoice
from menura.errors import (
    MenuraError,
    ModelNotFoundError,
    NothingToSpeakError,
    NumericsError,
    WorkerDiedError,
)
from menura.server.models.clock import LoopClock
from menura.server.models.model_facts import ModelFacts
from menura.server.models.performance import Begun, Chunk, Order, Performance
from menura.server.models.pool_limits import ReaderLimits
from menura.speech import FinishReason, SegmentReport
from menura.text.scripts import speakable

RATE_HZ = 8_000
WORD_SAMPLES = 800


class Word(StrEnum):
    """Words that misbehave when they are reached."""

    NAN = "NAN"  # the order ends with an error of the model's
    DIE = "DIE"  # the model's process dies
    STAY = "STAY"  # nothing more comes until the order is cancelled
    ENDLESS = "ENDLESS"  # audio without end, as fast as it is taken


def level_of(word: str) -> float:
    """The word's own level, exact in 16 bits: its length in steps of 1/64."""
    return (len(word) % 64) / 64


FACTS = ModelFacts(
    engine="tone", model="tone", variant="tone", sample_rate_hz=RATE_HZ,
    languages=("english", "chinese"),
    voices=(PresetVoice("low", ("english",)), PresetVoice("high", ("chinese",), "A high one")),
    default_voice="low", options=(), capabilities=frozenset({Capability.STREAM_TEXT}),
    speaks_without_voice=False, alphabet=None, native_speed=(1.0, 1.0), max_segment_s=25.0,
    max_segment_bytes=None, max_continued_s=None, turn_tag="", max_rows=4, fingerprint="",
    reference=None, licence="", output_licence="",
)  # fmt: skip


class Reins:
    """What a model's process would be told, done at once."""

    def __init__(self, order: Order, pool: "SpokenOrders") -> None:
        self._order = order
        self._pool = pool
        self._waiting = ""
        self._text = ""
        self._n_samples = 0
        self._held: asyncio.Event = asyncio.Event()
        self._held.set()
        self._endless: asyncio.Task[None] | None = None
        self.performance: Performance | None = None
        self.are_wanted = False

    def say(self, text: str) -> None:
        self._text += text
        self._waiting += text
        while "." in self._waiting:
            sentence, dot, self._waiting = self._waiting.partition(".")
            self._speak(sentence + dot)

    def flush(self) -> None:
        rest, self._waiting = self._waiting, ""
        self._speak(rest)

    def end_words(self) -> None:
        self.flush()
        assert self.performance is not None
        if not speakable(self._text):
            self.performance.fail(NothingToSpeakError("there is nothing to speak.", param="text"))
        if Word.STAY not in self._text and Word.ENDLESS not in self._text:
            self.performance.end(FinishReason.STOP, self.performance.begun.applied)

    def cancel(self) -> None:
        self._pool.cancelled.append(self._order)
        self._pool.has_cancelled.set()
        if self._endless is not None:
            self._endless.cancel()

    def hold(self) -> None:
        self._held.clear()

    def go_on(self) -> None:
        self._held.set()

    async def drained(self) -> None:
        await asyncio.sleep(0)

    def _speak(self, text: str) -> None:
        assert self.performance is not None
        first = self._n_samples
        for word in text.replace(".", " ").split():
            if word == Word.NAN:
                self.performance.fail(NumericsError("the numbers in /a/path/of/ours went wrong."))
            elif word == Word.DIE:
                self.performance.fail(WorkerDiedError("the model died.", retry_after_s=1.0))
            elif word == Word.ENDLESS:
                self._endless = asyncio.ensure_future(self._without_end(self.performance))
            elif word != Word.STAY:
                self._hear(self.performance, level_of(word))
        if self._n_samples > first:
            end = len(self._text) - len(self._waiting)
            start = end - len(text)
            self.performance.report(
                SegmentReport(text, start, end, first, self._n_samples, 7, FinishReason.STOP)
            )

    def _hear(self, performance: Performance, level: float) -> None:
        self._n_samples += WORD_SAMPLES
        performance.hear(Chunk(np.full(WORD_SAMPLES, level, np.float32), 0))

    async def _without_end(self, performance: Performance) -> None:
        while True:
            await self._held.wait()
            self._hear(performance, 0.25)
            await asyncio.sleep(0)


@dataclass
class SpokenOrders:
    """The pool: what was ordered and cancelled stands in lists; `gate` holds orders back."""

    facts: Mapping[str, ModelFacts] = field(default_factory=lambda: {"tone": FACTS})
    limits: ReaderLimits = field(default_factory=ReaderLimits)
    refusal: MenuraError | None = None
    orders: list[Order] = field(default_factory=list)
    cancelled: list[Order] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    has_orders: asyncio.Event = field(default_factory=asyncio.Event)
    has_cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()

    async def describe(self, model: str) -> ModelFacts:
        """The model's facts."""
        if model not in self.facts:
            raise ModelNotFoundError(f"there is no model {model!r}.", param="model")
        return self.facts[model]

    async def speak(self, order: Order) -> Performance:
        """The performance of an order."""
        self.orders.append(order)
        self.has_orders.set()
        await self.gate.wait()
        if self.refusal is not None:
            raise self.refusal
        reins = Reins(order, self)
        performance = reins.performance = Performance(order, reins, self.limits, LoopClock())
        voice = None if order.request.voice is None else str(order.request.voice)
        applied = MappingProxyType({"model": order.model, "voice": voice, "seed": 7})
        performance.begin(Begun(order.model, voice, applied, RATE_HZ, 7))
        if not order.words:
            reins.say(order.request.text)
            reins.end_words()
        return performance
