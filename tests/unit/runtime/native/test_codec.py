"""Every body that runs here against the plain torch twin, layer by layer and in pieces."""

import numpy as np
import pytest
from numpy.typing import NDArray

from menura.errors import UnsupportedError
from menura.runtime.native.build import library, why_not
from menura.runtime.native.codec import NativeDecoder, NativeState
from menura.runtime.native.codec_layers import (
    FloatArray,
    Layer,
    Lookup,
    Output,
    Snake,
)
from menura.runtime.native.codec_program import CodecMode, Program, lower
from tests.unit.runtime.native import codec_twin
from tests.unit.runtime.native.codec_kinds import KINDS, N_ENTRIES, around, codes, conv, numbers

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "native kernels run here")

BODIES = ("avx512", "avx2", "neon")
SIZES = [[1] * 9, [4, 1, 4], [2, 7], [9]]


@pytest.fixture(params=BODIES)
def body(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each body of the library that this CPU has."""
    loaded = library()
    monkeypatch.setenv("MENURA_NATIVE_BODY", request.param)
    if not loaded.menura_body():
        pytest.skip(f"{request.param} does not run here")
    return str(request.param)


def decoded(program: Program, given: NDArray[np.int64], n_threads: int = 1) -> FloatArray:
    decoder = NativeDecoder(program, n_threads)
    return decoder.decode(given, decoder.new_state())


def snr_db(got: FloatArray, wanted: FloatArray) -> float:
    noise = np.square(got.astype(np.float64) - wanted).sum()
    return float(10 * np.log10(np.square(wanted.astype(np.float64)).sum() / max(noise, 1e-30)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_layer_is_its_torch_twin(kind: str, body: str) -> None:
    layers = KINDS[kind]
    wanted = codec_twin.decode(layers, codes(9))
    assert 0.02 < np.abs(wanted).mean() < 0.7
    exact = decoded(lower(layers, CodecMode.EXACT), codes(9))
    np.testing.assert_allclose(exact, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())
    assert snr_db(decoded(lower(layers, CodecMode.BF16), codes(9)), wanted) > 38


@pytest.mark.parametrize("mode", list(CodecMode))
@pytest.mark.parametrize("kind", ["dilation", "mix", "wide heads", "many steps"])
def test_pieces_of_any_size_join_to_the_whole(kind: str, mode: CodecMode, body: str) -> None:
    program = lower(KINDS[kind], mode)
    whole = decoded(program, codes(9))
    for sizes in SIZES:
        decoder = NativeDecoder(program, 1, frames_per_piece=3)
        state, first, pieces = decoder.new_state(), 0, []
        for size in sizes:
            pieces.append(decoder.decode(codes(9)[first : first + size], state))
            first += size
        assert np.array_equal(np.concatenate(pieces), whole)
        assert state.n_frames == 9


@pytest.mark.parametrize("mode", list(CodecMode))
def test_threads_change_no_sample(mode: CodecMode, body: str) -> None:
    program = lower(KINDS["many steps"], mode)
    assert np.array_equal(decoded(program, codes(5), 3), decoded(program, codes(5), 1))


def test_a_copied_state_goes_on_alone(body: str) -> None:
    decoder = NativeDecoder(lower(KINDS["wide heads"], CodecMode.BF16), 1)
    state = decoder.new_state()
    decoder.decode(codes(30), state)
    twin = state.copy()
    here = decoder.decode(codes(3, seed=2), state)
    decoder.decode(codes(4, seed=3), state)
    assert np.array_equal(decoder.decode(codes(3, seed=2), twin), here)
    assert (state.n_frames, twin.n_frames) == (37, 33)


@pytest.mark.parametrize("mode", list(CodecMode))
@pytest.mark.parametrize("kind", ["dilation", "mix", "wide heads", "many steps", "all of it"])
def test_frames_that_are_only_heard_leave_the_same_state(
    kind: str, mode: CodecMode, body: str
) -> None:
    decoder = NativeDecoder(lower(KINDS[kind], mode), 1, frames_per_piece=3)
    decoded = decoder.new_state()
    for n_frames in range(1, 30):
        decoder.decode(codes(30)[n_frames - 1 : n_frames], decoded)
        for first in (0, n_frames // 2):
            heard = decoder.new_state()
            decoder.hear(codes(30)[:first], heard)
            decoder.hear(codes(30)[first:n_frames], heard)
            assert np.array_equal(heard.data, decoded.data), (first, n_frames)


def test_two_streams_do_not_meet(body: str) -> None:
    decoder = NativeDecoder(lower(KINDS["many steps"], CodecMode.EXACT), 1)
    first, second = decoder.new_state(), decoder.new_state()
    heard = []
    for frame in range(4):
        heard.append(decoder.decode(codes(4)[frame : frame + 1], first))
        decoder.decode(codes(1, seed=frame), second)
    assert np.array_equal(np.concatenate(heard), decoder.decode(codes(4), decoder.new_state()))


def test_the_output_is_limited_as_asked(body: str) -> None:
    for is_tanh in (False, True):
        layers = around(size=10)
        layers[-1] = Output(numbers(10, 3, scale=5), 0.0, is_tanh)
        wanted = codec_twin.decode(layers, codes(9))
        assert np.abs(wanted).max() > 0.99
        np.testing.assert_allclose(
            decoded(lower(layers, CodecMode.EXACT), codes(9)), wanted, rtol=0, atol=2e-5
        )


def test_what_is_no_number_is_handed_on(body: str) -> None:
    table = numbers(1, N_ENTRIES, 10, scale=1)
    table[0, 4] = np.nan
    layers: list[Layer] = [Lookup((table,)), *KINDS["wide heads"][1:]]
    given = np.array([[0], [1], [4], [2]])
    for mode in CodecMode:
        samples = decoded(lower(layers, mode), given)
        assert np.isfinite(samples[:2]).all()
        assert np.isnan(samples[2:]).all()


def test_huge_numbers_do_no_harm(body: str) -> None:
    layers = around(
        conv(40, 10), Snake(np.full(40, 1e30, np.float32), np.ones(40, np.float32)), size=40
    )
    assert decoded(lower(layers, CodecMode.BF16), codes(2)).shape == (2,)


def test_a_closed_decoder_is_not_used(body: str) -> None:
    decoder = NativeDecoder(lower(KINDS["lookup"], CodecMode.EXACT), 1)
    decoder.close()
    decoder.close()
    with pytest.raises(AssertionError, match="closed"):
        decoder.decode(codes(1), decoder.new_state())


@pytest.mark.parametrize(
    "wrong", [codes(2, n_codebooks=2), np.zeros(3, np.int64), np.full((1, 3), N_ENTRIES)]
)
def test_wrong_codes_move_nothing(wrong: NDArray[np.int64]) -> None:
    decoder = NativeDecoder(lower(KINDS["lookup"], CodecMode.EXACT), 1)
    state = decoder.new_state()
    for take_in in (decoder.decode, decoder.hear):
        with pytest.raises(AssertionError, match="code"):
            take_in(wrong, state)
    assert state.n_frames == 0


def test_a_state_of_another_decoder_is_refused() -> None:
    decoder = NativeDecoder(lower(KINDS["lookup"], CodecMode.EXACT), 1)
    with pytest.raises(AssertionError, match="another decoder"):
        decoder.decode(codes(1), NativeState(np.zeros(64, np.uint8)))


@pytest.mark.parametrize(
    ("index", "field", "value", "why"),
    [
        (0, "entries", 1 << 19, "outside the file"),
        (0, "kind", 1, "starts with a lookup"),
        (1, "weights", -64, "outside the file"),
        (1, "weights", 8, "outside the file"),
        (1, "weights", 1 << 40, "outside the file"),
        (1, "in_channels", 33, "no whole tiles"),
        (1, "in_channels", 32, "acts of another size"),
        (1, "taps", 0, "a size is wrong"),
        (1, "dilation", 1 << 30, "a size is wrong"),
        (1, "adds", 1, "a stream of another size"),
        (1, "reads_wide", 0, "reads acts otherwise"),
        (1, "rate", 1 << 16, "no whole tiles"),
        (3, "kind", 9, "no such kind"),
        (3, "head_size", 16, "no whole tiles"),
        (3, "kv_heads", 3, "do not divide"),
        (3, "kv_heads", 1, "does not hold queries"),
        (3, "window", 0, "a size is wrong"),
        (3, "steps", 2, "works on frames"),
        (4, "activation", 5, "no such activation"),
        (5, "steps", 7, "other steps"),
        (5, "activation", 1, "limited by tanh or clamp"),
        (5, "bias", 1 << 20, "outside the file"),
    ],
)
def test_a_damaged_program_is_refused(index: int, field: str, value: int, why: str) -> None:
    program = lower(KINDS["wide heads"], CodecMode.BF16)
    ops = program.ops.copy()
    ops[index][field] = value
    with pytest.raises(UnsupportedError, match=why):
        NativeDecoder(Program(program.mode, ops, program.weights), 1)


def test_cut_weights_are_refused() -> None:
    program = lower(KINDS["residual"], CodecMode.BF16)
    with pytest.raises(UnsupportedError, match="outside the file"):
        NativeDecoder(Program(program.mode, program.ops, program.weights[:-64]), 1)


@pytest.mark.parametrize(("frames", "n_threads"), [(0, 1), (65, 1), (1, 0), (1, 2000)])
def test_sizes_of_the_call_are_checked(frames: int, n_threads: int) -> None:
    program = lower(KINDS["lookup"], CodecMode.EXACT)
    with pytest.raises(UnsupportedError, match="1 to"):
        NativeDecoder(program, n_threads, frames)


@pytest.mark.parametrize("mode", CodecMode)
def test_beside_the_other_threads_come_the_same_samples(mode: CodecMode) -> None:
    given = codes(9)
    decoder = NativeDecoder(lower(KINDS["all of it"], mode), 2)
    state, other = decoder.new_state(), decoder.new_state()
    pieces = [decoder.decode(given[:2], state), decoder.decode_beside(given[2:], state)]
    np.testing.assert_array_equal(np.concatenate(pieces), decoder.decode(given, other))
    np.testing.assert_array_equal(state.data, other.data)
