"""The weights of a checkpoint: what each file must hold, and the loading.

    <transformer>/pytorch_model.safetensors   EchoDiT; 219 of its tensors only for blocks
    <transformer>/pca_state.safetensors       latents to the autoencoder's channels and back
    <autoencoder>/pytorch_model.safetensors   encoder, quantizer, decoder; weight norm is folded

The names are in `dit_tables.py` and `codec_tables.py`. The blockwise tensors are checked with the
others and read when blocks are asked for. The autoencoder's stored masks and rotary tables are
allowed and not read.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from menura.engines.echo_tts import codec_tables
from menura.engines.echo_tts.autoencoder_decoder import AutoencoderDecoder
from menura.engines.echo_tts.autoencoder_encoder import AutoencoderEncoder
from menura.engines.echo_tts.blockwise import BlockwiseParts
from menura.engines.echo_tts.bottleneck import Quantizer
from menura.engines.echo_tts.config import AutoencoderConfig, DiTConfig, EchoConfig
from menura.engines.echo_tts.config_files import CONFIG_FILE
from menura.engines.echo_tts.dit import EchoDiT
from menura.engines.echo_tts.dit_tables import blockwise_table, dit_table
from menura.engines.echo_tts.latents import LatentProjection
from menura.engines.echo_tts.model_files import Part, find_part, find_projection
from menura.errors import ModelFilesError
from menura.runtime.checkpoint_tensors import (
    TensorReader,
    check,
    fill,
    without_memory,
)
from menura.runtime.found_tensors import Found, UnchangedFiles
from menura.runtime.tensor_names import Shape, Source, tensor_names, tensor_shapes

COMPONENTS, MEAN, SCALE = "pca_components", "pca_mean", "latent_scale"
_CODEBOOK = ".codebook.weight"


@dataclass(frozen=True)
class Stored:
    """Modules without memory, what is stored for each of their parameters, and the shapes."""

    parts: Mapping[str, nn.Module]
    names: Mapping[str, Source]

    @property
    def shapes(self) -> dict[str, Shape]:
        """The stored tensors and their shapes."""
        return tensor_shapes(self.parts, self.names)


class Parts:
    """The modules of one checkpoint; those for blocks come with `load_blockwise`.

    `later` are the tensors of these, none where the file has none: see `has_blockwise`.
    """

    def __init__(
        self,
        dit: EchoDiT,
        codec: tuple[AutoencoderEncoder, Quantizer, AutoencoderDecoder],
        projection: LatentProjection,
        later: Mapping[str, Found],
    ) -> None:
        self.dit = dit
        self.encoder, self.quantizer, self.decoder = codec
        self.projection = projection
        self._later = later
        self._files = UnchangedFiles(later)

    @property
    def has_blockwise(self) -> bool:
        """Whether blocks can be sampled with this checkpoint."""
        return bool(self._later)

    def load_blockwise(self) -> None:
        """Attach the blockwise parts to the transformer, unless they are there already.

        Raises: ModelFilesError: a tensor is damaged, or the file has changed since it was loaded.
        """
        if self.dit.blockwise is not None:
            return
        assert self._later, "the file has no blockwise tensors"
        self._files.check()
        stored = blockwise_stored(self.dit.config)
        fill(stored.parts, stored.names, self._later, (), self.dit.device, self.dit.dtype)
        parts = stored.parts["blockwise"]
        assert isinstance(parts, BlockwiseParts)
        self.dit.blockwise = parts


def load(
    folder: Path,
    autoencoder_folder: Path,
    config: EchoConfig,
    device: torch.device,
    dtype: torch.dtype,
    codec_dtype: torch.dtype = torch.float32,
) -> Parts:
    """Every part on a device: the transformer in one dtype, the autoencoder in its own.

    The projection between their latents is always in float32.

    Raises: ModelFilesError: a tensor is missing, unknown, damaged or of a wrong shape; its name is
        in the message.
    """
    projection = _load_projection(folder, autoencoder_folder, config, device)
    codec = _load_codec(autoencoder_folder, config.autoencoder, device, codec_dtype)
    tensors = find_part(folder, Part.TRANSFORMER)
    stored, blockwise = dit_stored(config.dit), blockwise_stored(config.dit).shapes
    later = {name: tensors[name] for name in blockwise if name in tensors}
    _check(folder, stored.shapes | (blockwise if later else {}), tensors)
    fill(stored.parts, stored.names, tensors, blockwise, device, dtype)
    dit = stored.parts["dit"]
    assert isinstance(dit, EchoDiT)
    return Parts(dit, codec, projection, later)


def _check(
    folder: Path,
    wanted: Mapping[str, Shape],
    tensors: Mapping[str, Found],
    unused: Collection[str] = (),
) -> None:
    """Nothing. Raises: ModelFilesError: as `check`, and where the sizes come from no file."""
    try:
        check(wanted, tensors, unused)
    except ModelFilesError as error:
        if (folder / CONFIG_FILE).is_file():
            raise
        raise ModelFilesError(
            f"{error.message} There is no {CONFIG_FILE} in {folder}, so the published sizes were "
            "assumed."
        ) from error


def _load_projection(
    folder: Path, autoencoder_folder: Path, config: EchoConfig, device: torch.device
) -> LatentProjection:
    tensors = find_projection(folder)
    shapes = pca_shapes(config.dit.latent_size, config.autoencoder.latent_dim)
    _check(autoencoder_folder, shapes, tensors)
    reader = TensorReader(tensors, device, torch.float32)
    scale = reader.read(SCALE)
    if not scale.all():
        raise ModelFilesError(f"{tensors[SCALE].path}: {SCALE!r} is 0, and latents divide by it.")
    return LatentProjection(reader.read(COMPONENTS), reader.read(MEAN), scale)


def _load_codec(
    folder: Path, config: AutoencoderConfig, device: torch.device, dtype: torch.dtype
) -> tuple[AutoencoderEncoder, Quantizer, AutoencoderDecoder]:
    tensors = find_part(folder, Part.AUTOENCODER)
    stored = codec_stored(config, tensors.keys())
    _check(folder, stored.shapes, tensors, codec_tables.buffers(config))
    fill(stored.parts, stored.names, tensors, codec_tables.buffers(config), device, dtype)
    encoder, quantizer, decoder = stored.parts.values()
    assert isinstance(encoder, AutoencoderEncoder)
    assert isinstance(quantizer, Quantizer)
    assert isinstance(decoder, AutoencoderDecoder)
    return encoder, quantizer, decoder


def dit_stored(config: DiTConfig) -> Stored:
    """The transformer without the parts for blocks."""
    with without_memory():
        parts = {"dit": EchoDiT(config)}
    return Stored(parts, tensor_names(parts, dit_table(config)))


def blockwise_stored(config: DiTConfig) -> Stored:
    """The parts for blocks."""
    with without_memory():
        parts = {"blockwise": BlockwiseParts(config)}
    return Stored(parts, tensor_names(parts, blockwise_table(config)))


def codec_stored(config: AutoencoderConfig, found: Collection[str]) -> Stored:
    """The autoencoder, as a file that holds the `found` tensors stores it.

    There are two ways to store a weight norm, and the published file uses both.
    """
    with without_memory():
        parts = {
            "encoder": AutoencoderEncoder(config),
            "quantizer": Quantizer(config),
            "decoder": AutoencoderDecoder(config),
        }
    names = tensor_names(parts, codec_tables.table(config))
    sources = {ours: codec_tables.source(ours, name, found) for ours, name in names.items()}
    return Stored(parts, sources)


def pca_shapes(latent_size: int, latent_dim: int) -> dict[str, Shape]:
    """The tensors of the projection between the two kinds of latents."""
    return {COMPONENTS: (latent_size, latent_dim), MEAN: (latent_dim,), SCALE: (1,)}


def autoencoder_fingerprint(folder: Path) -> str:
    """What names the autoencoder: a digest of its codebooks, however its file is laid out.

    Fish S2's codec has tensors of the same names and shapes, and gives wrong audio here.

    Raises: ModelFilesError: the file is missing or damaged.
    """
    tensors = find_part(folder, Part.AUTOENCODER)
    codebooks = sorted(name for name in tensors if name.endswith(_CODEBOOK))
    check({name: tensors[name].entry.shape for name in codebooks}, tensors, tensors.keys())
    reader = TensorReader(tensors, torch.device("cpu"), torch.float32)
    digest = hashlib.sha256()
    for name in codebooks:
        digest.update(name.encode())
        digest.update(_bytes_of(reader.read(name)))
    return digest.hexdigest()[:16]


def _bytes_of(numbers: Tensor) -> bytes:
    return numbers.contiguous().numpy().tobytes()
