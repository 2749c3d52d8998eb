"""Which tensors a folder must hold, and of which shapes, without a look at any weight.

It is what `weights.load` asks for. The headers decide where a file may be written in two ways: how
a weight norm is stored, and whether the tensors for sampling block by block are there.
"""

from collections.abc import Mapping
from pathlib import Path

from menura.engines.contract import TensorShapes
from menura.engines.echo_tts import codec_tables, weights
from menura.engines.echo_tts.config_files import read_autoencoder, read_dit
from menura.engines.echo_tts.model_files import (
    AUTOENCODER_FOLDER,
    MODEL_FILE,
    PCA_FILE,
    Part,
    find_part,
    find_projection,
    is_autoencoder,
)


def expected_tensors(folder: Path) -> Mapping[str, TensorShapes]:
    """Weights file -> tensor -> shape, None for a tensor that no part takes and that may be there.

    `folder` holds the transformer, and perhaps the autoencoder inside it, or it is that of the
    autoencoder alone.

    Raises: ModelFilesError: a file is missing or wrong.
    """
    if folder.name == AUTOENCODER_FOLDER or is_autoencoder(folder):
        return {MODEL_FILE: _codec(folder)}
    expected: dict[str, TensorShapes] = {MODEL_FILE: _dit(folder)}
    if (folder / PCA_FILE).is_file():
        expected[PCA_FILE] = _pca(folder)
    inside = folder / AUTOENCODER_FOLDER
    if inside.is_dir():
        expected[f"{AUTOENCODER_FOLDER}/{MODEL_FILE}"] = _codec(inside)
    return expected


def _dit(folder: Path) -> TensorShapes:
    """With the tensors for blocks if any of them is in the file: then all must be."""
    config = read_dit(folder)
    found = find_part(folder, Part.TRANSFORMER)
    blockwise = weights.blockwise_stored(config).shapes
    has_blockwise = not blockwise.keys().isdisjoint(found)
    return weights.dit_stored(config).shapes | (blockwise if has_blockwise else {})


def _pca(folder: Path) -> TensorShapes:
    """The autoencoder's channels are as many as the file's own mean has."""
    mean = find_projection(folder).get(weights.MEAN)
    n_channels = mean.entry.shape[-1] if mean and mean.entry.shape else 0
    return weights.pca_shapes(read_dit(folder).latent_size, n_channels)


def _codec(folder: Path) -> TensorShapes:
    config = read_autoencoder(folder)
    stored = weights.codec_stored(config, find_part(folder, Part.AUTOENCODER).keys())
    return dict.fromkeys(codec_tables.buffers(config)) | stored.shapes
