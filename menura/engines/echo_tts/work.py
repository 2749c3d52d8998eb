"""How much of a row's work is done, so that the time that is left can be told from the beginning.

The unit is one latent in one lane of one Euler step. Guided steps have more lanes than the others,
and blocks differ in length, so counting steps alone would mislead.
"""

from itertools import accumulate

from menura.engines.echo_tts.generate import SamplerSettings
from menura.engines.echo_tts.schedule import times

# Measured on a CPU in float32: decoding a latent takes as long as three lanes of a step on it.
_DECODING = 3.0


class Workload:
    """The work of one row: all its Euler steps, then the decoding of its latents."""

    def __init__(self, settings: SamplerSettings, *, has_voice: bool) -> None:
        guidance = settings.guidance
        n_guided = 1 + len(guidance.strengths(has_speaker=has_voice))
        costs = [
            n_frames * (n_guided if guidance.is_on(start) else 1)
            for n_frames, n_steps in zip(settings.sizes, settings.steps, strict=True)
            for start in times(n_steps)[:-1]
        ]
        self._after = list(accumulate(costs, initial=0))
        self._total = self._after[-1] + _DECODING * sum(settings.sizes)

    def share(self, n_steps: int, n_decoded: int) -> float:
        """The share from 0 to 1 after so many Euler steps and decoded latents."""
        return (self._after[n_steps] + _DECODING * n_decoded) / self._total
