"""Tiny checkpoints in memory, each written and loaded once for all tests."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from menura.engines.contract import VoicePrompt
from menura.engines.qwen3_tts import weights
from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.engines.qwen3_tts.config_files import read_config
from menura.engines.qwen3_tts.prompt import CODES, EMBEDDING
from menura.engines.qwen3_tts.tiny import Tiny, write
from menura.engines.qwen3_tts.tokenizer import read_tokenizer
from menura.engines.qwen3_tts.weights import Parts
from menura.options import Options
from menura.speech import Manner
from menura.text.byte_level_bpe import ByteLevelBPE


@dataclass(frozen=True)
class Loaded:
    """One loaded checkpoint."""

    config: Qwen3TTSConfig
    tokenizer: ByteLevelBPE
    parts: Parts


@cache
def loaded(variant: str, size: str = "1b7") -> Loaded:
    """The tiny checkpoint of a variant, in float32."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as name:  # files stay mapped
        folder = write(Path(name), Tiny(variant, size))
        config = read_config(folder)
        parts = weights.load(folder, config, torch.device("cpu"), torch.float32)
        return Loaded(config, read_tokenizer(folder, config), parts)


def manner(
    voice: str | VoicePrompt | None = None,
    language: str | None = None,
    instruct: str | None = None,
) -> Manner:
    """A checked request without options."""
    return Manner(voice, None, language, instruct, 1.0, Options(), {})


def cloned(mode: str, n_frames: int = 6, seed: int = 0, size: int = 32) -> VoicePrompt:
    """A voice of random codes, whose clip says `ing the`."""
    codes = np.random.RandomState(seed).randint(0, 256, (n_frames, 16))
    embedding = np.linspace(-1, 1, size).astype(np.float32)
    return VoicePrompt("qwen3-tts", "", mode, {CODES: codes, EMBEDDING: embedding}, "ing the")
