"""Upstream's presets as numbers, and what holds where neither a preset nor an option says it.

A preset sets how the sampler is guided; it says nothing of the window or of blocks. Upstream
stores its presets as texts, which its own package then cannot compute with.

Source: upstream's `sampler_presets.json` and the example in its README.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class SamplerValues:
    """The sampler's numbers under upstream's names; None switches a thing off."""

    num_steps: int = 40
    cfg_scale_text: float = 3.0
    cfg_scale_speaker: float = 8.0
    cfg_min_t: float = 0.5
    cfg_max_t: float = 1.0
    truncation_factor: float | None = None
    rescale_k: float | None = None
    rescale_sigma: float | None = None


def _preset(text: float, speaker: float, *, is_flat: bool) -> SamplerValues:
    """A preset: flat ones start from less noise and sharpen the score's rescaling."""
    return SamplerValues(
        cfg_scale_text=text,
        cfg_scale_speaker=speaker,
        truncation_factor=0.8 if is_flat else 1.0,
        # parity: a rescaling with k = 1 is computed, though it only rounds
        rescale_k=1.2 if is_flat else 1.0,
        rescale_sigma=3.0,
    )


DEFAULTS = SamplerValues()
PRESETS: Mapping[str, SamplerValues] = {
    "Independent-High-Speaker-CFG": _preset(3.0, 8.0, is_flat=False),
    "Independent-High-Speaker-CFG-Flat": _preset(3.0, 8.0, is_flat=True),
    "Independent-High-CFG": _preset(8.0, 8.0, is_flat=False),
    "Independent-High-CFG-Flat": _preset(8.0, 8.0, is_flat=True),
    "Independent-Low-CFG": _preset(3.0, 3.0, is_flat=False),
    "Independent-Low-CFG-Flat": _preset(3.0, 3.0, is_flat=True),
}
