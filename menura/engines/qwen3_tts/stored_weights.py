"""A checkpoint whose transformers run in native kernels: everything is mapped, little is read.

The parts are the plain modules, with their numbers as the files store them, mapped and untouched,
and they are made when somebody asks for them: a request needs the tables of embeddings alone. What
still runs in torch is made fit for it: the tables give float32 rows (which is exact for any stored
format), and the small networks are converted.

Legend: N entries, B rows, T ids, D width.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn

from menura.engines.qwen3_tts import weights
from menura.engines.qwen3_tts.code_predictor import CodePredictor
from menura.engines.qwen3_tts.codec_decoder import CodecDecoder
from menura.engines.qwen3_tts.codec_encoder import CodecEncoder
from menura.engines.qwen3_tts.config import Qwen3TTSConfig, TalkerConfig, TransformerConfig
from menura.engines.qwen3_tts.config_files import CODEC_FOLDER
from menura.engines.qwen3_tts.generate import Models
from menura.engines.qwen3_tts.speaker_encoder import SpeakerEncoder
from menura.engines.qwen3_tts.talker import Talker
from menura.engines.qwen3_tts.weights import Names, Parts
from menura.runtime import checkpoint_tensors, found_tensors
from menura.runtime.checkpoint_tensors import TensorReader, without_memory
from menura.runtime.found_tensors import Found, UnchangedFiles
from menura.runtime.tensor_names import tensor_names, tensor_shapes
from menura.speech import FloatArray

_CPU = torch.device("cpu")
_Part = TypeVar("_Part", bound=nn.Module)


@dataclass(frozen=True)
class _Stored:
    """The tensors of one file or its shards, and the names by which parts find theirs."""

    tensors: Mapping[str, Found]
    table: Names


class StoredEmbedding(nn.Module):
    """A table that stays as it is stored; its rows come out in float32."""

    def __init__(self, n_entries: int, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_entries, size))

    def forward(self, ids: Tensor) -> Tensor:
        """The rows [B, T, D] of ids [B, T], or of ids with other dimensions."""
        return nn.functional.embedding(ids, self.weight).float()


class StoredWeights:
    """The files of one checkpoint: parts of it, single tensors, and what names it all."""

    def __init__(self, folder: Path, config: Qwen3TTSConfig) -> None:
        """Only headers are read. Raises: ModelFilesError: a file is missing or damaged."""
        self._config = config
        codec = found_tensors.find_tensors(folder / CODEC_FOLDER)
        self._model = _Stored(found_tensors.find_tensors(folder), weights.model_table(config))
        self._codec = _Stored(codec, weights.codec_table(config))
        self._files = UnchangedFiles({**self._model.tensors, **self._codec.tensors})
        self._reader = TensorReader(self._model.tensors, _CPU, torch.float32)
        self._names: Mapping[str, str] | None = None

    def digest(self) -> str:
        """What names the numbers of all files, and the sizes that the configuration gives them."""
        config = self._config
        sizes = repr((config.talker, config.speaker_encoder, config.codec)).encode()
        numbers = (found_tensors.digest(stored.tensors) for stored in (self._model, self._codec))
        return "-".join([*numbers, hashlib.sha256(sizes).hexdigest()[:16]])

    def check(self) -> None:
        """Nothing, after all tensors and every number of them were looked at, once.

        Raises: ModelFilesError: a tensor is missing or does not fit; a number is NaN or infinite.
        """
        if self._names is not None:
            return
        model, codec = weights.modules(weights.build(self._config))
        encoder, n_kept = self._config.codec.encoder, self._config.codec.n_codebooks
        names = _checked(self._model, model, frozenset())
        _checked(self._codec, codec, weights.unused_codec_tensors(encoder, n_kept))
        self._names = names

    def read(self, name: str) -> FloatArray:
        """The numbers float32 [n] or [n, m] of a parameter, such as `talker.codec_head.weight`.

        The files were checked.
        """
        assert self._names is not None, "the files were not checked"
        numbers: FloatArray = self._reader.read(self._names[name]).numpy()
        return numbers

    def prompt_models(self) -> Models:
        """Talker and code predictor without their blocks: the tables and networks of prompts."""
        return self._models(_without_blocks(self._config.talker))

    @cached_property
    def speaker_encoder(self) -> SpeakerEncoder | None:
        """The speaker encoder in float32; None where the checkpoint cannot clone."""
        if self._config.speaker_encoder is None:
            return None
        with without_memory():
            encoder = SpeakerEncoder(self._config.speaker_encoder)
        return self._filled("speaker_encoder", encoder, self._model).float()

    @cached_property
    def codec_encoder(self) -> CodecEncoder:
        """The codec's encoder in float32."""
        with without_memory():
            encoder = CodecEncoder(self._config.codec.encoder, self._config.codec.n_codebooks)
        return self._filled("encoder", encoder, self._codec).float()

    def codec_decoder(self) -> CodecDecoder:
        """The codec's decoder in float32, mapped for as long as it lives."""
        with without_memory():
            decoder = CodecDecoder(self._config.codec.decoder)
        return self._filled("decoder", decoder, self._codec).float()

    @cached_property
    def parts(self) -> Parts:
        """All parts, as the files store them; what runs in torch is in float32.

        Raises: ModelFilesError: the files have changed since they were opened.
        """
        models = self._models(self._config.talker)
        return Parts(
            talker=models.talker,
            code_predictor=models.code_predictor,
            speaker_encoder=self.speaker_encoder,
            codec_encoder=self.codec_encoder,
            codec_decoder=self.codec_decoder(),
        )

    def _models(self, config: TalkerConfig) -> Models:
        """Talker and code predictor, mapped; the projection of text is in float32."""
        size = config.transformer.hidden_size
        with without_memory():
            talker = _with_stored_tables(Talker(config))
            predictor = _with_stored_tables(CodePredictor(config.code_predictor, size))
        self._filled("talker", talker, self._model).text_projection.float()
        return Models(talker, self._filled("code_predictor", predictor, self._model))

    def _filled(self, name: str, part: _Part, stored: _Stored) -> _Part:
        """The part with its numbers, mapped."""
        self._files.check()
        reader = TensorReader(stored.tensors, _CPU, None, looks_at_numbers=False)
        checkpoint_tensors.load({name: part}, tensor_names({name: part}, stored.table), reader)
        return part


def _checked(
    stored: _Stored, parts: Mapping[str, nn.Module], unused: frozenset[str]
) -> Mapping[str, str]:
    """The tensor of each parameter, after all were looked at."""
    names = tensor_names(parts, stored.table)
    checkpoint_tensors.check(tensor_shapes(parts, names), stored.tensors, unused)
    for published in names.values():
        checkpoint_tensors.check_numbers(published, stored.tensors[published])
    return names


def _without_blocks(config: TalkerConfig) -> TalkerConfig:
    def none(sizes: TransformerConfig) -> TransformerConfig:
        return replace(sizes, n_layers=0)

    predictor = replace(config.code_predictor, transformer=none(config.code_predictor.transformer))
    return replace(config, transformer=none(config.transformer), code_predictor=predictor)


def _with_stored_tables(part: _Part) -> _Part:
    """The part with tables of embeddings that stay as they are stored."""
    modules = list(part.named_modules())
    tables = [(name, table) for name, table in modules if isinstance(table, nn.Embedding)]
    for name, table in tables:
        part.set_submodule(name, StoredEmbedding(table.num_embeddings, table.embedding_dim))
    return part
