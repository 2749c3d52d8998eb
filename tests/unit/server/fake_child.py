"""A model's process that does on purpose what a real one does when something is wrong.

It speaks the real messages. Files in the model's folder say how it loads: `rows` (how many it has),
`gate` (a named pipe that it waits at), `fails` (the words of its error; with `WRONG` that of a
value), `dies` (after how many starts it no longer dies while loading), `garbage` (instead of an
answer), `stays` (when it is asked to stop). It writes a line into `starts` or `looks` each time,
and what it was told into `told`. The words of a request say what it does with it: see `ask`.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

import numpy as np

from menura.errands import (
    Ask,
    Begun,
    Cancel,
    Ended,
    EndWords,
    Flush,
    GoOn,
    Heard,
    Hold,
    Say,
    SegmentDone,
)
from menura.errors import InvalidValueError, ModelFilesError
from menura.server.models import messages
from menura.server.models.messages import Close, Failed, FromProcess, Load, Memory, Ready
from menura.server.models.model_facts import facts_of
from menura.speech import AudioChunk, FinishReason, SegmentReport
from tests.tone.engine import RATE_HZ, ToneEngine

PROGRAM = (sys.executable, "-P", __file__)


async def at_gate(folder: Path) -> TextIO:
    """The open gate, when a process has come to it; it goes on when the gate is closed."""
    return await asyncio.to_thread(open, folder / "gate", "w")


live: set[int] = set()


def answer(message: FromProcess) -> None:
    if isinstance(message, Ended):
        live.discard(message.key)
    sys.stdout.buffer.write(messages.encode(message))
    sys.stdout.buffer.flush()


def note(folder: Path, file: str, line: str) -> int:
    """The number of lines in the file, with this one."""
    with (folder / file).open("a") as lines:
        lines.write(f"{line}\n")
    return len((folder / file).read_text().splitlines())


def load(asked: Load) -> Path:
    """The model's folder, after the model was ready; else the process ends."""
    assert asked.model is not None
    folder = Path(asked.model)
    n_starts = note(folder, "looks" if asked.describe_only else "starts", str(os.getpid()))
    if (folder / "gate").exists():
        (folder / "gate").read_text()
    if (folder / "dies").exists() and n_starts <= int((folder / "dies").read_text()):
        sys.exit(3)
    if (folder / "garbage").exists():
        garbage()
        sys.exit(0)
    if (folder / "fails").exists():
        words = (folder / "fails").read_text()
        kind = InvalidValueError if words.startswith("WRONG") else ModelFilesError
        answer(Failed(kind(words, param="device")))
        sys.exit(1)
    rows = int((folder / "rows").read_text()) if (folder / "rows").exists() else 1
    answer(Ready(facts_of(ToneEngine(max_rows=rows).spec), {"device": "cpu", "precision": "fp32"}))
    if asked.describe_only:
        sys.exit(0)
    answer(Memory(12_345, 0))
    return folder


def chunk(key: int, seconds: float = 1.0) -> None:
    samples = np.full(round(seconds * RATE_HZ), key, np.float32)
    answer(Heard(key, AudioChunk(samples, RATE_HZ, 0, is_final=False)))


def ask(order: Ask) -> None:
    """Speak each word for a second, in the order's key as its sample; some words misbehave."""
    key, words = order.key, order.request.text.split()
    live.add(key)
    if "WRONG" in words:
        wrong = InvalidValueError("'tone' cannot.", param="text")
        answer(Ended(key, FinishReason.ERROR, {}, wrong))
        return
    if "EARLY" in words:
        chunk(key)
    voice = order.request.voice or order.voice_file or order.voice_id
    answer(Begun(key, {"voice": voice}, RATE_HZ, 7))
    for word in words:
        if word == "DROP":
            answer(Ended(key, FinishReason.CANCELLED, {}))
        if word in ("DROP", "ENDLESS"):
            return
        MISBEHAVIOUR.get(word, lambda: chunk(key))()
    if not order.words:
        finish(key, order.request.text)


def garbage() -> None:
    sys.stdout.buffer.write(b"\xff" * 8)
    sys.stdout.buffer.flush()


MISBEHAVIOUR: Mapping[str, Callable[[], None]] = {
    "CRASH": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "GARBAGE": garbage,
    "STRANGER": lambda: chunk(10**6),
    "HANG": signal.pause,
}


def finish(key: int, text: str) -> None:
    report = SegmentReport(text, 0, len(text), 0, len(text.split()), 7, FinishReason.STOP)
    answer(SegmentDone(key, report))
    answer(Ended(key, FinishReason.STOP, {"seed": 7}))


def main() -> None:
    asked = messages.read(sys.stdin.buffer)
    assert isinstance(asked, Load)
    folder = load(asked)
    while (message := messages.read(sys.stdin.buffer)) is not None:
        match message:
            case Ask():
                ask(message)
            case Say(key, text):
                chunk(key, len(text) / RATE_HZ)
            case EndWords(key):
                finish(key, "words")
            case Cancel(key) if key in live:
                answer(Ended(key, FinishReason.CANCELLED, {}))
            case Flush() | Hold() | GoOn():
                note(folder, "told", type(message).__name__)
                answer(Memory(12_345, 1))
            case Close():
                break
    if (folder / "stays").exists():
        signal.pause()


if __name__ == "__main__":
    main()
