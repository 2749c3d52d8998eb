"""The speaker encoder: a recording of any length becomes one vector that says who speaks.

    samples -> log mel -> convolution -> squeeze-excited Res2Net blocks -> all blocks side by side
            -> weighted mean and deviation over time -> embedding

Source: Desplanques et al., "ECAPA-TDNN", 2020; Gao et al., "Res2Net", 2019.
Legend: B rows, n samples, T mel frames, M mel bands, C channels, D embedding size.
"""

import numpy as np
import torch
from torch import Tensor, nn

from menura.audio.mel import mel_filters
from menura.engines.qwen3_tts.config import SpeakerEncoderConfig
from menura.errors import InvalidValueError
from menura.speech import FloatArray

# The spectrum that the encoder was trained on; no configuration file names it.
N_FFT = 1024
HOP = 256
LOW_HZ, HIGH_HZ = 0.0, 12_000.0
_PAST = (N_FFT - HOP) // 2
_LEAST_POWER = 1e-9
_LEAST_MEL = 1e-5
_LEAST_VARIANCE = 1e-12


class Tdnn(nn.Module):
    """A convolution over time that keeps the length, mirrored at both ends, and a ReLU."""

    def __init__(self, n_in: int, n_out: int, kernel: int, dilation: int = 1) -> None:
        super().__init__()
        self.conv = _convolution(n_in, n_out, kernel, dilation)

    def forward(self, x: Tensor) -> Tensor:
        """The activations [B, C', T] of x [B, C, T]."""
        return torch.relu(self.conv(x))


class Res2Net(nn.Module):
    """Groups of channels, each convolved together with the result of the group before it."""

    def __init__(self, channels: int, scale: int, kernel: int, dilation: int) -> None:
        super().__init__()
        self.scale = scale
        size = channels // scale
        self.groups = nn.ModuleList(Tdnn(size, size, kernel, dilation) for _ in range(scale - 1))

    def forward(self, x: Tensor) -> Tensor:
        """All groups [B, C, T] of x [B, C, T]; the first passes as it is."""
        first, *others = x.chunk(self.scale, dim=1)
        out = [first]
        for layer, group in zip(self.groups, others, strict=True):
            out.append(layer(group if len(out) == 1 else group + out[-1]))
        return torch.cat(out, dim=1)


