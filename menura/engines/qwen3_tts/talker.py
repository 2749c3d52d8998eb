"""The talker: a transformer over text and codec embeddings that scores each frame's first code.

A position's input is the sum of a text row and a codec row. Text comes from its own vocabulary
and width through a small projection, so both sizes of the model share one text embedding.

Source: Qwen3-TTS technical report, 2026; Qwen3 technical report, 2025 (the transformer).
Legend: B rows, T positions, E text width, D talker width, V codec vocabulary (codes, then control
ids).
"""

from torch import Tensor, nn

from menura.engines.qwen3_tts.config import TalkerConfig
from menura.nn.attention import LayerCache
from menura.nn.transformer import gated_transformer


class TextProjection(nn.Module):
    """From the text embedding's width to the talker's."""

    def __init__(self, text_size: int, hidden_size: int) -> None:
        super().__init__()
        self.inner = nn.Linear(text_size, text_size)
        self.outer = nn.Linear(text_size, hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        """Talker inputs [B, T, D] for text embeddings [B, T, E]."""
        inputs: Tensor = self.outer(nn.functional.silu(self.inner(x)))
        return inputs


class Talker(nn.Module):
    """The first of the two stages: prompt and earlier frames in, scores of the next code out."""

    def __init__(self, config: TalkerConfig) -> None:
        super().__init__()
        size = config.transformer.hidden_size
        self.config = config
        self.text_embedding = nn.Embedding(config.text_vocab_size, config.text_hidden_size)
        self.text_projection = TextProjection(config.text_hidden_size, size)
        self.codec_embedding = nn.Embedding(config.codec_vocab_size, size)
        self.transformer = gated_transformer(config.transformer, qk_norm=True)
        self.codec_head = nn.Linear(size, config.codec_vocab_size, bias=False)

    def embed_text(self, ids: Tensor) -> Tensor:
        """Talker inputs [T, D] for text ids [T], or with more dimensions in front."""
        inputs: Tensor = self.text_projection(self.text_embedding(ids))
        return inputs

    def embed_code(self, codes: Tensor) -> Tensor:
        """Talker inputs [T, D] for first codes or control ids [T], of any dimensions."""
        inputs: Tensor = self.codec_embedding(codes)
        return inputs

    def no_rows(self) -> Tensor:
        """Talker inputs [0, D] where and as the talker's inputs are."""
        weight = self.text_projection.outer.weight
        return weight.new_empty(0, len(weight))

    def forward(
        self,
        inputs: Tensor,
        positions: Tensor,
        cache: LayerCache | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        """The hidden states [B, T, D], normed, of inputs [B, T, D] at `positions` [B, T].

        `codec_head` makes scores [B, T, V] of them.
        """
        hidden: Tensor = self.transformer(inputs, positions, mask, cache)
        return hidden
