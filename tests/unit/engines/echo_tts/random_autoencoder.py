"""An autoencoder with few channels and random weights: 16 samples a latent, a window of 4."""

import torch

from menura.engines.echo_tts.autoencoder import Autoencoder
from menura.engines.echo_tts.autoencoder_decoder import AutoencoderDecoder
from menura.engines.echo_tts.autoencoder_encoder import AutoencoderEncoder
from menura.engines.echo_tts.bottleneck import Quantizer
from menura.engines.echo_tts.config import AutoencoderConfig, WindowedTransformerConfig

SAMPLES_PER_FRAME = 16
LATENT_DIM = 8
N_CODEBOOKS = 3
WINDOW = 4


def transformer_config(window: int) -> WindowedTransformerConfig:
    """Two layers of two heads; a position sees `window` positions."""
    return WindowedTransformerConfig(LATENT_DIM, 12, 2, 2, 2, 4, 1e-5, 1e4, window)


def autoencoder_config() -> AutoencoderConfig:
    """The sizes: two strides in the encoder, two more in the bottleneck."""
    return AutoencoderConfig(
        sample_rate_hz=1600,
        latent_dim=LATENT_DIM,
        encoder_width=2,
        encoder_rates=(2, 2),
        decoder_width=8,
        decoder_rates=(2, 2),
        n_codebooks=N_CODEBOOKS - 1,
        codebook_size=7,
        codebook_dim=3,
        semantic_codebook_size=11,
        downsample_factors=(2, 2),
        quantizer_transformer=transformer_config(WINDOW),
        encoder_transformer=transformer_config(4 * WINDOW),
    )


def random_autoencoder(seed: int = 0) -> Autoencoder:
    """An autoencoder of these sizes; the same seed gives the same weights."""
    config = autoencoder_config()
    parts = (AutoencoderEncoder(config), Quantizer(config), AutoencoderDecoder(config))
    generator = torch.Generator().manual_seed(seed)
    for part in parts:
        for name, parameter in part.named_parameters():
            draw(name, parameter, generator)
    return Autoencoder(*parts, config)


@torch.no_grad()
def draw(name: str, parameter: torch.nn.Parameter, generator: torch.Generator) -> None:
    """Weights that neither blow a signal up nor let it vanish, so that rounding stays small."""
    fan_in = parameter[0].numel() if parameter.dim() > 1 else 16
    if name.endswith("up.conv.weight"):  # transposed: [in, out, kernel]
        fan_in = 2 * len(parameter)
    parameter.normal_(0, fan_in**-0.5, generator=generator)
    if name.endswith("alpha"):
        parameter.abs_().add_(0.5)
    elif "codebook" in name:
        parameter.normal_(0, 1, generator=generator)
    elif "norm.weight" in name:
        parameter.add_(1)
    elif "scale" in name or name.endswith("gamma"):
        parameter.mul_(0.2).add_(0.3)
    elif "units" in name:
        parameter.mul_(0.4)
