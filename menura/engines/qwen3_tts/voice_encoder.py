"""From a recording to a voice: the speaker's embedding, and in context the recording's codes.

In context, the model reads transcript and codes of the recording as if it had spoken them itself,
and goes on: closest to the voice and to its manner. By embedding alone it needs no transcript.

Legend: n samples, T frames, Q codebooks, D talker width.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from menura.audio.clip_checks import LONGEST_S
from menura.engines.contract import VoicePrompt
from menura.engines.qwen3_tts import clip
from menura.engines.qwen3_tts.codec import Codec, at_rate
from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.engines.qwen3_tts.config_files import CODEC_FOLDER
from menura.engines.qwen3_tts.description import ENGINE
from menura.engines.qwen3_tts.prompt import CODES, EMBEDDING, IN_CONTEXT, X_VECTOR
from menura.engines.qwen3_tts.speaker_encoder import SpeakerEncoder
from menura.errors import InvalidValueError, did_you_mean
from menura.runtime.fingerprint import fingerprint
from menura.speech import FloatArray, Reference

AUTO = "auto"
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


def check_prompt(prompt: VoicePrompt, config: Qwen3TTSConfig) -> None:
    """Nothing, for a voice that the model can take in, wherever it was kept.

    Raises: InvalidValueError: it lacks a part, has one too many, or its codes are none.
    """
    embedding, codes = prompt.arrays.get(EMBEDDING), prompt.arrays.get(CODES)
    width = config.talker.transformer.hidden_size
    names = {IN_CONTEXT: {EMBEDDING, CODES}, X_VECTOR: {EMBEDDING}}.get(prompt.mode)
    if names is None:
        raise _unsound(f"its mode {prompt.mode!r} is not one of: {IN_CONTEXT}, {X_VECTOR}")
    if prompt.arrays.keys() != names:
        raise _unsound(f"in mode {prompt.mode!r} it must have exactly: {', '.join(sorted(names))}")
    if embedding is None or embedding.dtype != np.float32 or embedding.shape != (width,):
        raise _unsound(f"its embedding must be float32 [{width}]")
    if codes is not None:
        _check_codes(codes, config)
        if not prompt.transcript:
            raise _unsound(f"in mode {prompt.mode!r} it must have a transcript")


def _check_codes(codes: NDArray[np.generic], config: Qwen3TTSConfig) -> None:
    longest = math.ceil((LONGEST_S + clip.LONGEST_SILENCE_S) * config.codec.frame_rate_hz) + 1
    n_codebooks, n_entries = config.codec.n_codebooks, config.codec.decoder.codebook_size
    if codes.dtype != np.int64 or codes.ndim != 2 or codes.shape[1] != n_codebooks:
        raise _unsound(f"its codes must be int64 [frames, {n_codebooks}]")
    if not 1 <= len(codes) <= longest:
        raise _unsound(f"its codes must have from 1 to {longest} frames, not {len(codes)}")
    if int(codes.min()) < 0 or int(codes.max()) >= n_entries:
        raise _unsound(f"its codes must be from 0 to {n_entries - 1}")


def _unsound(fault: str) -> InvalidValueError:
    return InvalidValueError(
        f"this voice is not sound: {fault}. Make it again with tts.voice(clip).", param="voice"
    )


def fingerprint_of(folder: Path) -> str:
    """What names the weights that make voices: all of the model's.

    Raises: ModelFilesError: a file cannot be read.
    """
    return fingerprint(_weight_files(folder))


def _weight_files(folder: Path) -> Iterator[Path]:
    for part in (folder, folder / CODEC_FOLDER):
        yield from sorted(part.glob("*.safetensors"))
