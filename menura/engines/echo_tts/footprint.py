"""How much memory each stage needs beside the weights: upper estimates from the sizes alone."""

from menura.engines.contract import Stage
from menura.engines.echo_tts.config import AutoencoderConfig, DiTConfig, EchoConfig
from menura.engines.echo_tts.options import LONGEST_WINDOW_FRAMES
from menura.engines.echo_tts.prompt import EchoPrompt

_NUMBER_BYTES = 4
_MOST_LANES = 3  # of a step that text and voice guide
_FEW = 4  # arrays of one size that are alive at the same time


def working_bytes(stage: Stage, prompt: EchoPrompt, config: EchoConfig) -> int:
    """An upper estimate for one row, in bytes; for voices, one of a chunk of the reference."""
    if stage is Stage.VOICE:
        return _voice_bytes(config.autoencoder)
    if stage is Stage.GENERATE:
        return _keys_bytes(prompt, config.dit) + _step_bytes(prompt, config.dit)
    return _decoding_bytes(prompt, config.autoencoder)


def _voice_bytes(config: AutoencoderConfig) -> int:
    """The first block's channels at the full sample rate, of one chunk."""
    n_samples = LONGEST_WINDOW_FRAMES * config.samples_per_frame
    return _FEW * n_samples * config.encoder_width * _NUMBER_BYTES


def _keys_bytes(prompt: EchoPrompt, config: DiTConfig) -> int:
    """Keys and values of text, voice and earlier latents, for every layer."""
    n_speaker = 0 if prompt.speaker is None else -(-len(prompt.speaker) // config.patch_size)
    n_earlier = 0
    if prompt.settings.block_sizes is not None:
        n_earlier = LONGEST_WINDOW_FRAMES // config.patch_size
    n_positions = len(prompt.ids) + n_speaker + n_earlier
    return 2 * config.n_layers * n_positions * config.hidden_size * _NUMBER_BYTES


def _step_bytes(prompt: EchoPrompt, config: DiTConfig) -> int:
    """The activations of a guided step: the widest are those of the feed-forward layers."""
    n_frames = max(prompt.settings.sizes)
    width = max(config.intermediate_size, 4 * config.hidden_size)
    return _FEW * _MOST_LANES * n_frames * width * _NUMBER_BYTES


def _decoding_bytes(prompt: EchoPrompt, config: AutoencoderConfig) -> int:
    """The widest activations of the whole window: at each level the rate grows, the width halves.

    Pieces need less; only the exact mode decodes all of it in one call.
    """
    n_steps = prompt.settings.n_frames
    for factor in config.downsample_factors:
        n_steps *= factor
    widest, width = n_steps * config.decoder_width, config.decoder_width
    for rate in config.decoder_rates:
        n_steps, width = n_steps * rate, width // 2
        widest = max(widest, n_steps * width)
    return _FEW * widest * _NUMBER_BYTES
