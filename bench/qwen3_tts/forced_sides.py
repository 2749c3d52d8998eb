"""A fast mode that is shown a prompt and then codes: its states, and the scores of every draw.

In the kernels a prompt is read in one pass. In torch it is read row by row, as frames are, because
many rows at once take another way there, which is closer to float32.

Legend: T positions, L layers, D width, V entries, Q codebooks, M talker vocabulary.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from menura.engines.qwen3_tts.accelerate import Running
from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.engines.qwen3_tts.generate import Models
from menura.engines.qwen3_tts.native_rows import NativeRows
from menura.nn.transformer import Transformer
from menura.runtime.kv_cache import GrowingCache
from menura.runtime.native.frame import FrameRow, FrameStep
from menura.runtime.sampling import Sampling
from menura.speech import FloatArray

GREEDY = Sampling(do_sample=False)


class Side(Protocol):
    """One utterance of a fast mode, whose codes are given."""

    def trace(self, which: str, inputs: Tensor) -> FloatArray:
        """The states [L + 1, T, D] after each layer and the final norm, for inputs [T, D]."""
        ...

    def start(self, prompt: Tensor) -> FloatArray:
        """The first code's scores [M] after a prompt's rows [T, D]."""
        ...

    def frame(self, codes: NDArray[np.int64], text: Tensor) -> Sequence[FloatArray]:
        """The scores of the codes 1 to Q - 1, each [V], and of the next first code [M].

        The frame's codes [Q] are shown in place of drawn ones, with the text row [D].
        """
        ...


def side_of(running: Running, config: Qwen3TTSConfig) -> Side:
    """The side of a loaded checkpoint."""
    if isinstance(running.frames, NativeRows):
        assert isinstance(running.frames.step, FrameStep)
        return NativeSide(running.frames.step, config)
    return TorchSide(running.models)


class NativeSide:
    """The kernels' frame step, in its slot 0."""

    def __init__(self, step: FrameStep, config: Qwen3TTSConfig) -> None:
        self._step = step
        self._talker = config.talker
        self._position = 0
        self._hidden = np.zeros(0, np.float32)

    def trace(self, which: str, inputs: Tensor) -> FloatArray:
        """The states [L + 1, T, D] for inputs [T, D]."""
        return self._step.trace(which, np.ascontiguousarray(inputs.numpy()))

    def start(self, prompt: Tensor) -> FloatArray:
        """The first code's scores [M] after a prompt's rows [T, D]."""
        self._step.release(0)
        self._position = len(prompt)
        self._hidden, scores = self._step.prefill(0, 0, np.ascontiguousarray(prompt.numpy()))
        return scores

    def frame(self, codes: NDArray[np.int64], text: Tensor) -> Sequence[FloatArray]:
        """The scores [V] and [M] of a frame's draws, with codes [Q] and the text row [D]."""
        size = self._talker.code_predictor.codebook_size
        n_others, n_first = self._talker.n_codebooks - 1, self._talker.codec_vocab_size
        call = FrameRow(
            slot=0,
            position=self._position,
            first=int(codes[0]),
            hidden=np.array(self._hidden),
            text=np.ascontiguousarray(text.numpy()),
            others_noise=None,
            first_noise=None,
            talker=GREEDY,
            predictor=GREEDY,
            seen=np.zeros(n_first, np.bool_),
            allowed=np.ones(n_first, np.bool_),
            forced=codes,
            scores=np.empty(n_others * size + n_first, np.float32),
        )
        self._step.frame([call])
        self._hidden = call.hidden
        self._position += 1
        assert call.scores is not None
        return np.split(call.scores, range(size, size * (n_others + 1), size))


class TorchSide:
    """The modules of a checkpoint, whatever layers are in them."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._cache = GrowingCache()
        self._hidden = torch.empty(0)

    def trace(self, which: str, inputs: Tensor) -> FloatArray:
        """The states [L + 1, T, D] for inputs [T, D]."""
        models = self._models
        part = models.code_predictor if which == "predictor" else models.talker
        cache = GrowingCache()
        rows = [
            states(part.transformer, row[None], cache, position)
            for position, row in enumerate(inputs)
        ]
        return np.concatenate(rows, axis=1)

    @torch.inference_mode()
    def start(self, prompt: Tensor) -> FloatArray:
        """The first code's scores [M] after a prompt's rows [T, D]."""
        self._cache = GrowingCache()
        for row in prompt:
            scores = self._listen(row)
        return scores

    @torch.inference_mode()
    def frame(self, codes: NDArray[np.int64], text: Tensor) -> Sequence[FloatArray]:
        """The scores [V] and [M] of a frame's draws, with codes [Q] and the text row [D]."""
        predictor, talker = self._models.code_predictor, self._models.talker
        shown = torch.from_numpy(codes)
        embedded = [talker.embed_code(shown[0])[None, None]]
        embedded += [
            predictor.embed(codebook, shown[codebook])[None, None]
            for codebook in range(1, len(codes))
        ]
        cache = GrowingCache()
        inputs = torch.cat((self._hidden, embedded[0]), dim=1)
        scores = []
        for codebook, head in enumerate(predictor.heads, start=1):
            first = cache.n_positions
            positions = torch.arange(first, first + inputs.shape[1])[None]
            hidden = predictor.transformer(predictor.projection(inputs), positions, None, cache)
            scores.append(head(hidden)[0, -1].numpy())
            inputs = embedded[codebook]
        frame = torch.cat(embedded, dim=1).sum(dim=1)[0]
        return [*scores, self._listen(frame + text)]

    def _listen(self, row: Tensor) -> FloatArray:
        """The first code's scores [M] after one more row [D]."""
        position = torch.tensor([[self._cache.n_positions]])
        self._hidden = self._models.talker(row[None, None], position, self._cache)
        scores: FloatArray = self._models.talker.codec_head(self._hidden)[0, -1].numpy()
        return scores


@torch.inference_mode()
def states(
    transformer: Transformer, inputs: Tensor, cache: GrowingCache | None = None, first: int = 0
) -> FloatArray:
    """The states [L + 1, T, D] after every layer and the final norm, for inputs [T, D]."""
    found: list[FloatArray] = []

    def keep(module: nn.Module, given: object, state: Tensor) -> None:
        del module, given
        found.append(state[0].numpy())

    parts = [*transformer.blocks, transformer.final_norm]
    hooks = [part.register_forward_hook(keep) for part in parts]
    positions = torch.arange(first, first + len(inputs))[None]
    transformer(inputs[None], positions, None, cache)
    for hook in hooks:
        hook.remove()
    return np.stack(found)
