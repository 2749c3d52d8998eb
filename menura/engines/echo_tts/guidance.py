"""Which lanes a step needs, and the velocity that it makes of theirs.

A guided step looks at the same latents with and without a context, and goes further in the
direction that the context adds. Text and speaker have a strength each: three lanes. Joint guidance
drops both at once: two lanes, and the strengths add up.

Source: Ho and Salimans, "Classifier-Free Diffusion Guidance", 2022; Xu et al., "Temporal Score
Rescaling", arXiv 2510.01184 (`rescaled`).
Legend: T latents, C channels of a latent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from torch import Tensor


class View(Enum):
    """What a lane sees of text and speaker."""

    BOTH = "both"
    NO_TEXT = "no text"
    NO_SPEAKER = "no speaker"
    NEITHER = "neither"

    @property
    def has_text(self) -> bool:
        """Whether the text is seen."""
        return self in (View.BOTH, View.NO_SPEAKER)

    @property
    def has_speaker(self) -> bool:
        """Whether the speaker is seen."""
        return self in (View.BOTH, View.NO_TEXT)


@dataclass(frozen=True)
class Guidance:
    """How strongly text and speaker guide, while `min_t` <= t <= `max_t`."""

    text: float
    speaker: float
    min_t: float
    max_t: float
    joint: bool = False

    def is_on(self, t: Tensor) -> bool:
        """Whether a step that begins at `t`, one of the schedule's times [n + 1], is guided."""
        return bool(t >= self.min_t) and bool(t <= self.max_t)

    def strengths(self, *, has_speaker: bool) -> dict[View, float]:
        """The views that a guided step compares `BOTH` with, and how strongly.

        A view that could not change the velocity is left out: one of strength 0, and one without
        the speaker where no speaker is given.
        """
        if self.joint:
            wanted = {View.NEITHER: self.text + self.speaker}
        else:
            wanted = {View.NO_TEXT: self.text, View.NO_SPEAKER: self.speaker if has_speaker else 0}
        return {view: strength for view, strength in wanted.items() if strength != 0}

    def n_lanes(self, *, has_voice: bool) -> int:
        """The lanes of a guided step."""
        return 1 + len(self.strengths(has_speaker=has_voice))


@dataclass(frozen=True)
class Rescale:
    """Temporal rescaling of the velocity: `k` above 1 flattens, below 1 it sharpens; 1 is off."""

    k: float
    sigma: float


def guided(seeing: Tensor, others: Sequence[Tensor], strengths: Sequence[float]) -> Tensor:
    """The velocity [T, C] that leads from the other views' [T, C] past the one that sees all."""
    velocity = seeing
    for other, strength in zip(others, strengths, strict=True):
        velocity = velocity + strength * (seeing - other)
    return velocity


def rescaled(velocity: Tensor, latents: Tensor, t: Tensor, rescale: Rescale) -> Tensor:
    """The velocity [T, C] of latents [T, C] at a time below 1, rescaled."""
    noise_ratio = (1 - t) ** 2 / t**2
    wide = noise_ratio * rescale.sigma**2
    ratio = (wide + 1) / (wide / rescale.k + 1)
    return 1 / (1 - t) * (ratio * ((1 - t) * velocity + latents) - latents)
