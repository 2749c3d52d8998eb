"""Upstream's package echo-tts, imported and loaded in its own environment.

Used by the parity tests' and the bench's upstream sides; it imports nothing of Menura. Upstream
imports torchaudio and torchcodec while it is imported, though it only reads and writes files with
them, and neither pairs with the pinned torch: a stand-in that reads files takes their place.
"""

import json
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RATE_HZ = 44_100
Config = Mapping[str, Any]


@dataclass(frozen=True)
class Package:
    """Upstream's three modules."""

    model: Any
    autoencoder: Any
    inference: Any


@dataclass(frozen=True)
class Loaded:
    """Upstream's package and its loaded models."""

    package: Package
    model: Any
    codec: Any
    pca: Any


def upstream_package() -> Package:
    """Upstream's modules, imported beside stand-ins for what reads and writes audio files."""
    sys.modules |= _stand_ins()
    import echo_tts.autoencoder  # noqa: PLC0415
    import echo_tts.inference  # noqa: PLC0415
    import echo_tts.model  # noqa: PLC0415

    return Package(echo_tts.model, echo_tts.autoencoder, echo_tts.inference)


def load(root: Path, dtype: Any = None, *, with_blockwise: bool = True) -> Loaded:
    """What upstream's own loaders make of `root`/jordand/...

    A `config.json` beside the weights states another size than the published one, which is written
    into upstream's code; without it the published size is loaded.
    """
    import torch  # noqa: PLC0415

    package = upstream_package()
    inference = package.inference
    sizes = _json(root / "jordand" / "echo-tts-base" / "config.json")
    codec_sizes = _json(root / "jordand" / "fish-s1-dac-min" / "config.json")
    published = inference.EchoDiT, inference.build_ae
    if sizes is not None:
        inference.EchoDiT = lambda **_: package.model.EchoDiT(**sizes)
    if codec_sizes is not None:
        inference.build_ae = lambda: codec_of(package.autoencoder, codec_sizes)
    where = {"device": "cpu", "model_path": str(root)}
    try:
        return Loaded(
            package,
            inference.load_model_from_hf(
                dtype=dtype or torch.float32, delete_blockwise_modules=not with_blockwise, **where
            ),
            inference.load_fish_ae_from_hf(dtype=torch.float32, **where),
            inference.load_pca_state_from_hf(**where),
        )
    finally:
        inference.EchoDiT, inference.build_ae = published


def codec_of(autoencoder: Any, sizes: Config) -> Any:
    """The codec of other sizes than the published ones, from upstream's classes."""
    return autoencoder.DAC(
        encoder_dim=sizes["encoder_dim"],
        encoder_rates=sizes["encoder_rates"],
        latent_dim=sizes["latent_dim"],
        decoder_dim=sizes["decoder_dim"],
        decoder_rates=sizes["decoder_rates"],
        quantizer=autoencoder.DownsampleResidualVectorQuantize(
            input_dim=sizes["latent_dim"],
            n_codebooks=sizes["n_codebooks"],
            codebook_size=sizes["codebook_size"],
            codebook_dim=sizes["codebook_dim"],
            semantic_codebook_size=sizes["semantic_codebook_size"],
            quantizer_dropout=0.5,
            downsample_factor=(2, 2),
            pre_module=_windowed_transformer(autoencoder, sizes),
            post_module=_windowed_transformer(autoencoder, sizes),
        ),
        sample_rate=sizes["sample_rate"],
        causal=sizes["causal"],
        encoder_transformer_layers=sizes["encoder_transformer_layers"],
        decoder_transformer_layers=[0, 0, 0, 0],
        transformer_general_config=lambda **given: autoencoder.ModelArgs(
            block_size=sizes["encoder_block_size"], head_dim=64, norm_eps=1e-5, **_known(given)
        ),
    )


def _windowed_transformer(autoencoder: Any, sizes: Config) -> Any:
    inside = autoencoder.ModelArgs(
        block_size=sizes["quantizer_block_size"],
        n_layer=sizes["quantizer_layers"],
        n_head=sizes["quantizer_heads"],
        head_dim=sizes["quantizer_head_dim"],
        dim=sizes["latent_dim"],
        intermediate_size=sizes["quantizer_ffn"],
        norm_eps=1e-5,
        channels_first=True,
    )
    return autoencoder.WindowLimitedTransformer(
        config=inside, input_dim=sizes["latent_dim"], window_size=sizes["quantizer_window"],
        causal=True,
    )  # fmt: skip


def _known(given: Config) -> Config:
    return {name: given[name] for name in ("n_layer", "n_head", "dim", "intermediate_size")}


def _json(path: Path) -> Config | None:
    """The published codec's `config.json` has other keys, so only ours is read."""
    if not path.is_file():
        return None
    found: Config = json.loads(path.read_text("utf-8"))
    return found if {"adaln_rank", "encoder_block_size"} & found.keys() else None


def _stand_ins() -> dict[str, types.ModuleType]:
    audio, functional = types.ModuleType("torchaudio"), types.ModuleType("torchaudio.functional")

    def read(path: str, **_: Any) -> tuple[Any, int]:
        import soundfile  # noqa: PLC0415
        import torch  # noqa: PLC0415

        samples, rate_hz = soundfile.read(path, dtype="float32", always_2d=True)
        return torch.from_numpy(samples.T.copy()), int(rate_hz)

    def resample(samples: Any, rate_hz: int, wanted_hz: int, **_: Any) -> Any:
        if rate_hz != wanted_hz:
            raise NotImplementedError("There is no torchaudio here: use recorded numbers.")
        return samples

    vars(functional).update(resample=resample)
    vars(audio).update(load=read, functional=functional)
    return {"torchaudio": audio, "torchaudio.functional": functional}
