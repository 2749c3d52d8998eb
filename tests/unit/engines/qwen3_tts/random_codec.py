"""A codec with few channels, few codebooks and random weights: 12 samples a frame."""

import torch

from menura.engines.qwen3_tts.codec import Codec
from menura.engines.qwen3_tts.codec_decoder import CodecDecoder
from menura.engines.qwen3_tts.codec_encoder import CodecEncoder
from menura.engines.qwen3_tts.config import (
    CodecConfig,
    CodecDecoderConfig,
    CodecEncoderConfig,
    TransformerConfig,
)

N_CODEBOOKS = 4
CODEBOOK_SIZE = 11
SAMPLES_PER_FRAME = 12
RATE_HZ = 1200


def codec_config(window: int = 72) -> CodecConfig:
    """The configuration; `window` is how many frames the decoder's transformer sees."""
    encoder = CodecEncoderConfig(
        transformer=TransformerConfig(8, 12, 2, 2, 2, 4, 1e-5, 1e4),
        n_filters=2,
        kernel_size=7,
        residual_kernel_size=3,
        last_kernel_size=3,
        compress=2,
        strides=(2, 3),
        downsample=2,
        codebook_size=CODEBOOK_SIZE,
        quantizer_size=3,
        n_codebooks=2 * N_CODEBOOKS,
        n_semantic_codebooks=1,
    )
    decoder = CodecDecoderConfig(
        transformer=TransformerConfig(8, 12, 2, 4, 2, 4, 1e-5, 1e4),
        sliding_window=window,
        latent_size=6,
        decoder_size=8,
        codebook_size=CODEBOOK_SIZE,
        codebook_dim=8,
        n_codebooks=N_CODEBOOKS,
        n_semantic_codebooks=1,
        upsampling_ratios=(2,),
        upsample_rates=(3, 2),
    )
    return CodecConfig(
        encoder, decoder, N_CODEBOOKS, RATE_HZ, RATE_HZ, SAMPLES_PER_FRAME, SAMPLES_PER_FRAME
    )


def random_codec(window: int = 72, seed: int = 0) -> Codec:
    """A codec of this configuration; the same seed gives the same weights."""
    config = codec_config(window)
    encoder = CodecEncoder(config.encoder, config.n_codebooks)
    decoder = CodecDecoder(config.decoder)
    generator = torch.Generator().manual_seed(seed)
    for part in (encoder, decoder):
        for name, parameter in part.named_parameters():
            _draw(name, parameter, generator)
    return Codec(lambda: encoder, decoder, config)


def random_decoder(window: int = 72) -> CodecDecoder:
    """The decoder of `random_codec`."""
    decoder = random_codec(window).decoder
    assert isinstance(decoder, CodecDecoder)
    return decoder


@torch.no_grad()
def _draw(name: str, parameter: torch.nn.Parameter, generator: torch.Generator) -> None:
    """Weights that neither blow a signal up nor let it vanish, so that rounding stays small."""
    fan_in = parameter[0].numel() if parameter.dim() > 1 else 16
    if name.endswith("up.conv.weight"):  # transposed: [in, out, kernel]
        fan_in = 2 * len(parameter)
    parameter.normal_(0, fan_in**-0.5, generator=generator)
    if name.endswith("cluster_usage"):
        parameter.abs_().add_(0.5)
    elif name.endswith("embedding_sum"):
        parameter.normal_(0, 1, generator=generator)
    elif "norm.weight" in name:
        parameter.add_(1)
    elif "scale" in name or name.endswith("gamma"):
        parameter.mul_(0.2).add_(0.3)
    elif "units" in name or name.startswith("output_conv"):
        parameter.mul_(0.4)
