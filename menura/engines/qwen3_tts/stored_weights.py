"""A checkpoint whose transformers run in native kernels: everything is mapped, little is read.

The parts are the plain modules, with their numbers as the files store them, mapped and untouched.
What still runs in torch is made fit for it: the tables of embeddings give float32 rows (which is
exact for any stored format), and the small networks are converted.

Legend: N entries, B rows, T ids, D width.
"""

from pathlib import Path

import torch
from torch import Tensor, nn

from menura.engines.qwen3_tts import weights
from menura.engines.qwen3_tts.config import Qwen3TTSConfig
from menura.engines.qwen3_tts.config_files import CODEC_FOLDER
from menura.engines.qwen3_tts.weights import Parts
from menura.runtime import checkpoint_tensors, found_tensors
from menura.runtime.checkpoint_tensors import TensorReader
from menura.runtime.tensor_names import tensor_names, tensor_shapes
from menura.speech import FloatArray

_CPU = torch.device("cpu")


class StoredEmbedding(nn.Module):
    """A table that stays as it is stored; its rows come out in float32."""

    def __init__(self, n_entries: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_entries, size))

    def forward(self, ids: Tensor) -> Tensor:
        """The rows [B, T, D] of ids [B, T], or of ids with other dimensions."""
        return nn.functional.embedding(ids, self.weight).float()


class StoredWeights:
    """The checked files of one checkpoint: parts of it, single tensors, and what names it all."""

    def __init__(self, folder: Path, config: Qwen3TTSConfig) -> None:
        """Only headers are read. Raises: ModelFilesError: a tensor is missing or does not fit."""
        self._are_checked = False
        self.parts = _build(config)
        self._model, self._codec = weights.modules(self.parts)
        self._names = tensor_names(self._model, weights.model_table(config))
        self._codec_names = tensor_names(self._codec, weights.codec_table(config))
        self._tensors = found_tensors.find_tensors(folder)
        self._codec_tensors = found_tensors.find_tensors(folder / CODEC_FOLDER)
        self._reader = TensorReader(self._tensors, _CPU, torch.float32)
        unused = weights.unused_codec_tensors(config.codec.encoder, config.codec.n_codebooks)
        checkpoint_tensors.check(tensor_shapes(self._model, self._names), self._tensors, ())
        needed = tensor_shapes(self._codec, self._codec_names)
        checkpoint_tensors.check(needed, self._codec_tensors, unused)

    def digest(self) -> str:
        """What names the numbers of all files."""
        model = found_tensors.digest(self._tensors)
        return f"{model}-{found_tensors.digest(self._codec_tensors)}"

    def check_numbers(self) -> None:
        """Nothing, after every number was looked at. Raises: ModelFilesError: one is NaN."""
        if self._are_checked:
            return
        for published in self._names.values():
            checkpoint_tensors.check_numbers(published, self._tensors[published])
        for published in self._codec_names.values():
            checkpoint_tensors.check_numbers(published, self._codec_tensors[published])
        self._are_checked = True

    def read(self, name: str) -> FloatArray:
        """The numbers float32 [n] or [n, m] of a parameter, such as `talker.codec_head.weight`."""
        numbers: FloatArray = self._reader.read(self._names[name]).numpy()
        return numbers

    def load(self) -> Parts:
        """The parts, mapped; what runs in torch is in float32."""
        for modules, names, tensors in (
            (self._model, self._names, self._tensors),
            (self._codec, self._codec_names, self._codec_tensors),
        ):
            reader = TensorReader(tensors, _CPU, None, looks_at_numbers=False)
            checkpoint_tensors.load(modules, names, reader)
        self.parts.talker.text_projection.float()
        if self.parts.speaker_encoder is not None:
            self.parts.speaker_encoder.float()
        self.parts.codec_encoder.float()
        self.parts.codec_decoder.float()
        return self.parts


def _build(config: Qwen3TTSConfig) -> Parts:
    """The parts without memory, with tables that stay as they are stored."""
    parts = weights.build(config)
    with checkpoint_tensors.without_memory():
        for owner in (parts.talker, parts.code_predictor):
            tables = [
                (name, module)
                for name, module in owner.named_modules()
                if isinstance(module, nn.Embedding)
            ]
            for name, table in tables:
                stored = StoredEmbedding(table.num_embeddings, table.embedding_dim)
                owner.set_submodule(name, stored)
    return parts
