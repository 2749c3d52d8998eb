"""Our modules, loaded apart from the engine, and what the comparisons ask of them.

Used by the parity tests and by those that compare with recorded numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from bench.echo_tts.activations import Given, activations, hooked
from menura.engines.contract import NoiseSource
from menura.engines.echo_tts import weights
from menura.engines.echo_tts.autoencoder import Autoencoder
from menura.engines.echo_tts.config import EchoConfig
from menura.engines.echo_tts.config_files import read_config
from menura.engines.echo_tts.dit import EchoDiT, Lane
from menura.engines.echo_tts.generate import (
    Conditions,
    SamplerRow,
    SamplerSettings,
    advance,
)
from menura.engines.echo_tts.guidance import Guidance, Rescale
from menura.engines.echo_tts.latents import LatentProjection, flattening_point, speaker_latents
from menura.engines.echo_tts.schedule import Schedules
from menura.engines.echo_tts.speaker_scale import SpeakerScale
from menura.engines.echo_tts.tokenizer import EchoTokenizer
from menura.runtime.torch_noise import TorchNoise
from tests.parity.echo_tts import cases
from tests.parity.echo_tts.cases import BASE, Options, OptionValue

Arrays = dict[str, NDArray[np.generic]]
FloatArray = NDArray[np.float32]
WINDOW = 640  # upstream's, where no length is asked for

# Where upstream's codec has what these modules of ours give.
CODEC_STAGES = {
    "encoder": "encoder",
    "encoder.block.0": "encoder.input_conv",
    "encoder.block.1": "encoder.blocks.0",
    "encoder.block.2": "encoder.blocks.1",
    "encoder.block.3": "encoder.blocks.2",
    "encoder.block.4": "encoder.transformer",
    "encoder.block.4.block.4": "encoder.blocks.3",
    "encoder.block.4.block.5": "encoder.transformer",
    "quantizer.downsample.0.0": "quantizer.downsampling.0.down",
    "quantizer.downsample.0": "quantizer.downsampling.0",
    "quantizer.downsample": "quantizer.downsampling.1",
    "quantizer.pre_module": "quantizer.pre",
    "quantizer.post_module": "quantizer.post",
    "quantizer.upsample.0": "quantizer.upsampling.0",
    "quantizer.upsample": "quantizer.upsampling.1",
    "decoder.model.0": "decoder.input_conv",
    "decoder.model.1": "decoder.blocks.0",
    "decoder.model.2": "decoder.blocks.1",
    "decoder.model.3": "decoder.blocks.2",
    "decoder.model.4": "decoder.blocks.3",
}


@dataclass(frozen=True)
class OurModel:
    """The loaded parts of one checkpoint, the blockwise ones too."""

    config: EchoConfig
    dit: EchoDiT
    autoencoder: Autoencoder
    projection: LatentProjection
    tokenizer: EchoTokenizer

    def ids(self, text: str) -> Tensor:
        """The ids int64 [S] of a text."""
        return torch.tensor(self.tokenizer.encode(text))

    def speaker(self, samples: FloatArray) -> FloatArray:
        """The latents [T, C] of a reference's samples [n] at 44.1 kHz."""
        return speaker_latents(self.autoencoder, self.projection, samples)

    def conditions(
        self, text: str, speaker: FloatArray | None, continuation: FloatArray | None = None
    ) -> Conditions:
        """What a row is given: a text, a reference's latents [T, C], latents to go on from."""
        with torch.inference_mode():
            return Conditions(
                self.dit.text_keys(self.ids(text)),
                None if speaker is None else self.dit.speaker_keys(torch.from_numpy(speaker)),
                None if continuation is None else torch.from_numpy(continuation),
            )

    def sample(
        self, options: Options, conditions: Conditions, noise: NoiseSource | int = 0
    ) -> FloatArray:
        """The latents [T, C] of one row alone, those it goes on from first."""
        [latents] = self.sample_rows(options, [(conditions, noise)])
        return latents

    def sample_rows(
        self, options: Options, rows: Sequence[tuple[Conditions, NoiseSource | int]]
    ) -> list[FloatArray]:
        """The latents [T, C] of rows that are sampled together."""
        schedules = Schedules(self.dit)
        with torch.inference_mode():
            samplers = [
                SamplerRow(
                    self.dit, settings(options), conditions,
                    TorchNoise(noise) if isinstance(noise, int) else noise, schedules,
                )
                for conditions, noise in rows
            ]  # fmt: skip
        while running := [row for row in samplers if not row.is_done]:
            advance(self.dit, running)
        return [
            _canvas(row, conditions) for row, (conditions, _) in zip(samplers, rows, strict=True)
        ]

    def decode(self, latents: FloatArray) -> FloatArray:
        """The samples [n] of latents [T, C] up to where they flatten."""
        speech = latents[: flattening_point(latents)]
        return self.autoencoder.decode(self.projection.to_z_q(speech))


