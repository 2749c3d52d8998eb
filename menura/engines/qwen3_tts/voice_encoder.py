"""From a recording to a voice: the speaker's embedding, and in context the recording's codes.

In context, the model reads transcript and codes of the recording as if it had spoken them itself,
and goes on: closest to the voice and to its manner. By embedding alone it needs no transcript.

Legend: n samples, T frames, Q codebooks, D talker width.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from menura.engines.contract import VoicePrompt
from menura.engines.qwen3_tts import clip
from menura.engines.qwen3_tts.codec import Codec, at_rate
from menura.engines.qwen3_tts.config_files import CODEC_FOLDER
from menura.engines.qwen3_tts.description import ENGINE
from menura.engines.qwen3_tts.prompt import CODES, EMBEDDING, IN_CONTEXT, X_VECTOR
from menura.engines.qwen3_tts.speaker_encoder import SpeakerEncoder
from menura.errors import InvalidValueError, did_you_mean
from menura.speech import FloatArray, Reference

AUTO = "auto"
_HEAD_BYTES = 4 * 2**20
MODES = (AUTO, IN_CONTEXT, X_VECTOR)


@dataclass(frozen=True)
class VoiceEncoder:
    """What makes voices. `silence_s` of silence follow a clip whose codes are taken: the model then
    starts from a pause, not from the middle of a sound. `fingerprint` names the weights.
    """

    speaker_encoder: SpeakerEncoder
    codec: Codec
    fingerprint: str
    silence_s: float

    def encode(self, reference: Reference, mode: str) -> VoicePrompt:
        """The voice of a recording: `in_context`, `x_vector`, or by whether a transcript is there.

        Raises: InvalidValueError: the mode is unknown, in context lacks its transcript, or the clip
            is too short or silent; AudioTooLargeError: the clip is too long.
        """
        chosen = _mode(mode, reference)
        if chosen == X_VECTOR:
            reference = replace(reference, transcript=None)
        rate_hz = self.speaker_encoder.config.sample_rate_hz
        clip.check(reference, self.speaker_encoder.least_samples / rate_hz)
        arrays: dict[str, NDArray[np.generic]] = {EMBEDDING: self._embedding(reference)}
        if chosen == IN_CONTEXT:
            arrays[CODES] = self._codes(reference)
        return VoicePrompt(ENGINE, self.fingerprint, chosen, arrays, reference.transcript)

    def _embedding(self, reference: Reference) -> FloatArray:
        rate_hz = self.speaker_encoder.config.sample_rate_hz
        return self.speaker_encoder.embed(
            at_rate(reference.samples, reference.sample_rate_hz, rate_hz)
        )

    def _codes(self, reference: Reference) -> NDArray[np.int64]:
        n_silent = round(self.silence_s * reference.sample_rate_hz)
        samples = np.pad(reference.samples, (0, n_silent))
        return self.codec.encode(samples, reference.sample_rate_hz)


def _mode(mode: str, reference: Reference) -> str:
    if mode not in MODES:
        raise InvalidValueError(
            f"mode {mode!r} is not one of: {', '.join(MODES)}.{did_you_mean(mode, MODES)}",
            param="mode",
        )
    has_transcript = bool(reference.transcript and reference.transcript.strip())
    if mode == IN_CONTEXT and not has_transcript:
        raise InvalidValueError(
            "mode 'in_context' needs to know what is said in the clip: give its transcript, or use "
            "mode='x_vector', which needs none.",
            param="transcript",
        )
    if mode == AUTO:
        return IN_CONTEXT if has_transcript else X_VECTOR
    return mode


def fingerprint_of(folder: Path) -> str:
    """What names the weights that make voices: a digest of every weight file's head.

    A file's head holds its table of tensors and the beginning of their numbers.
    """
    digest = hashlib.sha256()
    for path in _weight_files(folder):
        with path.open("rb") as file:
            digest.update(path.stat().st_size.to_bytes(8, "big"))
            digest.update(file.read(_HEAD_BYTES))
    return digest.hexdigest()[:16]


def _weight_files(folder: Path) -> Iterator[Path]:
    for part in (folder, folder / CODEC_FOLDER):
        yield from sorted(part.glob("*.safetensors"))
