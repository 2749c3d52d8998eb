"""Whether more than one person may speak in a recording: a suspicion, by pitch and by timbre.

The voiced frames are taken 0.8 s at a time, which evens out the single sounds. These pieces are
parted into the two groups that differ most. One person's groups differ too, by mood and by words,
but two persons' differ more. Voices that are alike (two women of one pitch) are not told apart:
the thresholds are set so that one speaker is rarely taken for two. How rarely: docs/LOG.md.

Legend: n samples, F frames, V voiced frames, P pieces, 12 cepstral numbers, K = 13 features.
"""

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from menura.audio.levels import BLOCK_S, BoolArray, Span, runs
from menura.audio.mel import mel_filters
from menura.audio.pcm import FloatArray
from menura.audio.pitch import RATE_HZ, Pitch, frames_of

_N_FFT = 1024
_N_MELS, _N_CEPSTRA = 24, 12
_BAND_HZ = (100.0, 7000.0)
_PIECE, _HOP = 40, 20  # voiced frames of 20 ms
_FEWEST_PIECES = 6
_FEWEST_OF_ONE = 2
_LOUD = 0.1  # of the loud frames' level: quieter ones carry the room, not the voice
_SEMITONES_LIKE_ONE_SPREAD = 10.0  # a difference of pitch weighs so much of one of timbre
_TOO_DIFFERENT = 1.7  # the most of one speaker that was measured is 1.62
_PITCH_SCALE = 1.5  # semitones
_TIMBRE_SCALE = math.sqrt(6.0)  # the frames of a piece, which are not independent
_ROUNDS = 20
_FRAMES_AT_ONCE = 500
_FLOOR = 1e-7  # of the loudest band

IntArray: TypeAlias = npt.NDArray[np.int64]


def second_speaker(samples: FloatArray, pitch: Pitch) -> tuple[Span, ...]:
    """Where a second person may speak, in seconds; empty if one person speaks in all of it.

    The samples [n] are at 16 kHz, and the pitch is theirs.
    """
    frames = frames_of(samples)
    places = np.flatnonzero(pitch.is_voiced & _is_loud(frames))
    if len(places) < _PIECE + (_FEWEST_PIECES - 1) * _HOP:
        return ()
    pieces = _pieces(_cepstra(frames, places), 12 * np.log2(pitch.hz[places]))
    is_second = _parted(pieces)
    if 2 * is_second.sum() > len(pieces):
        is_second = ~is_second
    if is_second.sum() < _FEWEST_OF_ONE or _difference(pieces, is_second) < _TOO_DIFFERENT:
        return ()
    return tuple(_span(places, first, after) for first, after in runs(is_second))


def _is_loud(frames: FloatArray) -> BoolArray:
    """Which frames [F] are loud enough to carry the voice."""
    levels = np.array([np.sqrt(np.mean(np.square(frame))) for frame in frames], np.float32)
    return np.asarray(levels > _LOUD * np.percentile(levels, 95)) if levels.size else levels > 0


def _cepstra(frames: FloatArray, places: IntArray) -> FloatArray:
    """The timbre of the frames at these places [V]: cepstra [V, 12], in their own spreads.

    The loudest band is 1, so that a gain changes nothing. The first number, the loudness, is out.
    """
    filters = mel_filters(RATE_HZ, _N_FFT, _N_MELS, *_BAND_HZ)
    window = np.hanning(frames.shape[1]).astype(np.float32)
    bands = np.concatenate(
        [
            np.abs(np.fft.rfft(frames[some] * window, _N_FFT, axis=1)) ** 2 @ filters.T
            for some in np.array_split(places, -(-len(places) // _FRAMES_AT_ONCE))
        ]
    )
    orders = np.arange(1, _N_CEPSTRA + 1)[:, None]
    cosines = np.cos(np.pi * orders * (np.arange(_N_MELS) + 0.5) / _N_MELS) * np.sqrt(2 / _N_MELS)
    cepstra = np.log(bands / bands.max() + _FLOOR) @ cosines.T
    return np.asarray(cepstra / (cepstra.std(axis=0) + 1e-6), np.float32)


def _pieces(cepstra: FloatArray, semitones: FloatArray) -> FloatArray:
    """The pieces' features [P, K]: the middle pitch and the mean timbre, each in like units."""
    pieces = [
        [
            np.median(semitones[at : at + _PIECE]) / _PITCH_SCALE,
            *(cepstra[at : at + _PIECE].mean(axis=0) * _TIMBRE_SCALE),
        ]
        for at in range(0, len(cepstra) - _PIECE + 1, _HOP)
    ]
    return np.array(pieces, np.float32)


def _parted(pieces: FloatArray) -> BoolArray:
    """Which pieces [P] are in the second of two groups (two-means from the farthest pair)."""
    distances = np.square(pieces[:, None] - pieces[None]).sum(axis=-1)
    one, other = np.unravel_index(int(distances.argmax()), distances.shape)
    centres = pieces[[one, other]]
    is_second = np.zeros(len(pieces), np.bool_)
    for _ in range(_ROUNDS):
        far, near = (np.square(pieces - centre).sum(axis=1) for centre in centres)
        is_second = far > near
        if is_second.all() or not is_second.any():
            break
        centres = np.stack([pieces[~is_second].mean(axis=0), pieces[is_second].mean(axis=0)])
    return np.asarray(is_second)


def _difference(pieces: FloatArray, is_second: BoolArray) -> float:
    """How different two groups are: the distance of their timbres and of their pitches."""
    timbre = pieces[is_second, 1:].mean(axis=0) - pieces[~is_second, 1:].mean(axis=0)
    pitch = np.median(pieces[is_second, 0]) - np.median(pieces[~is_second, 0])
    semitones = abs(float(pitch)) * _PITCH_SCALE
    return float(np.sqrt(np.mean(timbre**2))) + semitones / _SEMITONES_LIKE_ONE_SPREAD


def _span(places: IntArray, first: int, after: int) -> Span:
    """From when to when the pieces go, in seconds."""
    start, end = places[first * _HOP], places[(after - 1) * _HOP + _PIECE - 1]
    return (round(float(start) * BLOCK_S, 3), round(float(end + 1) * BLOCK_S, 3))
