"""The plain torch twin of the native step: the model's own modules, row by row, in float32.

And small random models whose sizes the kernels can take (widths and heads of multiples of 16).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from menura.engines.qwen3_tts.code_predictor import CodePredictor
from menura.engines.qwen3_tts.config import CodePredictorConfig, TalkerConfig, TransformerConfig
from menura.engines.qwen3_tts.talker import Talker
from menura.runtime.kv_cache import GrowingCache
from menura.runtime.native.frame import FrameRow, FrameSizes, FrameStep, layout, pack
from menura.runtime.sampling import Sampling
from menura.speech import FloatArray

N_CODEBOOKS = 4
CODEBOOK_SIZE = 40
VOCABULARY = 72
SAMPLED = Sampling(temperature=0.9, top_k=20, top_p=0.95, repetition_penalty=1.05)


@dataclass(frozen=True)
class Model:
    """Both parts, in torch."""

    talker: Talker
    predictor: CodePredictor

    @property
    def width(self) -> int:
        """The talker's."""
        return self.talker.config.transformer.hidden_size

    @property
    def sizes(self) -> FrameSizes:
        """What the native step needs to know of it."""
        config = self.talker.config
        return FrameSizes(
            config.transformer,
            config.code_predictor.transformer,
            config.n_codebooks,
            config.codec_vocab_size,
            config.code_predictor.codebook_size,
            n_slots=12,
        )


def random_model(width: int = 48, predictor_width: int = 32, seed: int = 0) -> Model:
    """A model whose weights are bf16 numbers, as those of the published files are."""
    talker = TransformerConfig(width, 80, 3, 4, 2, 16, 1e-6, 1e6)
    predictor = TransformerConfig(predictor_width, 64, 2, 2, 1, 16, 1e-6, 1e6)
    config = TalkerConfig(
        talker, CodePredictorConfig(predictor, CODEBOOK_SIZE, N_CODEBOOKS),
        text_hidden_size=10, text_vocab_size=30, codec_vocab_size=VOCABULARY,
        n_codebooks=N_CODEBOOKS, pad_id=64, bos_id=65, eos_id=66, think_id=67, nothink_id=68,
        think_bos_id=69, think_eos_id=70, language_ids={}, speaker_ids={}, speaker_dialects={},
    )  # fmt: skip
    model = Model(Talker(config), CodePredictor(config.code_predictor, width))
    generator = torch.Generator().manual_seed(seed)
    for module in (model.talker, model.predictor):
        for name, parameter in module.named_parameters():
            parameter.data = _drawn(name, parameter.shape, generator).bfloat16().float()
    return model


def _drawn(name: str, shape: torch.Size, generator: torch.Generator) -> Tensor:
    numbers = torch.randn(shape, generator=generator)
    if "norm" in name:
        return numbers.mul(0.1).add(1)
    if "embedding" in name or "bias" in name:
        return numbers.mul(0.5)
    return numbers.div(shape[1] ** 0.5)


def native_step(model: Model, mode: str, threads: int = 1) -> FrameStep:
    """The model's native step."""
    parts: dict[str, nn.Module] = {"talker": model.talker, "code_predictor": model.predictor}
    found = {
        f"{part}.{name}": parameter.detach().numpy()
        for part, module in parts.items()
        for name, parameter in module.named_parameters()
    }
    sizes = model.sizes
    arrays = {
        entry.name: pack(entry, found.__getitem__, sizes, mode) for entry in layout(sizes, mode)
    }
    return FrameStep(sizes, mode, arrays, threads)


def numbers(*shape: int, seed: int = 0) -> FloatArray:
    """Normal numbers of the given shape, as float32."""
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def row_of(model: Model, slot: int, position: int, seed: int = 0) -> FrameRow:
    """A row with its own state, text, noise and first code."""
    draws = np.random.default_rng([seed, position])
    allowed = np.zeros(VOCABULARY, np.bool_)
    allowed[:CODEBOOK_SIZE] = True
    return FrameRow(
        slot=slot,
        position=position,
        first=int(draws.integers(CODEBOOK_SIZE)),
        hidden=numbers(model.width, seed=seed),
        text=numbers(model.width, seed=seed + 1),
        others_noise=draws.exponential(size=(N_CODEBOOKS - 1, CODEBOOK_SIZE)).astype(np.float32),
        first_noise=draws.exponential(size=VOCABULARY).astype(np.float32),
        talker=SAMPLED,
        predictor=SAMPLED,
        seen=draws.random(VOCABULARY) < 0.2,
        allowed=allowed,
    )


class Twin:
    """One utterance in torch. Its codes are given, so that it can follow another's choices."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._cache = GrowingCache()

    @torch.inference_mode()
    def listen(self, inputs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The last state [D] and its scores [V] after inputs [T, D]."""
        start = self._cache.n_positions
        positions = torch.arange(start, start + len(inputs))[None]
        states = self._model.talker(torch.from_numpy(inputs)[None], positions, self._cache)
        scores = self._model.talker.codec_head(states)[0, -1]
        return states[0, -1].numpy(), scores.numpy()

    @torch.inference_mode()
    def frame(
        self, hidden: FloatArray, text: FloatArray, codes: NDArray[np.int64]
    ) -> tuple[FloatArray, FloatArray]:
        """The next state [D] and the scores [(Q - 1) * C + V] of a frame with these codes [Q]."""
        shown = list(self._embedded(codes))
        states = torch.from_numpy(hidden)[None], *shown
        predictor, cache, scores = self._model.predictor, GrowingCache(), []
        for codebook, head in enumerate(predictor.heads):
            start = 0 if codebook == 0 else codebook + 1
            inputs = torch.cat(states[start : codebook + 2])[None]
            positions = torch.arange(start, codebook + 2)[None]
            out = predictor.transformer(predictor.projection(inputs), positions, None, cache)
            scores.append(head(out)[0, -1].numpy())
        heard = torch.cat(shown).sum(dim=0).numpy() + text
        following, last = self.listen(heard[None])
        return following, np.concatenate([*scores, last])

    def _embedded(self, codes: NDArray[np.int64]) -> Iterator[Tensor]:
        yield self._model.talker.embed_code(torch.tensor([codes[0]]))
        for codebook, code in enumerate(codes[1:], 1):
            yield self._model.predictor.embed(codebook, torch.tensor([code]))


def relative_error(found: FloatArray, exact: FloatArray) -> float:
    """The size of the difference in sizes of the exact numbers."""
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))
