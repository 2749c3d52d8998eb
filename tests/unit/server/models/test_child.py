"""The process of a model, started as the server starts it, with the tone engine."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import BinaryIO

import numpy as np
import pytest

import menura
from menura.errands import Ask, Begun, Cancel, Ended, EndWords, Heard, Say, SegmentDone
from menura.errors import ModelNotFoundError
from menura.server.models import child, frames, messages
from menura.server.models.messages import Close, Failed, FromProcess, Load, Memory, Ready, ToProcess
from menura.server.models.model_facts import facts_of
from menura.speech import FinishReason, FloatArray, SpeechRequest
from tests.tone.engine import ToneEngine

_ROOT = Path(menura.__file__).parents[1]
_AS_THE_SERVER = ("-P", "-m", "menura.server.models.child")
# Only the tone engine is asked whose a folder is: the others import torch first.
_QUICK = """
import sys
from menura.engines import registry
registry.names = lambda: ["tone"]
from menura.server.models import child
sys.exit(child.main())
"""
_PROGRAM = ("-c", _QUICK)
_NOISY = """
import os, sys
from menura.engines import registry
from menura.server.models import child
from tests.tone.engine import ToneEngine

class Noisy(ToneEngine):
    @classmethod
    def load(cls, folder, arguments):
        return cls()

    def build_prompt(self, text, manner):
        print("noise", flush=True)
        os.write(1, b"more noise\\n")
        if text == "poison":
            raise ZeroDivisionError(text)
        return super().build_prompt(text, manner)