def load(
    folder: Path, codec_folder: Path, dtype: torch.dtype = torch.float32, *, blockwise: bool = True
) -> OurModel:
    """The checkpoint of two folders, loaded on the CPU."""
    config = read_config(folder, codec_folder)
    parts = weights.load(
        folder, codec_folder, config, torch.device("cpu"), dtype, codec_dtype=torch.float32
    )
    if blockwise:
        parts.load_blockwise()
    autoencoder = Autoencoder(parts.encoder, parts.quantizer, parts.decoder, config.autoencoder)
    return OurModel(config, parts.dit, autoencoder, parts.projection, EchoTokenizer())


def settings(options: Options) -> SamplerSettings:
    """Our settings for upstream's options; those that are left out are BASE's."""
    asked = BASE | options
    k, sigma = asked["rescale_k"], asked["rescale_sigma"]
    scale, layers = asked["speaker_kv_scale"], asked["speaker_kv_max_layers"]
    blocks = asked.get("block_sizes")
    return SamplerSettings(
        n_steps=int(_number(asked["num_steps"])),
        guidance=Guidance(
            text=_number(asked["cfg_scale_text"]),
            speaker=_number(asked["cfg_scale_speaker"]),
            min_t=_number(asked["cfg_min_t"]),
            max_t=_number(asked["cfg_max_t"]),
            joint=asked.get("guidance") == "joint",
        ),
        n_frames=int(_number(asked["sequence_length"] or WINDOW)),
        truncation_factor=_maybe(asked["truncation_factor"]),
        rescale=None if k is None or sigma is None else Rescale(_number(k), _number(sigma)),
        speaker_scale=None if scale is None else SpeakerScale(
            _number(scale), None if layers is None else int(_number(layers)),
            _number(asked["speaker_kv_min_t"]), compounds=True,
        ),
        block_sizes=blocks if isinstance(blocks, tuple) else None,
    )  # fmt: skip


def codec_arrays(model: OurModel, given: Arrays) -> Arrays:
    """Every stage of the codec [C, P] from a clip and back, by upstream's names, and the rest."""
    codec, projection = model.autoencoder, model.projection
    parts = nn.ModuleDict(
        {"encoder": codec.encoder, "quantizer": codec.quantizer, "decoder": codec.decoder}
    )
    stages = {name: parts.get_submodule(path) for name, path in CODEC_STAGES.items()}
    clip = given["codec"].astype(np.float32, copy=False)
    with hooked(stages) as outputs:
        z_q = codec.encode(clip)
        decoded = codec.decode(z_q)
    codes = codec.codes(clip)
    latents = projection.to_latents(z_q)
    found: Arrays = {name: value[0].numpy() for name, value in outputs.items()}
    found |= {
        "codes": codes, "z_q": z_q, "decoded": decoded, "latents": latents,
        "z_q_of_latents": projection.to_z_q(latents),
        "decoded_codes": codec.decode(_z_q_of(codec, codes)),
        "reconstructed": codec.decode(projection.to_z_q(latents)),
        "decoded_random": codec.decode(projection.to_z_q(_floats(given["random_latents"]))),
        "decoded_flat": model.decode(_floats(given["flat"])),
    }  # fmt: skip
    return found


def block_arrays(model: OurModel, given: Arrays) -> Arrays:
    """The conditioning, the keys and values, and every trunk module at one time.

    And the velocity [T, C] of a block (`block.v_pred`) after the first latents of the prefix.
    """
    prefix = torch.from_numpy(_floats(given["prefix"]))
    asked = Given(
        ids=model.ids(cases.TEXT),
        speaker=torch.from_numpy(_floats(given["speaker"])),
        latents=torch.from_numpy(_floats(given["x"])),
        time=cases.T,
        prefix=prefix,
    )
    found = activations(model.dit, asked) | {"block.v_pred": _block_velocity(model.dit, asked)}
    return {name: value.numpy() for name, value in found.items()}


@torch.inference_mode()
def _block_velocity(dit: EchoDiT, given: Given) -> Tensor:
    assert given.prefix is not None
    filled = given.prefix[: cases.PREFIX_FRAMES]
    contexts = dit.latent_keys(filled), dit.text_keys(given.ids), dit.speaker_keys(given.speaker)
    [modulation] = dit.modulations(torch.tensor([given.time]))
    [velocity] = dit.velocities([Lane(given.latents, contexts, modulation, len(filled))])
    return velocity


def _z_q_of(codec: Autoencoder, codes: NDArray[np.int64]) -> FloatArray:
    with torch.inference_mode():
        z_q: Tensor = codec.quantizer.decode(torch.from_numpy(codes).T[None])
    return np.asarray(z_q[0].T.numpy(), np.float32)


def _canvas(row: SamplerRow, conditions: Conditions) -> FloatArray:
    assert row.error is None, row.error
    latents = row.new_frames()
    assert latents is not None
    before = conditions.continuation
    return latents if before is None else np.concatenate([before.numpy(), latents])


def _floats(array: NDArray[np.generic]) -> FloatArray:
    return array.astype(np.float32, copy=False)


def _number(value: OptionValue) -> float:
    assert isinstance(value, (int, float)), value
    return value


def _maybe(value: OptionValue) -> float | None:
    return None if value is None else _number(value)
