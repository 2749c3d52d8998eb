"""From a recording to a voice: the latents of the recording, which the model's encoder reads.

Any recording of 0.19 to 300 s makes a voice, and a longer one a better one. At most 6,400 latents
(297 s) are kept, as many as the model was made for. No transcript is needed.

Legend: n samples, T latents, L channels of a latent.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from menura.audio.clip_checks import VoiceWarning, check_clip
from menura.audio.resample import resample
from menura.engines.contract import VoicePrompt
from menura.engines.echo_tts.autoencoder import Autoencoder
from menura.engines.echo_tts.config import EchoConfig
from menura.engines.echo_tts.description import ENGINE, GOOD_S, reference_rules
from menura.engines.echo_tts.latents import (
    LONGEST_FRAMES,
    LatentProjection,
    speaker_latents,
)
from menura.engines.echo_tts.prompt import LATENTS
from menura.engines.echo_tts.windowed_sinc import resample_sinc
from menura.errors import InvalidValueError, did_you_mean
from menura.runtime.fingerprint import fingerprint
from menura.speech import FloatArray, Reference

AUTO = "auto"
MODES = (AUTO, LATENTS)
# Warnings point at who called `tts.voice`: encode, encode_voice, voice, caller.
_CALLER = 4


@dataclass(frozen=True)
class EchoVoiceEncoder:
    """What makes voices. `fingerprint` names the weights; `is_exact` resamples as upstream does."""

    autoencoder: Autoencoder
    projection: LatentProjection
    fingerprint: str
    is_exact: bool

    def encode(self, reference: Reference, mode: str) -> VoicePrompt:
        """The voice of a recording: its latents float32 [T, L]. A transcript is kept, not used.

        Raises: InvalidValueError: the mode is unknown, or the clip is too short, silent, beyond
            full scale or not all numbers; AudioTooLargeError: the clip is too long.
        """
        if mode not in MODES:
            raise InvalidValueError(
                f"mode {mode!r} is not one of: {', '.join(MODES)}.{did_you_mean(mode, MODES)}",
                param="mode",
            )
        config = self.autoencoder.config
        rules = reference_rules(config)
        check_clip(reference.samples, reference.sample_rate_hz, rules.shortest_s, rules.best)
        seconds = len(reference.samples) / reference.sample_rate_hz
        if seconds < GOOD_S:
            warnings.warn(
                f"the clip has only {seconds:.1f} s; {rules.best} carry a voice better.",
                VoiceWarning,
                stacklevel=_CALLER,
            )
        if reference.transcript is not None:
            warnings.warn(
                "the transcript is kept with the voice; Echo-TTS does not read it.",
                VoiceWarning,
                stacklevel=_CALLER,
            )
        samples = heard(reference, config.sample_rate_hz, is_exact=self.is_exact)
        latents = speaker_latents(self.autoencoder, self.projection, samples)
        arrays = {LATENTS: latents}
        return VoicePrompt(ENGINE, self.fingerprint, LATENTS, arrays, reference.transcript)


def heard(reference: Reference, rate_hz: int, *, is_exact: bool) -> FloatArray:
    """A recording's samples [n] as the autoencoder hears them: at its rate, within full scale.

    parity: what is louder than full scale is turned down; what is quiet is left as it is.
    """
    change_rate = resample_sinc if is_exact else resample
    samples = change_rate(
        reference.samples.astype(np.float32, copy=False), reference.sample_rate_hz, rate_hz
    )
    peak = np.float32(np.abs(samples).max(initial=1.0))
    within: FloatArray = samples / peak
    return within


def check_prompt(prompt: VoicePrompt, config: EchoConfig) -> None:
    """Nothing, for a voice that the model can take in, wherever it was kept.

    Raises: InvalidValueError: its latents are missing, of another shape, or not all numbers.
    """
    latents, size = prompt.arrays.get(LATENTS), config.dit.latent_size
    if prompt.mode != LATENTS:
        raise _unsound(f"its mode {prompt.mode!r} is not {LATENTS!r}")
    if latents is None or len(prompt.arrays) != 1:
        raise _unsound(f"it must have exactly: {LATENTS}")
    if latents.dtype != np.float32 or latents.ndim != 2 or latents.shape[1] != size:
        raise _unsound(f"its latents must be float32 [frames, {size}]")
    patch = config.dit.patch_size
    if not 1 <= len(latents) <= LONGEST_FRAMES or len(latents) % patch:
        raise _unsound(
            f"its latents must have from {patch} to {LONGEST_FRAMES} frames, a multiple of "
            f"{patch}, not {len(latents)}"
        )
    if not np.isfinite(latents).all():
        raise _unsound("its latents are NaN or infinite")


def _unsound(fault: str) -> InvalidValueError:
    return InvalidValueError(
        f"this voice is not sound: {fault}. Make it again with tts.voice(clip).", param="voice"
    )


def fingerprint_of(folder: Path, autoencoder_folder: Path) -> str:
    """What names the weights that make voices: the projection and the autoencoder.

    Raises: ModelFilesError: a file cannot be read.
    """
    projection = sorted(folder.glob("pca_state*.safetensors"))
    return fingerprint([*projection, *sorted(autoencoder_folder.glob("*.safetensors"))])