child.BEAT_S = 0.01
registry.names = lambda: ["tone"]
registry.engine_class = lambda name: Noisy
sys.exit(child.main())
"""


class Process:
    """A model's process and the server's two ends of its line."""

    def __init__(self, *program: str) -> None:
        path = os.pathsep.join([str(_ROOT), str(_ROOT / "tests" / "tone")])
        self.process = subprocess.Popen(
            [sys.executable, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": path},
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.sink: BinaryIO = self.process.stdin  # type: ignore[assignment]
        self.source: BinaryIO = self.process.stdout  # type: ignore[assignment]

    def tell(self, *errands: ToProcess) -> None:
        for errand in errands:
            self.sink.write(messages.encode(errand))
        self.sink.flush()

    def next(self) -> FromProcess | None:
        frame = frames.read(self.source)
        return None if frame is None else messages.from_process(frame)

    def until_ended(self, key: int) -> list[FromProcess]:
        found: list[FromProcess] = []
        while not (found and isinstance(found[-1], Ended) and found[-1].key == key):
            message = self.next()
            assert message is not None, "the process ended"
            found.append(message)
        return found

    def end(self) -> tuple[int, str]:
        """The exit code and what was logged, after the process has ended by itself."""
        code = self.process.wait(timeout=60)  # its input stays open: that end would be another
        assert self.process.stderr is not None
        log = self.process.stderr.read().decode()
        self.close()
        return code, log

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.sink, self.source, self.process.stderr):
            with suppress(BrokenPipeError):
                pipe.close()  # type: ignore[union-attr]


@contextmanager
def started(model: str | None, *program: str) -> Iterator[Process]:
    child_process = Process(*(program or _PROGRAM))
    try:
        child_process.tell(Load(model))
        yield child_process
    finally:
        child_process.close()


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "tone").mkdir()
    (tmp_path / "tone" / "tone.json").write_text("{}")
    return str(tmp_path / "tone")


@pytest.fixture
def process(model: str) -> Iterator[Process]:
    with started(model) as found:
        assert isinstance(found.next(), Ready)
        assert isinstance(found.next(), Memory)
        yield found


def ask(key: int, text: str) -> Ask:
    return Ask(key, SpeechRequest(text, seed=5))


def samples_of(found: Sequence[FromProcess], key: int) -> FloatArray:
    return np.concatenate(
        [
            message.chunk.samples
            for message in found
            if isinstance(message, Heard) and message.key == key
        ]
    )


def test_it_is_ready_with_the_models_facts_and_how_it_runs(model: str) -> None:
    with started(model) as found:
        ready = found.next()
        assert ready == Ready(facts_of(ToneEngine().spec), {"device": "cpu"})
        memory = found.next()
        assert isinstance(memory, Memory)
        assert memory.live == 0
        assert sys.platform != "linux" or (memory.rss_bytes or 0) > 2**20


def test_it_speaks_what_speak_gives_and_ends_when_it_is_told(process: Process, model: str) -> None:
    speech = menura.load(model).speak("alpha beta gamma", seed=5)
    process.tell(ask(1, "alpha beta gamma"))
    found = [message for message in process.until_ended(1) if not isinstance(message, Memory)]
    assert isinstance(found[0], Begun)
    assert np.array_equal(samples_of(found, 1), speech.samples)
    assert [m.report for m in found if isinstance(m, SegmentDone)] == list(speech.segments)
    last = found[-1]
    assert isinstance(last, Ended)
    assert (last.finish, last.applied) == (FinishReason.STOP, speech.applied)
    process.tell(Close())
    assert process.end() == (0, "")


def test_requests_join_and_leave_while_others_are_spoken(process: Process) -> None:
    process.tell(ask(1, "ENDLESS"))
    while not isinstance(process.next(), Heard):
        pass
    process.tell(ask(2, "x y"))
    found = process.until_ended(2)
    assert any(isinstance(message, Heard) and message.key == 1 for message in found)
    process.tell(Cancel(1))
    last = process.until_ended(1)[-1]
    assert isinstance(last, Ended)
    assert last.finish is FinishReason.CANCELLED


def test_words_cross(process: Process) -> None:
    process.tell(Ask(1, SpeechRequest("", seed=5), words=True), Say(1, "alpha "))
    while not isinstance(process.next(), Heard):
        pass
    process.tell(Say(1, "beta"), EndWords(1))
    last = process.until_ended(1)[-1]
    assert isinstance(last, Ended)
    assert last.finish is FinishReason.STOP


def test_started_as_the_server_starts_it_it_speaks_with_the_built_in_voice() -> None:
    with started(None, *_AS_THE_SERVER) as found:
        ready = found.next()
        assert isinstance(ready, Ready)
        assert ready.facts.engine == "builtin"
        found.tell(ask(1, "Hello there."))
        speech = menura.load().speak("Hello there.", seed=5)
        assert np.array_equal(samples_of(found.until_ended(1), 1), speech.samples)


def test_a_description_needs_no_weights_and_ends_the_process(model: str) -> None:
    found = Process(*_PROGRAM)
    found.tell(Load(model, describe_only=True))
    assert found.next() == Ready(facts_of(ToneEngine().spec), {})
    assert found.next() is None
    assert found.end() == (0, "")


@pytest.mark.parametrize("describe_only", [True, False])
def test_a_model_that_is_not_there_is_told(describe_only: bool) -> None:
    found = Process(*_PROGRAM)
    found.tell(Load("no-such-model", describe_only=describe_only))
    message = found.next()
    assert isinstance(message, Failed)
    assert isinstance(message.error, ModelNotFoundError)
    assert found.end() == (1, "")


def test_a_load_that_fails_in_an_unforeseen_way_is_told(model: str) -> None:
    found = Process(*_PROGRAM)
    found.tell(Load(model, extra={"device": "twice"}))
    message = found.next()
    assert isinstance(message, Failed)
    assert "TypeError" in message.error.message
    code, log = found.end()
    assert code == 1
    assert "TypeError at " in log


@pytest.mark.parametrize("text", [None, "ENDLESS"])
def test_the_end_of_its_input_ends_it_at_once(process: Process, text: str | None) -> None:
    if text is not None:
        process.tell(ask(1, text))
        while not isinstance(process.next(), Heard):
            pass
    process.sink.close()
    while process.source.read(2**16):
        pass
    assert process.process.wait(timeout=60) == 0


def test_the_end_of_its_input_before_any_message_is_no_failure() -> None:
    found = Process(*_PROGRAM)
    found.sink.close()
    assert found.end() == (0, "")


def test_a_server_that_is_gone_ends_it(process: Process) -> None:
    process.source.close()
    process.tell(ask(1, "ENDLESS"))
    assert process.end() == (0, "")


def test_killed_it_leaves_an_end_that_can_be_seen(process: Process) -> None:
    process.tell(ask(1, "ENDLESS"))
    while not isinstance(process.next(), Heard):
        pass
    process.process.kill()
    with suppress(frames.FrameError):  # the end is inside a frame, or between two
        while process.next() is not None:
            pass
    assert process.process.wait(timeout=60) == -signal.SIGKILL


def test_an_interrupt_is_the_servers_to_heed(process: Process) -> None:
    process.process.send_signal(signal.SIGINT)
    process.tell(ask(1, "alpha"))
    assert isinstance(process.until_ended(1)[-1], Ended)


@pytest.mark.parametrize("content", [b"\xff" * 64, messages.encode(Load())])
def test_a_broken_message_ends_it_and_says_so(process: Process, content: bytes) -> None:
    process.sink.write(content)
    process.sink.flush()
    code, log = process.end()
    assert code == 1
    assert "a broken message" in log


def test_another_message_than_load_cannot_come_first() -> None:
    found = Process(*_PROGRAM)
    found.tell(Close())
    code, log = found.end()
    assert code == 1
    assert "must be 'load'" in log


def test_a_crash_is_logged_by_its_place_and_without_the_text(process: Process) -> None:
    process.tell(ask(1, "secret CRASH"))
    code, log = process.end()
    assert code == 1
    assert "RuntimeError at " in log
    assert "engine.py" in log
    assert "secret" not in log
    assert "crashed" not in log


def test_what_a_library_prints_breaks_no_frame_and_unforeseen_failures_are_logged(
    model: str,
) -> None:
    with started(model, "-c", _NOISY) as found:
        assert isinstance(found.next(), Ready)
        wrong = Ask(4, SpeechRequest("delta", language="german"))
        found.tell(ask(1, "alpha beta"), ask(2, "poison"), ask(3, "gamma"), wrong)
        ends = [m for m in found.until_ended(1) if isinstance(m, Ended)]
        while len(ends) < 4:
            message = found.next()
            ends += [message] if isinstance(message, Ended) else []
        failed = [end for end in ends if end.finish is FinishReason.ERROR]
        assert sorted(end.key for end in failed) == [2, 4]
        found.tell(Close())
        code, log = found.end()
    assert code == 0
    assert log.count("more noise") == 3
    assert "ZeroDivisionError at " in log
    assert "poison" not in log
    assert "UnsupportedError" not in log  # what is the request's own mistake is no failure


def test_the_loop_says_that_it_moves_while_a_request_waits_for_words(model: str) -> None:
    with started(model, "-c", _NOISY) as found:
        found.tell(Ask(1, SpeechRequest(""), words=True))
        n_beats = 0
        while n_beats < 3:
            message = found.next()
            n_beats += isinstance(message, Memory) and message.live == 1


def test_without_requests_it_waits_without_waking_up() -> None:
    timeouts: list[float | None] = []

    class Asked(SimpleQueue[object]):
        def get(self, block: bool = True, timeout: float | None = None) -> object:
            timeouts.append(timeout)
            if timeout is None or len(timeouts) == 3:
                return Close() if timeouts[-1] is not None else ask(1, "x")
            raise Empty

    line = child.Line(BytesIO(), BytesIO())
    line._errands = Asked()  # type: ignore[assignment]
    assert line.take(wait=True) == [ask(1, "x")]
    assert timeouts == [None]
    assert line.take(wait=True) == []  # as long as a request lives, it wakes up to say so
    assert timeouts == [None, child.BEAT_S, child.BEAT_S]
    assert not line.open
