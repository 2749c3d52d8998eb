import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace

import numpy as np
import pytest

from menura.cli import microphone
from menura.cli.microphone import Microphone, record
from menura.errors import EngineNotInstalledError, InvalidValueError, OutputError
from menura.speech import FloatArray

RATE_HZ = 8_000
BLOCK = 200


class PortAudioError(Exception):
    pass


class Card:
    """A sound card that hears a rising number in each block, until it is closed."""

    samplerate = float(RATE_HZ)

    def __init__(self) -> None:
        self.closed = Event()

    def open(
        self,
        *,
        channels: int,
        dtype: str,
        callback: Callable[[FloatArray, int, object, object], None],
    ) -> "Card":
        assert (channels, dtype) == (1, "float32")
        self._callback = callback
        return self

    def start(self) -> None:
        Thread(target=self._hear, daemon=True).start()

    def close(self, ignore_errors: bool) -> None:
        self.closed.set()

    def _hear(self) -> None:
        block = np.zeros((BLOCK, 1), np.float32)
        number = 0
        while not self.closed.is_set():
            number += 1
            block[:] = number / 1e6
            self._callback(block, BLOCK, None, None)
            self.closed.wait(0.001)


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Card:
    card = Card()
    library = SimpleNamespace(InputStream=card.open, PortAudioError=PortAudioError)
    monkeypatch.setitem(sys.modules, "sounddevice", library)
    monkeypatch.setattr(microphone, "_DRAW_EVERY_S", 0.001)
    return card


def test_so_many_seconds_are_heard_in_order(card: Card) -> None:
    samples, rate_hz = record(0.25)
    assert (rate_hz, len(samples)) == (RATE_HZ, RATE_HZ // 4)
    expected = np.repeat(np.arange(1, 11, dtype=np.float32) / np.float32(1e6), BLOCK)
    np.testing.assert_allclose(samples, expected, rtol=1e-6)
    assert card.closed.is_set()


def test_enter_ends_it(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    enough = Event()

    def line_after_enough() -> str:
        enough.wait(5)
        return "\n"

    def draw(heard: Microphone) -> None:
        if heard.seconds > 0.1:
            enough.set()

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(readline=line_after_enough))
    monkeypatch.setattr(microphone, "_draw", draw)
    samples, _ = record(None)
    assert len(samples) > 0.1 * RATE_HZ
    assert card.closed.is_set()


def test_it_ends_by_itself_before_it_fills_the_memory(
    card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(microphone, "LONGEST_S", 0.1)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(readline=card.closed.wait))
    samples, _ = record(None)
    assert len(samples) >= 0.1 * RATE_HZ


def test_loudness_is_that_of_the_last_moment(card: Card) -> None:
    with Microphone() as heard:
        heard._blocks = []
        assert heard.loudness == 0.0
        heard._blocks = [np.ones(3, np.float32)]
        assert heard.loudness == 1.0
        heard._blocks.append(np.full(3, 10 ** (-24 / 20), np.float32))
        assert heard.loudness == pytest.approx(0.5)


@pytest.mark.parametrize("seconds", [0.0, -1.0, 301.0, float("nan")])
def test_lengths_that_make_no_sense_are_refused(card: Card, seconds: float) -> None:
    with pytest.raises(InvalidValueError, match="--seconds"):
        record(seconds)


def test_without_the_extra_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(EngineNotInstalledError, match=r"pip install 'menura\[play\]'"):
        Microphone()


def test_without_portaudio_the_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    (tmp_path / "sounddevice.py").write_text("raise OSError('PortAudio library not found')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EngineNotInstalledError, match="libportaudio2"):
        Microphone()


def test_without_a_microphone_a_file_is_advised(
    card: Card, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise PortAudioError("no default input device")

    monkeypatch.setattr(sys.modules["sounddevice"], "InputStream", refuse)
    with pytest.raises(OutputError, match="menura voices add NAME FILE"):
        Microphone()
