"""One utterance on its way through a decoder: an Euler step a step, then samples piece by piece.

Legend: T latents, C latent channels, n samples.
"""

from dataclasses import dataclass

import numpy as np
import torch

from menura.engines.contract import Delivery, FinishReason, NoiseSource, RowStep
from menura.engines.echo_tts.config import EchoConfig
from menura.engines.echo_tts.crop import SpeechEnd
from menura.engines.echo_tts.dit import EchoDiT
from menura.engines.echo_tts.generate import Conditions, SamplerRow
from menura.engines.echo_tts.playout import Decoding, PiecewisePlayout, Playout, WholePlayout
from menura.engines.echo_tts.prompt import EchoPrompt
from menura.engines.echo_tts.schedule import Schedules
from menura.engines.echo_tts.voice_keys import VoiceKeys
from menura.engines.echo_tts.window import Rate
from menura.engines.echo_tts.work import Workload
from menura.speech import FloatArray

_ALL_AT_ONCE = Delivery()


@dataclass(frozen=True)
class Loaded:
    """A loaded model as its rows need it. `is_exact`: all that upstream computes, and no more."""

    config: EchoConfig
    dit: EchoDiT
    schedules: Schedules
    voices: VoiceKeys
    decoding: Decoding
    is_exact: bool


class LiveRow:
    """One utterance: its sampler, and what of it is not handed over yet."""

    def __init__(
        self, loaded: Loaded, prompt: EchoPrompt, noise: NoiseSource, delivery: Delivery
    ) -> None:
        self.is_over = False
        self.sampler = _sampler(loaded, prompt, noise)
        self._config = loaded.config
        self._is_exact = loaded.is_exact
        self._streams = delivery != _ALL_AT_ONCE
        self._may_be_drawn_again = prompt.retries > 0
        self._has_left = False
        self._playout = _playout(loaded, prompt, delivery)
        self._work = Workload(prompt.settings, has_voice=prompt.speaker is not None)
        self._end = SpeechEnd()
        self._n_sampled = 0
        self._frames: list[FloatArray] = []
        self._samples: list[FloatArray] = []

    @property
    def is_sampling(self) -> bool:
        """Whether its next step is one of Euler's: nothing waits to be decoded first."""
        return not (self.is_over or self._is_sampled or self._playout.is_due)

    def step(self, row: int) -> RowStep:
        """What is handed over now: samples [n] and latents [T, C], or only how far the row is.

        Raises: NumericsError: the model's numbers are no numbers.
        """
        if self.sampler.error is not None:
            raise self.sampler.error
        self._take_in()
        if self._playout.is_due:
            self._samples.append(self._playout.next())
        self.is_over = self._is_sampled and not self._playout.is_due
        if self.is_over:
            return self._last(row)
        n_decoded = self._n_sampled - self._playout.n_waiting
        done = self._work.share(self.sampler.n_steps_done, n_decoded)
        if not (self._streams and self._samples) or self._is_held:
            return RowStep(row, done=done)
        return RowStep(row, *self._handed_over(), done=done)

    @property
    def _is_held(self) -> bool:
        """Whether nothing may leave before the end: all is sampled, it went wrong, and it may be
        drawn again as long as nothing was heard.
        """
        went_wrong = self.sampler.is_done and not self._end.is_found
        return self._may_be_drawn_again and went_wrong and not self._has_left

    @property
    def _is_sampled(self) -> bool:
        """Whether no more latents are made: upstream makes those after the speech as well."""
        return self.sampler.is_done or (self._end.is_found and not self._is_exact)

    def _take_in(self) -> None:
        """Give the playout what was sampled since the last step."""
        latents = self.sampler.new_frames()
        if latents is None:
            return
        self._n_sampled += len(latents)
        self._frames.append(latents)
        is_last = self.sampler.is_done
        speech = self._end.add(latents, is_last=is_last)
        self._playout.add(speech, is_last=is_last)

    def _last(self, row: int) -> RowStep:
        """The row's last step, which says how it ended and what was left out."""
        ended = self._end.is_found
        rate_hz = self._config.autoencoder.frame_rate_hz
        within = Rate(rate_hz, self._config.dit.patch_size).shown(self._n_sampled)
        samples, frames = self._handed_over()
        return RowStep(
            row,
            samples,
            frames,
            FinishReason.STOP if ended else FinishReason.LENGTH,
            reason="" if ended else f"no end of speech within {within}",
            done=1.0,
            trimmed_s=self._end.n_trimmed / rate_hz,
        )

    def _handed_over(self) -> tuple[FloatArray | None, FloatArray | None]:
        """The samples [n] and the latents [T, C] that are kept here; they are kept no longer."""
        samples = np.concatenate(self._samples) if self._samples else None
        frames = np.concatenate(self._frames) if self._frames else None
        self._samples, self._frames = [], []
        self._has_left = True
        return samples, frames


@torch.inference_mode()
def _sampler(loaded: Loaded, prompt: EchoPrompt, noise: NoiseSource) -> SamplerRow:
    """The row's sampler, after text and voice were read."""
    before = prompt.continuation
    conditions = Conditions(
        text=loaded.dit.text_keys(torch.tensor(prompt.ids)),
        speaker=None if prompt.speaker is None else loaded.voices.of(prompt.speaker),
        continuation=None if before is None else torch.from_numpy(before.copy()),
    )
    return SamplerRow(loaded.dit, prompt.settings, conditions, noise, loaded.schedules)


def _playout(loaded: Loaded, prompt: EchoPrompt, delivery: Delivery) -> Playout:
    """One call like upstream's where exactness asks for it, else pieces as they are due."""
    if loaded.is_exact and delivery == _ALL_AT_ONCE:
        return WholePlayout(loaded.decoding, prompt.continuation)
    return PiecewisePlayout(
        loaded.decoding,
        prompt.continuation,
        delivery.first_chunk_frames or prompt.first_chunk_frames,
        delivery.chunk_frames or prompt.chunk_frames,
    )
