"""Audio heard while it is made, through the extra `play` (sounddevice).

The sound card asks for samples from a thread of its own; they wait in a queue of bounded length, so
a book that is made faster than it is heard does not fill the memory.
"""

import threading
from collections import deque
from types import TracebackType
from typing import Self

import numpy as np

from menura.errors import EngineNotInstalledError, OutputError
from menura.speech import FloatArray

_AHEAD_S = 30.0
_LOOK_AGAIN_S = 1.0  # a card that was unplugged asks for nothing any more


class Loudspeaker:
    """The open loudspeaker; leaving its `with` waits until all is heard, or stops on an error."""

    def __init__(self, sample_rate_hz: int) -> None:
        """Open the default output.

        Raises: EngineNotInstalledError: the extra `play` or the system's PortAudio is missing;
            OutputError: there is no loudspeaker.
        """
        try:
            import sounddevice  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise EngineNotInstalledError(
                "playing needs the package sounddevice, which is not installed. "
                "Install it with: pip install 'menura[play]'",
                param="--play",
            ) from error
        except OSError as error:
            raise EngineNotInstalledError(
                "playing needs the library PortAudio, which is not installed. "
                "Install it with: sudo apt install libportaudio2",
                param="--play",
            ) from error
        self._waiting: deque[FloatArray] = deque()
        self._changed = threading.Condition()
        self._n_waiting = 0
        self._complete = False
        self._most = int(_AHEAD_S * sample_rate_hz)
        self._heard = threading.Event()
        self._stop_now = sounddevice.CallbackStop
        try:
            self._stream = sounddevice.OutputStream(
                samplerate=sample_rate_hz,
                channels=1,
                dtype="float32",
                callback=self._give,
                finished_callback=self._heard.set,
            )
            self._stream.start()
        except sounddevice.PortAudioError as error:
            raise OutputError(
                f"there is no loudspeaker to play on ({error}). Write a file with -o FILE.",
                param="--play",
            ) from error

    def write(self, samples: FloatArray) -> None:
        """Hand over the samples [n]; waits while half a minute is still to be heard."""
        with self._changed:
            while self._n_waiting > self._most and not self._heard.is_set():
                self._changed.wait(timeout=_LOOK_AGAIN_S)
            self._waiting.append(samples)
            self._n_waiting += len(samples)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if error is None:
                self._complete = True
                self._heard.wait()
        finally:
            self._stream.close(ignore_errors=True)

    def _give(self, block: FloatArray, n_samples: int, clock: object, flags: object) -> None:
        """Fill the card's block [n, 1]: what waits, then silence."""
        del clock, flags
        block.fill(0.0)
        filled = 0
        with self._changed:
            while self._waiting and filled < n_samples:
                samples = self._waiting.popleft()
                taken = samples[: n_samples - filled]
                block[filled : filled + len(taken), 0] = np.clip(taken, -1.0, 1.0)
                filled += len(taken)
                if len(taken) < len(samples):
                    self._waiting.appendleft(samples[len(taken) :])
            self._n_waiting -= filled
            self._changed.notify()
            ended = self._complete and not self._waiting
        if ended:
            raise self._stop_now
