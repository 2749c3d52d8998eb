"""From what a user gives as a recording to a `Reference`: checked samples of one channel."""

import os
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from menura.audio.clip_checks import SILENT_PEAK
from menura.audio.decode import AudioCaps, decode
from menura.errors import InvalidValueError
from menura.speech import FloatArray, Reference

Clip = str | os.PathLike[str] | bytes | bytearray | memoryview | NDArray[np.generic] | Reference


def reference(clip: Clip, transcript: str | None, rate_hz: int | None) -> Reference:
    """The recording: a file's path or bytes, samples [n] or [n, channels], or a Reference.

    Integer samples are scaled by their type's range; channels are averaged.

    Raises: InvalidValueError: another kind of clip, an argument that does not go with it, or
        samples that are empty or no numbers; UnreadableAudioError, AudioTooLargeError.
    """
    if transcript is not None and not isinstance(transcript, str):
        raise _bad(f"transcript must be a str, not {type(transcript).__name__}", "transcript")
    if isinstance(clip, Reference):
        if rate_hz is not None:
            raise _bad("a Reference has its own rate: leave rate_hz out", "rate_hz")
        checked = replace(
            clip, samples=_mono(clip.samples), sample_rate_hz=_rate(clip.sample_rate_hz)
        )
        return checked if transcript is None else replace(checked, transcript=transcript)
    if isinstance(clip, np.ndarray):
        if rate_hz is None:
            raise _bad("samples need their rate: give rate_hz", "rate_hz")
        return Reference(_mono(clip), _rate(rate_hz), transcript)
    if isinstance(clip, (bytearray, memoryview)):
        clip = bytes(clip)
    if not isinstance(clip, (str, os.PathLike, bytes)):
        raise _bad(
            "clip must be a file's path or bytes, a numpy array with rate_hz, or a Reference, "
            f"not {type(clip).__name__}; np.asarray(clip) makes an array of a list or a tensor",
            "clip",
        )
    if rate_hz is not None:
        raise _bad("a file has its own rate: leave rate_hz out", "rate_hz")
    decoded = decode(clip)
    _check_mixing(float(np.abs(decoded.samples).max(initial=0.0)), decoded.channel_peak)
    return Reference(decoded.samples, decoded.sample_rate_hz, transcript)


def _mono(samples: NDArray[np.generic]) -> FloatArray:
    """The samples [n] as float32 of one channel."""
    given = np.asarray(samples)
    if given.ndim not in (1, 2) or given.size == 0 or given.dtype.kind not in "fiu":
        raise _bad(
            "the clip must be numbers [n] or [n, channels] with n > 0, "
            f"not {given.dtype} {list(given.shape)}",
            "clip",
        )
    scale = 1.0 if given.dtype.kind == "f" else float(np.iinfo(given.dtype).max) + 1.0
    middle = scale / 2 if given.dtype.kind == "u" else 0.0
    numbers = (given.astype(np.float64) - middle) / (scale - middle)
    mono = numbers.mean(axis=int(np.argmin(given.shape))) if given.ndim == 2 else numbers
    _check_mixing(float(np.abs(mono).max()), float(np.abs(numbers).max()))
    if not np.isfinite(mono).all():
        raise _bad("the clip holds samples that are not numbers (NaN or infinity)", "clip")
    return mono.astype(np.float32)


def _check_mixing(peak: float, channel_peak: float) -> None:
    """Nothing. Raises: InvalidValueError: channels that hold sound make silence together."""
    if peak < SILENT_PEAK <= channel_peak:
        raise _bad(
            "the channels of the clip cancel each other out (one is the other upside down), so "
            "nothing is left when they are mixed to one: give one of them alone",
            "clip",
        )


def _rate(rate_hz: int) -> int:
    caps = AudioCaps()
    is_whole = isinstance(rate_hz, (int, np.integer)) and not isinstance(rate_hz, bool)
    if not is_whole or not caps.min_rate_hz <= rate_hz <= caps.max_rate_hz:
        raise _bad(
            f"rate_hz={rate_hz!r} is not allowed: it must be a whole number from "
            f"{caps.min_rate_hz} to {caps.max_rate_hz}",
            "rate_hz",
        )
    return int(rate_hz)


def _bad(message: str, param: str) -> InvalidValueError:
    return InvalidValueError(f"{message}.", param=param)
