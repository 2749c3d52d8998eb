"""The structs and functions of `api.h`, for ctypes."""

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_double, c_float, c_int32, c_int64, c_void_p
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from menura.runtime.native.build import library

BF16, INT8, INT4 = 0, 1, 2


class Matrix(Structure):
    """`menura_matrix`: one packed matrix."""

    _fields_: ClassVar = [
        ("kind", c_int32),
        ("n_rows", c_int32),
        ("n_columns", c_int32),
        ("reserved", c_int32),
        ("tiles", c_void_p),
    ]


class Layer(Structure):
    """`menura_layer`: one transformer block."""

    _fields_: ClassVar = [
        ("qkv", Matrix),
        ("output", Matrix),
        ("gate_up", Matrix),
        ("down", Matrix),
        ("attention_norm", c_void_p),
        ("feed_forward_norm", c_void_p),
        ("query_norm", c_void_p),
        ("key_norm", c_void_p),
    ]


class Stack(Structure):
    """`menura_stack`: the blocks and the final norm."""

    _fields_: ClassVar = [
        ("hidden", c_int32),
        ("inner", c_int32),
        ("n_layers", c_int32),
        ("n_heads", c_int32),
        ("n_kv_heads", c_int32),
        ("head_dim", c_int32),
        ("norm_eps", c_float),
        ("rope_theta", c_float),
        ("layers", POINTER(Layer)),
        ("final_norm", c_void_p),
    ]


class Model(Structure):
    """`menura_model`: everything that the language model reads."""

    _fields_: ClassVar = [
        ("talker", Stack),
        ("predictor", Stack),
        ("talker_head", Matrix),
        ("predictor_heads", POINTER(Matrix)),
        ("talker_embedding", c_void_p),
        ("predictor_embeddings", POINTER(c_void_p)),
        ("projection", Matrix),
        ("projection_bias", c_void_p),
        ("n_codebooks", c_int32),
        ("talker_vocab", c_int32),
        ("codebook_size", c_int32),
        ("n_slots", c_int32),
    ]


class SamplingValues(Structure):
    """`menura_sampling`: how to choose."""

    _fields_: ClassVar = [
        ("do_sample", c_int32),
        ("top_k", c_int32),
        ("temperature", c_float),
        ("repetition_penalty", c_float),
        ("top_p", c_double),
    ]


class Row(Structure):
    """`menura_row`: one row of a frame call."""

    _fields_: ClassVar = [
        ("slot", c_int32),
        ("position", c_int32),
        ("first", c_int32),
        ("next", c_int32),
        ("talker", SamplingValues),
        ("predictor", SamplingValues),
        ("text", c_void_p),
        ("predictor_noise", c_void_p),
        ("talker_noise", c_void_p),
        ("seen", c_void_p),
        ("allowed", c_void_p),
        ("forced", c_void_p),
        ("hidden", c_void_p),
        ("codes", c_void_p),
        ("sound", c_void_p),
        ("scores", c_void_p),
    ]


def functions() -> ctypes.CDLL:
    """The library with the language model's functions declared. Raises: UnsupportedError."""
    lib = library()
    for name, result, arguments in (
        ("menura_matrix_bytes", c_int64, [c_int32] * 3),
        ("menura_pack_matrix", c_int32, [*[c_int32] * 3, c_void_p, c_void_p]),
        ("menura_lm_open", c_void_p, [POINTER(Model), c_int32, c_char_p, c_int32]),
        ("menura_lm_prefill", c_int32, [c_void_p, *[c_int32] * 3, *[c_void_p] * 3]),
        ("menura_lm_frame", c_int32, [c_void_p, c_int32, POINTER(Row)]),
        ("menura_lm_trace", c_int32, [c_void_p, c_int32, c_int32, c_void_p, c_void_p]),
        ("menura_lm_state_bytes", c_int64, [c_void_p, c_int32]),
        ("menura_lm_export", c_int32, [c_void_p, c_int32, c_int32, c_void_p]),
        ("menura_lm_import", c_int32, [c_void_p, c_int32, c_int32, c_void_p]),
        ("menura_lm_release", c_int32, [c_void_p, c_int32]),
        ("menura_lm_close", None, [c_void_p]),
        (
            "menura_draw",
            c_int32,
            [c_void_p, c_int32, POINTER(SamplingValues), *[c_void_p] * 3, POINTER(c_int32)],
        ),
    ):
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments
    return lib


def address(array: NDArray[np.generic] | None) -> int | None:
    """Where an array [n] of any shape lies; None for null. The caller keeps the array alive."""
    if array is None:
        return None
    assert array.flags.c_contiguous, "native code reads arrays without gaps"
    return array.ctypes.data
