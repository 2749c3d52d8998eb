"""What one Echo-TTS checkpoint is: every size and rate of the transformer and of its autoencoder.

`PUBLISHED` is the only model that was published (`jordand/echo-tts-base` with the autoencoder
`jordand/fish-s1-dac-min`); its repository has no configuration file. `config_files.read_config`
gives it, or the sizes of another folder.

Source: section 2 and 5 of the specification, checked against the published tensors' shapes.
"""

import math
from dataclasses import dataclass

ROPE_THETA = 10_000.0


@dataclass(frozen=True)
class EncoderConfig:
    """The sizes of one conditioning encoder: of text, of the speaker or of earlier latents."""

    hidden_size: int
    intermediate_size: int
    n_layers: int
    n_heads: int

    @property
    def head_dim(self) -> int:
        """The size of one attention head."""
        return self.hidden_size // self.n_heads


@dataclass(frozen=True)
class DiTConfig:
    """The diffusion transformer. The encoder of earlier latents has the speaker encoder's sizes.

    `patch_size`: the latents that the speaker encoder reads as one position.
    """

    latent_size: int
    hidden_size: int
    intermediate_size: int
    n_layers: int
    n_heads: int
    norm_eps: float
    text_vocab_size: int
    text: EncoderConfig
    speaker: EncoderConfig
    patch_size: int
    timestep_size: int
    adaln_rank: int

    @property
    def head_dim(self) -> int:
        """The size of one attention head."""
        return self.hidden_size // self.n_heads


@dataclass(frozen=True)
class WindowedTransformerConfig:
    """One transformer of the autoencoder, in which a position sees the `window` last ones."""

    hidden_size: int
    intermediate_size: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    norm_eps: float
    rope_theta: float
    window: int


@dataclass(frozen=True)
class AutoencoderConfig:
    """The autoencoder: samples to `latent_dim` channels and back.

    The rates are in the order in which encoder and decoder walk them. `encoder_width` and
    `decoder_width` are the channels of the first layer; each block doubles or halves them.
    `n_codebooks` counts the residual ones. `encoder_transformer` ends the encoder's last block.
    """

    sample_rate_hz: int
    latent_dim: int
    encoder_width: int
    encoder_rates: tuple[int, ...]
    decoder_width: int
    decoder_rates: tuple[int, ...]
    n_codebooks: int
    codebook_size: int
    codebook_dim: int
    semantic_codebook_size: int
    downsample_factors: tuple[int, ...]
    quantizer_transformer: WindowedTransformerConfig
    encoder_transformer: WindowedTransformerConfig | None

    @property
    def samples_per_frame(self) -> int:
        """The samples that one latent stands for."""
        return math.prod((*self.encoder_rates, *self.downsample_factors))

    @property
    def frame_rate_hz(self) -> float:
        """Latents in a second of audio."""
        return self.sample_rate_hz / self.samples_per_frame


@dataclass(frozen=True)
class EchoConfig:
    """One checkpoint: the diffusion transformer and the autoencoder that it was trained with."""

    dit: DiTConfig
    autoencoder: AutoencoderConfig


PUBLISHED = EchoConfig(
    dit=DiTConfig(
        latent_size=80,
        hidden_size=2048,
        intermediate_size=5888,
        n_layers=24,
        n_heads=16,
        norm_eps=1e-5,
        text_vocab_size=256,
        text=EncoderConfig(1280, 3328, 14, 10),
        speaker=EncoderConfig(1280, 3328, 14, 10),
        patch_size=4,
        timestep_size=512,
        adaln_rank=256,
    ),
    autoencoder=AutoencoderConfig(
        sample_rate_hz=44_100,
        latent_dim=1024,
        encoder_width=64,
        encoder_rates=(2, 4, 8, 8),
        decoder_width=1536,
        decoder_rates=(8, 8, 4, 2),
        n_codebooks=9,
        codebook_size=1024,
        codebook_dim=8,
        semantic_codebook_size=4096,
        downsample_factors=(2, 2),
        quantizer_transformer=WindowedTransformerConfig(
            1024, 3072, 8, 16, 16, 64, 1e-5, ROPE_THETA, window=128
        ),
        encoder_transformer=WindowedTransformerConfig(
            1024, 3072, 4, 16, 16, 64, 1e-5, ROPE_THETA, window=512
        ),
    ),
)
