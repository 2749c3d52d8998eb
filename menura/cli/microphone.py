"""A recording from the microphone, through the extra `play` (sounddevice).

The sound card hands over blocks from a thread of its own; another waits for Enter, and this one
draws how loud it is.
"""

import sys
import threading
from types import TracebackType
from typing import Self

import numpy as np
import typer

from menura.cli.terminal import is_terminal
from menura.errors import EngineNotInstalledError, InvalidValueError, OutputError
from menura.speech import FloatArray

LONGEST_S = 300.0
_DRAW_EVERY_S = 0.1
_BAR_CELLS = 24
_QUIETEST_DB = -48.0


def check_installed() -> None:
    """Nothing. Raises: EngineNotInstalledError: the extra `play` or PortAudio is missing."""
    try:
        import sounddevice  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        raise EngineNotInstalledError(
            "recording needs the package sounddevice, which is not installed. "
            "Install it with: pip install 'menura[play]'",
            param="record",
        ) from error
    except OSError as error:
        raise EngineNotInstalledError(
            "recording needs the library PortAudio, which is not installed. "
            "Install it with: sudo apt install libportaudio2",
            param="record",
        ) from error


class Microphone:
    """The open microphone; leaving its `with` closes it. `samples` is what was heard so far."""

    def __init__(self) -> None:
        """Open the default input at its own rate, one channel.

        Raises: EngineNotInstalledError: the extra `play` or the system's PortAudio is missing;
            OutputError: there is no microphone.
        """
        check_installed()
        import sounddevice  # noqa: PLC0415

        self._blocks: list[FloatArray] = []
        try:
            self._stream = sounddevice.InputStream(channels=1, dtype="float32", callback=self._take)
            self.sample_rate_hz = int(self._stream.samplerate)
            self._stream.start()
        except sounddevice.PortAudioError as error:
            raise OutputError(
                f"there is no microphone to record from ({error}). Record with any other program, "
                "and give the file: menura voices add NAME FILE",
                param="record",
            ) from error

    @property
    def samples(self) -> FloatArray:
        """The samples [n] so far."""
        return np.concatenate(self._blocks) if self._blocks else np.zeros(0, np.float32)

    @property
    def seconds(self) -> float:
        """How much was heard so far."""
        return sum(map(len, self._blocks)) / self.sample_rate_hz

    @property
    def loudness(self) -> float:
        """How loud the last moment was, from 0 to 1."""
        last = self._blocks[-1] if self._blocks else np.zeros(1, np.float32)
        peak_db = 20 * np.log10(max(float(np.abs(last).max(initial=0.0)), 1e-6))
        return float(np.clip(1 - peak_db / _QUIETEST_DB, 0.0, 1.0))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close(ignore_errors=True)

    def _take(self, block: FloatArray, n_samples: int, clock: object, flags: object) -> None:
        """Keep the card's block [n, 1], which it will write over."""
        del n_samples, clock, flags
        self._blocks.append(block[:, 0].copy())


def record(seconds: float | None) -> tuple[FloatArray, int]:
    """The samples [n] and their rate: so many seconds, or until Enter is pressed.

    Raises: InvalidValueError: so long a recording is not taken; as `Microphone`.
    """
    if seconds is not None and not 0 < seconds <= LONGEST_S:
        raise InvalidValueError(
            f"--seconds {seconds:g} is not allowed: it must be above 0 and at most {LONGEST_S:g}.",
            param="--seconds",
        )
    ended = threading.Event()
    with Microphone() as microphone:
        if seconds is None:
            threading.Thread(target=_wait_for_enter, args=[ended], daemon=True).start()
        while microphone.seconds < (seconds or LONGEST_S) and not ended.wait(_DRAW_EVERY_S):
            _draw(microphone)
        _clear()
        samples = microphone.samples
    return samples if seconds is None else samples[: round(seconds * microphone.sample_rate_hz)], (
        microphone.sample_rate_hz
    )


def _wait_for_enter(ended: threading.Event) -> None:
    sys.stdin.readline()
    ended.set()


def _draw(microphone: Microphone) -> None:
    if is_terminal("stderr"):
        n_full = round(microphone.loudness * _BAR_CELLS)
        bar = "#" * n_full + "." * (_BAR_CELLS - n_full)
        typer.echo(f"\r  {microphone.seconds:5.1f} s  {bar}", err=True, nl=False)


def _clear() -> None:
    if is_terminal("stderr"):
        typer.echo("\r" + " " * (_BAR_CELLS + 14) + "\r", err=True, nl=False)
