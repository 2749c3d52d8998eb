import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest

from menura.cli.loudspeaker import Loudspeaker
from menura.errors import EngineNotInstalledError, OutputError
from menura.speech import FloatArray

RATE_HZ = 8_000


class CallbackStop(Exception):  # noqa: N818 - the library's name
    pass


class PortAudioError(Exception):
    pass


class Card:
    """A sound card that asks for samples as fast as it can, from a thread of its own."""

    def __init__(self) -> None:
        self.blocks: list[FloatArray] = []
        self.rates_hz: list[int] = []
        self.n_closed = 0
        self.asks = True

    def open(
        self,
        *,
        samplerate: int,
        channels: int,
        dtype: str,
        callback: Callable[[FloatArray, int, object, object], None],
        finished_callback: Callable[[], None],
    ) -> SimpleNamespace:
        assert (channels, dtype) == (1, "float32")
        self.rates_hz.append(samplerate)

        def play() -> None:
            while self.asks:
                block = np.full((256, 1), 9, np.float32)
                try:
                    callback(block, 256, None, None)
                except CallbackStop:
                    break
                finally:
                    self.blocks.append(block)
            finished_callback()

        def close(ignore_errors: bool) -> None:
            self.asks = False
            self.n_closed += 1

        return SimpleNamespace(start=Thread(target=play).start, close=close)

    @property
    def heard(self) -> FloatArray:
        everything: FloatArray = np.concatenate(self.blocks)[:, 0]
        heard: FloatArray = everything[everything != 0]
        return heard


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> Card:
    card = Card()
    library = SimpleNamespace(
        OutputStream=card.open, CallbackStop=CallbackStop, PortAudioError=PortAudioError
    )
    monkeypatch.setitem(sys.modules, "sounddevice", library)
    return card


def test_all_that_was_written_is_heard_in_order(card: Card) -> None:
    samples = np.linspace(0.1, 1.0, 5_000, dtype=np.float32)
    with Loudspeaker(RATE_HZ) as loudspeaker:
        for start in (0, 3, 700, 4_999):
            stop = {0: 3, 3: 700, 700: 4_999, 4_999: 5_000}[start]
            loudspeaker.write(samples[start:stop])
    np.testing.assert_array_equal(card.heard, samples)
    assert (card.rates_hz, card.n_closed) == ([RATE_HZ], 1)


def test_too_loud_samples_are_clipped(card: Card) -> None:
    with Loudspeaker(RATE_HZ) as loudspeaker:
        loudspeaker.write(np.array([2.0, -2.0, 0.5], np.float32))
    np.testing.assert_array_equal(card.heard, np.array([1.0, -1.0, 0.5], np.float32))


def test_nothing_written_ends_at_once(card: Card) -> None:
    with Loudspeaker(RATE_HZ):
        pass
    assert card.heard.size == 0


def fail_while_playing() -> None:
    with Loudspeaker(RATE_HZ) as loudspeaker:
        loudspeaker.write(np.ones(10, np.float32))
        raise KeyboardInterrupt


def test_an_error_stops_the_sound_without_waiting(card: Card) -> None:
    with pytest.raises(KeyboardInterrupt):
        fail_while_playing()
    assert card.n_closed == 1


def test_a_card_that_went_away_does_not_hold_up_the_speaking(card: Card) -> None:
    card.asks = False
    with Loudspeaker(RATE_HZ) as loudspeaker:
        for _ in range(3):
            loudspeaker.write(np.ones(31 * RATE_HZ, np.float32))
    assert card.n_closed == 1


def test_without_the_extra_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(EngineNotInstalledError, match=r"pip install 'menura\[play\]'"):
        Loudspeaker(RATE_HZ)


def test_without_portaudio_the_command_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sounddevice.py").write_text("raise OSError('PortAudio library not found')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EngineNotInstalledError, match="libportaudio2"):
        Loudspeaker(RATE_HZ)


def test_without_a_loudspeaker_it_says_so(card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PortAudioError("no default output device")

    monkeypatch.setattr(sys.modules["sounddevice"], "OutputStream", refuse)
    with pytest.raises(OutputError, match="no loudspeaker to play on"):
        Loudspeaker(RATE_HZ)
