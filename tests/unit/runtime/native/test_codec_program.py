import numpy as np
import torch

from menura.runtime.native.codec_layers import (
    Attention,
    Conv,
    FloatArray,
    Gated,
    Layer,
    Lookup,
    Output,
    Residual,
    RmsNorm,
    Snake,
    linear,
)
from menura.runtime.native.codec_program import OP, CodecMode, Program, lower


def numbers(*shape: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(np.float32)


def start(size: int = 6) -> Lookup:
    return Lookup((numbers(1, 7, size), numbers(2, 7, size)))


def program(*layers: Layer, mode: CodecMode = CodecMode.EXACT) -> Program:
    return lower([start(), *layers, Output(numbers(5, 2), 0.25)], mode)


def floats(given: Program, offset: int, n: int) -> FloatArray:
    return given.weights[offset : offset + 4 * n].view(np.float32)


def flags(given: Program, index: int) -> str:
    names = ("adds", "keeps", "feeds", "scratches")
    return " ".join(name for name in names if given.ops[index][name])


def conv(n_out: int, n_in: int, taps: int = 1, rate: int = 1) -> Conv:
    return Conv(numbers(n_out * rate, n_in, taps), numbers(n_out * rate), rate=rate)


def test_an_operation_has_eight_bytes_a_field() -> None:
    assert OP.itemsize == 8 * len(OP.names or ()) == 8 * 26


def test_a_program_says_its_sizes() -> None:
    given = program(conv(5, 12, rate=3))
    assert (given.n_codebooks, given.codebook_size, given.samples_per_frame) == (3, 7, 3)
    assert given.ops["steps"].tolist() == [1, 1, 3]
    assert given.weights.nbytes % 64 == 0


def test_groups_of_a_lookup_are_padded_apart() -> None:
    given = program(conv(5, 12))
    assert given.ops[0]["out_channels"] == 64
    assert given.ops[0]["first_group"] == 1
    tables = floats(given, 0, 3 * 7 * 32).reshape(3, 7, 32)
    assert np.array_equal(tables[1:, :, :6], start().groups[1])
    assert not tables[..., 6:].any()


def test_weights_stand_in_the_order_of_reading() -> None:
    layer = conv(33, 12, taps=3)
    given = lower([start(), layer, Output(numbers(33, 1), 0.0)], CodecMode.EXACT)
    tiles = floats(given, given.ops[1]["weights"], 2 * 3 * 64 * 32).reshape(2, 3, 64, 32)
    assert np.array_equal(tiles[0, 2, 5], layer.weight[:32, 5, 2])
    assert np.array_equal(tiles[1, 1, 32 + 3, :1], layer.weight[32:, 9, 1])
    assert not tiles[1, :, :, 1:].any()
    assert not tiles[:, :, 6:32].any()


def test_bfloat16_stands_in_pairs_and_is_rounded_as_torch_rounds() -> None:
    layer = conv(5, 12)
    given = program(layer, mode=CodecMode.BF16)
    offset = given.ops[1]["weights"]
    tiles = given.weights[offset : offset + 2 * 64 * 32].view(np.uint16).reshape(32, 32, 2)
    wanted = torch.from_numpy(layer.weight).bfloat16().view(torch.uint16).numpy()[:, :, 0]
    assert np.array_equal(tiles[1, :5, 0], wanted[:, 2])
    assert np.array_equal(tiles[1, :5, 1], wanted[:, 3])


def test_rows_of_several_steps_are_padded_apart() -> None:
    layer = conv(5, 12, rate=2)
    given = program(layer)
    bias = floats(given, given.ops[1]["bias"], 64)
    assert np.array_equal(bias[:5], layer.bias[:5])
    assert np.array_equal(bias[32:37], layer.bias[5:])
    assert not bias[5:32].any()


def test_gates_stand_beside_what_they_let_through() -> None:
    layer = conv(2 * 20, 12)
    given = program(layer, Gated(), conv(5, 20))
    assert given.ops[1]["out_channels"] == given.ops[2]["in_channels"] == 32
    bias = floats(given, given.ops[1]["bias"], 64)
    assert np.array_equal(bias[:16], layer.bias[:16])
    assert np.array_equal(bias[16:32], layer.bias[20:36])
    assert np.array_equal(bias[32:36], layer.bias[16:20])
    assert np.array_equal(bias[48:52], layer.bias[36:])


def test_the_halves_of_a_head_are_padded_apart() -> None:
    layer = conv(2 * 4 + 2 * 4, 12)
    attention = Attention(2, 1, 4, 3, numbers(2))
    given = program(layer, attention, attention_output := conv(5, 8))
    bias = floats(given, given.ops[1]["bias"], 4 * 32)
    assert np.array_equal(bias[[0, 1, 16, 17, 32]], layer.bias[:5])
    assert np.array_equal(floats(given, given.ops[2]["frequency"], 16)[:2], attention.frequencies)
    tiles = floats(given, given.ops[3]["weights"], 64 * 32).reshape(64, 32)
    assert np.array_equal(tiles[[0, 1, 16, 17, 32], 0], attention_output.weight[0, :5, 0])


def test_light_layers_are_fused_into_the_heavy_one_before() -> None:
    snake = Snake(numbers(5), numbers(5))
    unit = Residual((snake, conv(5, 5, 7), snake, conv(5, 5)))
    given = program(conv(5, 12), unit, unit, snake)
    fused = [flags(given, i) for i in range(1, 6)]
    assert fused == ["keeps feeds", "feeds", "adds keeps feeds", "feeds", "adds feeds"]
    assert given.ops["activation"][1:6].tolist() == [1, 1, 1, 1, 1]


def test_a_norm_reads_the_stream_and_attention_the_scratch() -> None:
    attention = Attention(2, 1, 4, 3, numbers(2))
    block = Residual((RmsNorm(1e-5), linear(numbers(16, 5)), attention, conv(5, 8)))
    given = program(conv(5, 12), block, block, conv(5, 5))
    fused = [flags(given, i) for i in (1, 3, 5, 9)]
    assert fused == ["keeps", "scratches", "adds keeps", "adds feeds"]
    assert given.ops[2]["entries"] == 5
    assert given.ops[4]["frequency"] == given.ops[8]["frequency"]


def test_acts_are_wide_where_a_frame_has_few_steps() -> None:
    given = program(conv(5, 12, rate=2), conv(5, 5, rate=2), conv(5, 5, rate=2), conv(5, 5))
    assert given.ops["reads_wide"].tolist() == [1, 1, 1, 0, 0, 0]
    assert given.ops["writes_wide"].tolist() == [1, 1, 0, 0, 0, 0]
