"""The code predictor: draws a frame's other codes, one after another, given its first.

A small transformer runs anew for every frame: its first two positions are the talker's hidden
state and the first code's embedding, then each drawn code is the next position. Every codebook
has its own embedding (of the talker's width) and its own head.

Source: Qwen3-TTS technical report, 2026.
Legend: Q codebooks, T frames, D talker width, P predictor width, V codebook entries.
"""

import torch
from torch import Tensor, nn

from menura.engines.contract import NoiseSource
from menura.engines.qwen3_tts.config import CodePredictorConfig
from menura.nn.transformer import gated_transformer
from menura.runtime.kv_cache import GrowingCache
from menura.runtime.sampling import Drawn, Sampling, draw

NOISE = "code_predictor"


class CodePredictor(nn.Module):
    """The second stage. `talker_size` is the width of the talker's states and of all inputs."""

    def __init__(self, config: CodePredictorConfig, talker_size: int) -> None:
        super().__init__()
        size = config.transformer.hidden_size
        others = range(1, config.n_codebooks)
        self.config = config
        self.embeddings = nn.ModuleList(
            nn.Embedding(config.codebook_size, talker_size) for _ in others
        )
        self.projection = nn.Identity() if talker_size == size else nn.Linear(talker_size, size)
        self.transformer = gated_transformer(config.transformer, qk_norm=True)
        self.heads = nn.ModuleList(
            nn.Linear(size, config.codebook_size, bias=False) for _ in others
        )

    def embed(self, codebook: int, codes: Tensor) -> Tensor:
        """Talker inputs [T, D] for codes [T] of a codebook from 1 to Q - 1, of any dimensions."""
        inputs: Tensor = self.embeddings[codebook - 1](codes)
        return inputs

    def predict(
        self, hidden: Tensor, first_code: Tensor, sampling: Sampling, noise: NoiseSource
    ) -> list[Drawn]:
        """The frame's codes 1 to Q - 1, from the talker's hidden state and first code's input.

        Both are [1, 1, D]. The noise stream is `NOISE`: exponential numbers [V] for each code.
        """
        cache = GrowingCache()
        inputs = torch.cat((hidden, first_code), dim=1)
        drawn: list[Drawn] = []
        for codebook, head in enumerate(self.heads, start=1):
            start = cache.n_positions
            stop = start + inputs.shape[1]
            positions = torch.arange(start, stop, device=inputs.device)[None]
            states = self.transformer(self.projection(inputs), positions, None, cache)
            drawn.append(draw(head(states)[0, -1], sampling, noise, NOISE))
            if codebook < len(self.heads):
                inputs = self.embed(codebook, drawn[-1].code)[None, None]
        return drawn
