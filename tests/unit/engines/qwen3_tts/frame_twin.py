"""The frame step in torch, with the interface of the kernels' own: what they are compared with."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from menura.engines.qwen3_tts import generate
from menura.engines.qwen3_tts.generate import Models
from menura.runtime.kv_cache import GrowingCache
from menura.runtime.native.frame import FrameRow
from menura.runtime.sampling import Sampling, draw
from menura.speech import FloatArray


class GivenNoise:
    """Noise that was drawn before, handed out in order."""

    seed = 0

    def __init__(self, numbers: Mapping[str, Sequence[FloatArray]]) -> None:
        self._numbers = {name: list(arrays) for name, arrays in numbers.items()}

    def draw(self, name: str, shape: tuple[int, ...]) -> FloatArray:
        numbers = self._numbers[name].pop(0)
        assert numbers.shape == shape
        return numbers


class TorchStep:
    """Rows one after another, each slot with a growing cache."""

    body = "twin"
    n_threads = 1

    def __init__(self, models: Models) -> None:
        self._models = models
        self.slots: dict[int, GrowingCache] = {}
        self.n_read = 0  # positions of prompts that were read

    @torch.inference_mode()
    def prefill(
        self, slot: int, position: int, inputs: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        if position == 0:
            self.slots[slot] = GrowingCache()
        cache = self.slots[slot]
        assert cache.n_positions == position
        self.n_read += len(inputs)
        for index in range(len(inputs)):  # one by one: sums do not know how many are read together
            hidden, scores = self._listen(cache, inputs[index])
        return hidden, scores

    @torch.inference_mode()
    def frame(self, rows: Sequence[FrameRow]) -> None:
        assert len({row.slot for row in rows}) == len(rows) <= 8
        for row in rows:
            self._frame(row)

    def export(self, slot: int, n_positions: int) -> NDArray[np.uint8]:
        cache = self.slots[slot]
        assert cache.n_positions == n_positions
        layers = self._models.talker.config.transformer.n_layers
        pairs = [torch.stack(cache.update(layer, *_none(cache, layer))) for layer in range(layers)]
        return torch.stack(pairs).numpy().view(np.uint8).reshape(-1).copy()

    def load(self, slot: int, n_positions: int, state: NDArray[np.uint8]) -> None:
        sizes = self._models.talker.config.transformer
        shape = (sizes.n_layers, 2, 1, sizes.n_kv_heads, n_positions, sizes.head_dim)
        numbers = torch.from_numpy(state.view(np.float32).reshape(shape).copy())
        self.slots[slot] = GrowingCache()
        for layer, (keys, values) in enumerate(numbers):
            self.slots[slot].update(layer, keys, values)

    def release(self, slot: int) -> None:
        self.slots.pop(slot, None)

    def _listen(self, cache: GrowingCache, row: FloatArray) -> tuple[FloatArray, FloatArray]:
        talker = self._models.talker
        inputs = torch.from_numpy(np.array(row, np.float32))[None, None]
        states = talker(inputs, torch.tensor([[cache.n_positions]]), cache)
        return states[0, -1].numpy(), talker.codec_head(states)[0, -1].numpy()

    def _frame(self, row: FrameRow) -> None:
        models, cache = self._models, self.slots[row.slot]
        assert cache.n_positions == row.position
        noise = GivenNoise({
            "code_predictor": [] if row.others_noise is None else list(row.others_noise),
            "talker": [] if row.first_noise is None else [row.first_noise],
        })  # fmt: skip
        assert isinstance(row.predictor, Sampling)
        assert isinstance(row.talker, Sampling)
        inputs = [models.talker.embed_code(torch.tensor(row.first))[None, None]]
        hidden = torch.from_numpy(row.hidden.copy())[None, None]
        others = models.code_predictor.predict(hidden, inputs[0], row.predictor, noise)
        inputs += [
            models.code_predictor.embed(i, drawn.code)[None, None]
            for i, drawn in enumerate(others, 1)
        ]
        frame = torch.cat(inputs, dim=1).sum(dim=1)[0] + torch.from_numpy(row.text)
        row.hidden, scores = self._listen(cache, frame.numpy())
        following = draw(
            torch.from_numpy(scores), row.talker, noise, generate.NOISE,
            seen=torch.from_numpy(row.seen), allowed=torch.from_numpy(row.allowed),
        )  # fmt: skip
        row.codes = np.array([row.first, *(int(drawn.code) for drawn in others)], np.int64)
        row.next_first = int(following.code)
        row.sound = np.array([bool(drawn.is_sound) for drawn in [*others, following]])


def _none(cache: GrowingCache, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
    """No new keys and values for a layer."""
    keys, values = cache._layers[layer]
    return keys[..., :0, :], values[..., :0, :]
