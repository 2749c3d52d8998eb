"""The codec's decoder on the CPU's native kernels: the torch modules as a list of layers, and back.

`layers` walks a `CodecDecoder` and folds what is linear into its neighbours: both projections of
the quantiser, the first convolution and the transformer's input projection are one convolution.
`NativeCodecDecoder` stands in the torch decoder's place; the codec's grid of chunks stays as it is.

Legend: B rows, Q codebooks, T frames, C channels.
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from menura.engines.qwen3_tts.codec import State
from menura.engines.qwen3_tts.codec_decoder import CodecDecoder, WindowTransformer
from menura.engines.qwen3_tts.config import CodecDecoderConfig
from menura.nn.causal_conv import CausalConv1d, CausalConvTranspose1d
from menura.nn.codec_blocks import LatentUpsampling, ResidualUnit, UpsamplingBlock
from menura.nn.convnext import ConvNeXtBlock
from menura.nn.feed_forward import SwiGLU
from menura.nn.norm import RMSNorm
from menura.nn.residual_vq import Codebook, ResidualVQ, SplitResidualVQ
from menura.nn.snake import TINY, SnakeBeta
from menura.nn.transformer import Block, LayerScale
from menura.runtime.native.codec import NativeDecoder, NativeState
from menura.runtime.native.codec_layers import (
    Attention,
    Conv,
    FloatArray,
    Gated,
    Gelu,
    Layer,
    Lookup,
    Mix,
    Output,
    Residual,
    RmsNorm,
    Snake,
    folded,
    linear,
    project_heads,
    upsampling,
    with_input_scale,
    with_output_scale,
)
from menura.runtime.native.codec_program import CodecMode, Program, lower


class NativeCodecDecoder:
    """Takes and gives what `CodecDecoder` does, for one row on the CPU.

    `is_beside`: on the caller's thread, which has the core that the others lend.
    """

    device = torch.device("cpu")

    def __init__(self, decoder: NativeDecoder, *, is_beside: bool = False) -> None:
        self._decoder = decoder
        self._decode = decoder.decode_beside if is_beside else decoder.decode

    def new_state(self) -> NativeState:
        """The state before a clip's first frame."""
        return self._decoder.new_state()

    def __call__(self, codes: Tensor, state: State | None = None) -> Tensor:
        """The samples [1, T * samples_per_frame] in -1..1 of codes int64 [1, Q, T].

        `state` is moved on by T frames. Without one the codes are a whole clip.
        """
        own = self._decoder.new_state() if state is None else state
        assert isinstance(own, NativeState), "a state of another decoder"
        samples = self._decode(_frames(codes), own)
        return torch.from_numpy(samples)[None]

    def hear(self, codes: Tensor, state: State) -> None:
        """Move `state` on by T frames, codes int64 [1, Q, T], whose samples nobody wants."""
        assert isinstance(state, NativeState), "a state of another decoder"
        self._decoder.hear(_frames(codes), state)


def _frames(codes: Tensor) -> NDArray[np.int64]:
    """The codes [T, Q] of codes [1, Q, T]."""
    frames: NDArray[np.int64] = codes[0].T.contiguous().numpy()
    return frames


def program(decoder: CodecDecoder, config: CodecDecoderConfig, mode: CodecMode) -> Program:
    """The decoder as a program with packed weights, which the native library runs."""
    return lower(folded(layers(decoder, config)), mode)


def layers(decoder: CodecDecoder, config: CodecDecoderConfig) -> Iterator[Layer]:
    """The decoder's layers, one after another."""
    yield from _quantizer(decoder.quantizer)
    yield _conv(decoder.latent_conv)
    yield from _transformer(decoder.transformer, config)
    for stage in decoder.latent_upsampling:
        assert isinstance(stage, LatentUpsampling)
        yield _transposed(stage.up)
        yield _convnext(stage.mix)
    yield _conv(decoder.input_conv)
    for block in decoder.blocks:
        assert isinstance(block, UpsamplingBlock)
        yield from _upsampling_block(block)
    yield _snake(decoder.output_act)
    last = _conv(decoder.output_conv)
    yield Output(last.weight[0], float(last.bias[0]))


def _quantizer(quantizer: SplitResidualVQ) -> Iterator[Layer]:
    """Entries of both stacks side by side, and one projection for both."""
    stacks = (quantizer.semantic, quantizer.acoustic)
    yield Lookup(tuple(_entries(stack) for stack in stacks))
    projections = [_array(stack.output_proj.weight)[:, :, 0] for stack in stacks]
    yield linear(np.concatenate(projections, axis=1))


