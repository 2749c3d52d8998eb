"""What both sides are asked for: texts, clips, sampler options, blocks and whole requests.

Plain data, so that it can be handed to upstream's process as JSON. The clips and random arrays are
those of the recorded numbers (`recorded.py`), drawn by the same generators.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[np.generic]
OptionValue = int | float | bool | str | tuple[int, ...] | None
Options = dict[str, OptionValue]

RATE_HZ = 44_100
T = 0.7  # the time at which every module is compared
PREFIX_FRAMES = 16  # of the canvas, filled before the block that is compared
TEXT = "Hello there, this is a test."
BATCH = (TEXT, "[S2] Two.")
SPOKEN = "Hello: it’s a test; fine — ok"
CLIP_SECONDS = 2.1  # the reference of every case that has no other
CLIP_SEED = 2

CORPUS = (
    "", " ", "Hello world", "[S1] Already tagged.", "[S2] Second speaker first.", "(laughs) Paren.",
    "[music] Bracket.", " [S1] space before a tag", " [music] leading space", "S1 without brackets",
    "We met the S2 team: yes", "s1 lower case", "Text that mentions [S1] later",
    "[S1] One. [S2] Two. [S1] Three.", "Colon: semicolon; both:;", "Ratio 3:2 at 10:30",
    "em\u2014dash", "em \u2014 dash spaced", "en\u2013dash stays", "double--hyphen",
    "ellipsis\u2026", "three dots...", "\u2026", "it\u2019s curly", "\u2018single\u2019 pair",
    "\u201cdouble\u201d pair", "\u201e low-high \u201d", "straight 'a' \"b\"", "line\nbreak",
    "two\n\nbreaks", "carriage\r\nreturn", "tab\tstays", "trailing newline\n",
    "\n[S1] newline first", "Exclaim! Really?! Yes!!", "caf\u00e9", "cafe\u0301 decomposed",
    "\u4f60\u597d\uff0c\u4e16\u754c\u3002", "full\uff1awidth\uff1bcolons",
    "\u0645\u0631\u062d\u0628\u0627 \u061b \u061f", "emoji \U0001f600 astral", "zero\u200bwidth",
    "nbsp\u00a0here", "\ufeffBOM first", "NUL\x00inside", "A" * 800, "\u00e9" * 500,
    "(um) ... explore how we can, uh, design.",
    "quote\u2019s: \u201cmix\u201d \u2014 of; all\u2026\n",
)  # fmt: skip

CUT = (("Hello", 8), ("A" * 800, 768), ("\u00e9" * 10, 12))  # texts and limits in bytes

BASE: Options = {
    "num_steps": 10, "cfg_scale_text": 3.0, "cfg_scale_speaker": 8.0, "cfg_min_t": 0.5,
    "cfg_max_t": 1.0, "truncation_factor": None, "rescale_k": None, "rescale_sigma": None,
    "speaker_kv_scale": None, "speaker_kv_max_layers": None, "speaker_kv_min_t": None,
    "sequence_length": 48,
}  # fmt: skip

# One sampler run each: the options that differ from BASE.
SAMPLER: Mapping[str, Options] = {
    "base": {},
    "readme_40": {"num_steps": 40},
    "truncation_0.8": {"truncation_factor": 0.8},
    "one_step": {"num_steps": 1},
    "cfg_always": {"cfg_min_t": 0.0, "cfg_max_t": 1.0},
    "cfg_never": {"cfg_min_t": 1.0},
    "cfg_band": {"cfg_min_t": 0.3, "cfg_max_t": 0.75},
    "cfg_zero": {"cfg_scale_text": 0.0, "cfg_scale_speaker": 0.0},
    "text_only_guidance": {"cfg_scale_speaker": 0.0},
    "flat_preset": {"truncation_factor": 0.8, "rescale_k": 1.2, "rescale_sigma": 3.0},
    "sharp": {"truncation_factor": 0.9, "rescale_k": 0.96, "rescale_sigma": 3.0},
    "rescale_k_1": {"rescale_k": 1.0, "rescale_sigma": 3.0},
    "rescale_k_only": {"rescale_k": 1.2},
    "force_speaker": {"speaker_kv_scale": 1.5, "speaker_kv_min_t": 0.9,
                      "speaker_kv_max_layers": 24},
    "force_two_layers": {"speaker_kv_scale": 1.5, "speaker_kv_min_t": 0.6,
                         "speaker_kv_max_layers": 2},
    "force_all_layers": {"speaker_kv_scale": 1.2, "speaker_kv_min_t": 0.5},
    "force_never_undone": {"speaker_kv_scale": 1.5, "speaker_kv_min_t": 0.0},
    "large_guidance": {"cfg_scale_text": 8.0},
    "odd_length": {"sequence_length": 37},
    "default_length": {"sequence_length": None, "num_steps": 4},
}  # fmt: skip

BF16 = ("base", "force_speaker")

# Upstream's blockwise sampler is not in its package: these have recorded numbers only.
# Besides the sampler's options: the blocks, and how many latents come before them.
BLOCKWISE: Mapping[str, tuple[Options, int]] = {
    "three": ({"block_sizes": (16, 16, 8)}, 0),
    "one": ({"block_sizes": (48,)}, 0),
    "trunc": ({"block_sizes": (16, 8), "truncation_factor": 0.8}, 0),
    "rescale": ({"block_sizes": (16, 8), "truncation_factor": 0.8, "rescale_k": 1.2,
                 "rescale_sigma": 3.0}, 0),
    "force": ({"block_sizes": (16, 16), "speaker_kv_scale": 1.5, "speaker_kv_min_t": 0.9,
               "speaker_kv_max_layers": 24}, 0),
    "force_compounds": ({"block_sizes": (16, 16), "speaker_kv_scale": 1.5,
                         "speaker_kv_min_t": 0.0}, 0),
    "continue": ({"block_sizes": (16,)}, 20),
    "continue_partial_patch": ({"block_sizes": (16, 6)}, 18),
}  # fmt: skip

# References by their seconds, and upstream's options of encoding them.
SPEAKERS: Mapping[str, tuple[float, Options]] = {
    "short": (2.1, {}),
    "exact_4": (4 * 2048 / RATE_HZ, {}),
    "exact_chunk": (640 * 2048 / RATE_HZ, {}),
    "over_chunk": (31.0, {}),
    "two_chunks": (62.0, {}),
    "bucket_640": (2.1, {"max_speaker_latent_length": 640, "pad_to_max": True}),
    "bucket_truncates": (31.0, {"max_speaker_latent_length": 64, "pad_to_max": True}),
    "cap_32": (2.1, {"max_speaker_latent_length": 32}),
    "no_patch_trim": (2.1, {"divis_by_patch_size": None}),
}


@dataclass(frozen=True)
class Spoken:
    """One whole request: SPOKEN with a reference of so many seconds, and upstream's padding."""

    seconds: float | None
    upstream: Options
    normalize_text: bool = True
    seed: int = 3


