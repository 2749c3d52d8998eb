"""Which tensors a checkpoint must hold, and of which shapes, as its configuration files say.

It is what `weights.load` asks for, without a look at any weight.
"""

from collections.abc import Mapping
from pathlib import Path

from torch import nn

from menura.engines.contract import TensorShapes
from menura.engines.qwen3_tts import weights
from menura.engines.qwen3_tts.config_files import CODEC_FOLDER, read_config
from menura.runtime.tensor_names import tensor_names, tensor_shapes

MODEL_FILE = "model.safetensors"
CODEC_FILE = f"{CODEC_FOLDER}/{MODEL_FILE}"


def expected_tensors(folder: Path) -> Mapping[str, TensorShapes]:
    """Weights file -> tensor -> shape, None for a tensor that no part takes and that may be there.

    Raises: ModelFilesError: a configuration file is missing or wrong.
    """
    config = read_config(folder)
    model, codec = weights.modules(weights.build(config))
    unused = weights.unused_codec_tensors(config.codec.encoder, config.codec.n_codebooks)
    return {
        MODEL_FILE: _shapes(model, weights.model_table(config)),
        CODEC_FILE: dict.fromkeys(unused) | _shapes(codec, weights.codec_table(config)),
    }


def _shapes(
    modules: Mapping[str, nn.Module], table: Mapping[str, str]
) -> dict[str, tuple[int, ...] | None]:
    return {**tensor_shapes(modules, tensor_names(modules, table))}