def _entries(stack: ResidualVQ) -> FloatArray:
    """The vectors [Q, V, D] of a stack's codebooks."""
    codebooks = [book for book in stack.codebooks if isinstance(book, Codebook)]
    return np.stack([_array(book.vectors()) for book in codebooks])


def _transformer(transformer: WindowTransformer, config: CodecDecoderConfig) -> Iterator[Layer]:
    """The blocks between their projections; the final norm's weight goes into the last one."""
    yield _linear(transformer.input_proj)
    for block in transformer.blocks.blocks:
        assert isinstance(block, Block)
        yield from _transformer_block(block, config)
    norm = _rms_norm(transformer.blocks.final_norm)
    yield RmsNorm(norm.eps)
    yield with_input_scale(_linear(transformer.output_proj), _array(norm.weight))


def _transformer_block(block: Block, config: CodecDecoderConfig) -> Iterator[Layer]:
    """Attention and network, with the norms' weights and the layer scales folded in."""
    attention, sizes = block.attention, config.transformer
    query, key, value = (
        _array(p.weight) for p in (attention.query, attention.key, attention.value)
    )
    norm = _rms_norm(block.attention_norm)
    yield Residual(
        (
            RmsNorm(norm.eps),
            with_input_scale(project_heads(query, key, value, sizes.head_dim), _array(norm.weight)),
            Attention(
                sizes.n_heads,
                sizes.n_kv_heads,
                sizes.head_dim,
                config.sliding_window,
                _frequencies(sizes.head_dim, sizes.rope_theta),
            ),
            _scaled(_linear(attention.output), block.attention_scale),
        )
    )
    network, norm = block.feed_forward, _rms_norm(block.feed_forward_norm)
    assert isinstance(network, SwiGLU), "the codec's networks are gated"
    gate_up = linear(np.concatenate([_array(network.gate.weight), _array(network.up.weight)]))
    yield Residual(
        (
            RmsNorm(norm.eps),
            with_input_scale(gate_up, _array(norm.weight)),
            Gated(),
            _scaled(_linear(network.down), block.feed_forward_scale),
        )
    )


def _frequencies(head_dim: int, theta: float) -> FloatArray:
    """The angles [d/2] that a step of one position turns by, rounded as `Rotary` rounds them."""
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32) / head_dim
    return _array(1.0 / (theta**exponents))


def _convnext(block: ConvNeXtBlock) -> Layer:
    """The block, with its norm's weights and its gamma in the projections."""
    depthwise = block.depthwise.conv
    expand, shrink = _linear(block.expand), _linear(block.shrink)
    return Residual(
        (
            Mix(_array(depthwise.weight)[:, 0], _bias(depthwise), block.norm.eps),
            with_input_scale(expand, _array(block.norm.weight), _array(block.norm.bias)),
            Gelu(),
            with_output_scale(shrink, _array(block.gamma)),
        )
    )


def _upsampling_block(block: UpsamplingBlock) -> Iterator[Layer]:
    yield _snake(block.act)
    yield _transposed(block.up)
    for unit in block.units:
        assert isinstance(unit, ResidualUnit)
        acts = (_snake(unit.dilated_act), _snake(unit.pointwise_act))
        yield Residual((acts[0], _conv(unit.dilated), acts[1], _conv(unit.pointwise)))


def _snake(act: nn.Module) -> Snake:
    """The activation with both exponentials and the quotient computed once."""
    assert isinstance(act, SnakeBeta), "the codec's activations have a beta"
    beta = act.beta.detach().float().exp()
    return Snake(_array(act.alpha.detach().float().exp()), _array(1.0 / (beta + TINY)))


def _conv(layer: CausalConv1d) -> Conv:
    return Conv(_array(layer.conv.weight), _bias(layer.conv), layer.conv.dilation[0])


def _transposed(layer: CausalConvTranspose1d) -> Conv:
    return upsampling(_array(layer.conv.weight), _bias(layer.conv), layer.stride)


def _linear(layer: nn.Linear) -> Conv:
    return linear(_array(layer.weight), None if layer.bias is None else _array(layer.bias))


def _scaled(conv: Conv, scale: nn.Module) -> Conv:
    assert isinstance(scale, LayerScale), "the codec's blocks have layer scales"
    return with_output_scale(conv, _array(scale.weight))


def _rms_norm(module: nn.Module) -> RMSNorm:
    assert isinstance(module, RMSNorm), "the transformer's norms are RMS norms"
    return module


def _bias(module: nn.Conv1d | nn.ConvTranspose1d) -> FloatArray:
    """The bias [R], zeros where there is none."""
    n_rows = module.out_channels
    return np.zeros(n_rows, np.float32) if module.bias is None else _array(module.bias)


def _array(tensor: Tensor) -> FloatArray:
    array: FloatArray = tensor.detach().float().cpu().numpy()
    return array