class SqueezeExcitation(nn.Module):
    """Channels switched by what the whole clip says about them."""

    def __init__(self, channels: int, inner: int) -> None:
        super().__init__()
        self.squeeze = _convolution(channels, inner, 1)
        self.excite = _convolution(inner, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The switched channels [B, C, T] of x [B, C, T]."""
        mean = x.mean(dim=2, keepdim=True)
        return x * torch.sigmoid(self.excite(torch.relu(self.squeeze(mean))))


class Block(nn.Module):
    """A Res2Net between two mixings of the channels, squeeze-excited, added to its input."""

    def __init__(self, channels: int, kernel: int, dilation: int, sizes: tuple[int, int]) -> None:
        super().__init__()
        scale, squeezed = sizes
        self.mix_in = Tdnn(channels, channels, 1)
        self.res2net = Res2Net(channels, scale, kernel, dilation)
        self.mix_out = Tdnn(channels, channels, 1)
        self.excitation = SqueezeExcitation(channels, squeezed)

    def forward(self, x: Tensor) -> Tensor:
        """The block's output [B, C, T] for x [B, C, T]."""
        out: Tensor = self.excitation(self.mix_out(self.res2net(self.mix_in(x)))) + x
        return out


class AttentivePooling(nn.Module):
    """Mean and deviation over time, in which each channel weighs the moments for itself."""

    def __init__(self, channels: int, inner: int) -> None:
        super().__init__()
        self.attend = Tdnn(3 * channels, inner, 1)
        self.score = _convolution(inner, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Mean and deviation [B, 2 C, 1] of x [B, C, T]."""
        n_frames = x.shape[2]
        mean, deviation = _moments(x, torch.full_like(x[:, :1], 1 / n_frames))
        context = [x, *(m[:, :, None].expand(-1, -1, n_frames) for m in (mean, deviation))]
        scores = self.score(torch.tanh(self.attend(torch.cat(context, dim=1))))
        return torch.cat(_moments(x, scores.softmax(dim=2)), dim=1)[:, :, None]


class SpeakerEncoder(nn.Module):
    """Mel frames to the embedding of who speaks in them."""

    def __init__(self, config: SpeakerEncoderConfig) -> None:
        super().__init__()
        channels, kernels, dilations = config.channels, config.kernel_sizes, config.dilations
        self.config = config
        self.input = Tdnn(config.n_mels, channels[0], kernels[0], dilations[0])
        self.blocks = nn.ModuleList(
            Block(size, kernel, dilation, (config.res2net_scale, config.squeeze_channels))
            for size, kernel, dilation in zip(
                channels[1:-1], kernels[1:-1], dilations[1:-1], strict=True
            )
        )
        self.aggregate = Tdnn(channels[-1], channels[-1], kernels[-1], dilations[-1])
        self.pool = AttentivePooling(channels[-1], config.attention_channels)
        self.output = _convolution(2 * channels[-1], config.embedding_size, 1)

    def forward(self, mel: Tensor) -> Tensor:
        """The embeddings [B, D] of log mels [B, T, M]."""
        x = self.input(mel.transpose(1, 2))
        levels = []
        for block in self.blocks:
            x = block(x)
            levels.append(x)
        x = self.aggregate(torch.cat(levels, dim=1))
        embedding: Tensor = self.output(self.pool(x))
        return embedding.squeeze(-1)

    @property
    def least_samples(self) -> int:
        """The shortest clip, in samples."""
        return least_samples(self.config)

    @torch.inference_mode()
    def embed(self, samples: FloatArray) -> FloatArray:
        """The embedding [D] of a recording [n] at the encoder's own rate.

        Raises: InvalidValueError: the recording is too short.
        """
        if len(samples) < self.least_samples:
            shortest_ms = 1000 * self.least_samples / self.config.sample_rate_hz
            raise InvalidValueError(
                f"a reference of {len(samples)} samples at {self.config.sample_rate_hz} Hz is too "
                f"short: a voice needs at least {self.least_samples} ({shortest_ms:.0f} ms), and "
                "several seconds to sound like somebody.",
                param="voice",
            )
        weight = self.output.weight
        mel = log_mel(torch.from_numpy(samples)[None].to(weight.device), self.config)
        embedding: Tensor = self(mel.to(weight.dtype))
        return np.ascontiguousarray(embedding[0].float().cpu().numpy())


def least_samples(config: SpeakerEncoderConfig) -> int:
    """The shortest clip, in samples: mirroring needs more frames than it adds."""
    reach = max(
        (kernel - 1) * dilation - (kernel - 1) * dilation // 2
        for kernel, dilation in zip(config.kernel_sizes, config.dilations, strict=True)
    )
    return max(reach * HOP + N_FFT - 2 * _PAST, _PAST + 1)


def log_mel(samples: Tensor, config: SpeakerEncoderConfig) -> Tensor:
    """The logarithmic mel bands [B, T, M] of samples [B, n] in float32, mirrored at both ends."""
    padded = nn.functional.pad(samples[:, None], (_PAST, _PAST), mode="reflect")[:, 0]
    window = torch.hann_window(N_FFT, device=samples.device)
    spectrum = torch.stft(padded, N_FFT, HOP, window=window, center=False, return_complex=True)
    magnitudes = torch.sqrt(torch.view_as_real(spectrum).pow(2).sum(-1) + _LEAST_POWER)
    filters = mel_filters(config.sample_rate_hz, N_FFT, config.n_mels, LOW_HZ, HIGH_HZ)
    bands = torch.from_numpy(filters).to(samples.device) @ magnitudes
    return bands.clamp(min=_LEAST_MEL).log().transpose(1, 2)


def _moments(x: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and deviation [B, C] of x [B, C, T] under weights that sum to 1 over time."""
    mean = (weights * x).sum(dim=2)
    variance = (weights * (x - mean[:, :, None]).pow(2)).sum(dim=2)
    return mean, variance.clamp(min=_LEAST_VARIANCE).sqrt()


def _convolution(n_in: int, n_out: int, kernel: int, dilation: int = 1) -> nn.Conv1d:
    return nn.Conv1d(n_in, n_out, kernel, dilation=dilation, padding="same", padding_mode="reflect")