PIPELINE_OPTIONS: Options = {
    "num_steps": 6, "cfg_scale_text": 3.0, "cfg_scale_speaker": 8.0, "cfg_min_t": 0.5,
    "cfg_max_t": 1.0, "truncation_factor": None, "rescale_k": None, "rescale_sigma": None,
    "speaker_kv_scale": None, "speaker_kv_max_layers": None, "speaker_kv_min_t": None,
    "sequence_length": 24,
}  # fmt: skip
PIPELINE: Mapping[str, Spoken] = {
    "text_only": Spoken(None, {}),
    "short": Spoken(2.1, {}),
    "over_chunk": Spoken(31.0, {}),
    "text_bucket": Spoken(2.1, {"pad_to_max_text_length": 64}),
    "speaker_bucket": Spoken(2.1, {"pad_to_max_speaker_latent_length": 640}),
    "raw_text": Spoken(None, {"normalize_text": False}, normalize_text=False),
    "other_seed": Spoken(2.1, {}, seed=20_251_205),
}

# Files that upstream reads: rate, channels, gain. Those of other rates have recorded numbers.
FILES: Mapping[str, tuple[int, int, float]] = {
    "mono_44k": (RATE_HZ, 1, 0.5),
    "stereo_44k": (RATE_HZ, 2, 0.5),
    "loud_44k": (RATE_HZ, 1, 4.0),
}
RESAMPLED = {"mono_24k": 24_000, "stereo_48k": 48_000, "loud_float_16k": 16_000}


def random_texts(n_texts: int = 1000) -> list[str]:
    """Texts of any characters and of those that the rules are about, the same ones each time."""
    found: list[str] = []

    @settings(max_examples=n_texts, derandomize=True, database=None, deadline=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(st.text(max_size=80) | st.text("aS12[]();:\n’”“…—", max_size=40))
    def collect(text: str) -> None:
        found.append(text)

    collect()
    return found


def clip(seconds: float, seed: int = CLIP_SEED, rate_hz: int = RATE_HZ) -> NDArray[np.float32]:
    """A voice-like clip [n] in -1..1: a gliding harmonic tone, bursts of noise, gaps."""
    n_samples = round(seconds * rate_hz)
    time = np.arange(n_samples) / rate_hz
    draws = np.random.Generator(np.random.PCG64(1000 + seed))
    pitch = 110 + 40 * np.sin(2 * np.pi * 0.7 * time + seed)
    phase = 2 * np.pi * np.cumsum(pitch) / rate_hz
    tone = sum((np.sin(k * phase) / k for k in range(1, 9)), np.zeros(n_samples))
    loudness = np.clip(np.sin(2 * np.pi * 2.3 * time + 0.3 * seed), 0, 1) ** 0.5
    wave = 0.25 * loudness * tone + 0.02 * draws.standard_normal(n_samples) * (1 - loudness)
    return np.asarray(wave, np.float32)


def file_samples(name: str) -> NDArray[np.float32]:
    """The samples [n, channels] of a file."""
    rate_hz, n_channels, gain = FILES[name]
    return np.stack([clip(0.5, c, rate_hz) * np.float32(gain) for c in range(n_channels)], axis=1)


def arrays(latent_size: int = 80) -> dict[str, Array]:
    """Clips [n] and latents [T, 80] of both sides."""
    draws = np.random.Generator(np.random.PCG64(11))
    prefix = np.zeros((48, latent_size), np.float32)
    prefix[:PREFIX_FRAMES] = _normal(draws, PREFIX_FRAMES, latent_size)
    x = _normal(draws, 24, latent_size)
    flat = torch.randn(1, 40, latent_size, generator=torch.Generator().manual_seed(4))[0].numpy()
    flat[18:] = 0.01
    return {
        "codec": clip(1.3, 1),
        "prefix": prefix,
        "x": x,
        "random_latents": _normal(np.random.Generator(np.random.PCG64(5)), 24, latent_size),
        "continuation_20": _normal(np.random.Generator(np.random.PCG64(21)), 20, latent_size),
        "continuation_18": _normal(np.random.Generator(np.random.PCG64(21)), 18, latent_size),
        "flat": flat,
    }


def _normal(draws: np.random.Generator, n_frames: int, latent_size: int) -> NDArray[np.float32]:
    numbers = draws.standard_normal((n_frames, latent_size))
    return np.asarray(numbers, np.float32)
