"""The language model's step in native code: the Python face of lm.cpp and frame.cpp.

A `FrameStep` holds the keys and values of many utterances, each in a slot. `prefill` reads a prompt
into a slot; `frame` moves several slots by one frame, in one call and in any company: a row's codes
are the same alone and beside others.

Legend: T positions, D talker width, Q codebooks, V talker vocabulary, C codebook entries.
"""

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from menura.errors import MenuraError, UnsupportedError
from menura.runtime.native import frame_abi as abi
from menura.runtime.native.build import body_name, why_not
from menura.runtime.native.frame_weights import (
    KERNEL_VERSION,
    MODES,
    Bytes,
    Entry,
    FrameSizes,
    build_model,
    layout,
    pack,
)
from menura.speech import FloatArray

__all__ = [
    "KERNEL_VERSION", "MODES", "Choice", "Entry", "FrameRow", "FrameSizes", "FrameStep", "draw",
    "layout", "pack", "why_not",
]  # fmt: skip

MAX_ROWS = 8
_MAX_TRACED = 32
_FAILURES = {
    1: "a slot, position, code or noise of the native step does not exist",
    2: "there is not enough memory for the keys and values of the native step",
    3: "the process was forked after the model was loaded; load the model in each process",
}
_Mask = NDArray[np.bool_]


class Choice(Protocol):
    """How to choose (as `runtime.sampling.Sampling`, which is made of torch)."""

    @property
    def do_sample(self) -> bool: ...  # noqa: D102
    @property
    def temperature(self) -> float: ...  # noqa: D102
    @property
    def top_k(self) -> int: ...  # noqa: D102
    @property
    def top_p(self) -> float: ...  # noqa: D102
    @property
    def repetition_penalty(self) -> float: ...  # noqa: D102


@dataclass
class FrameRow:
    """One row of one call; its arrays are float32 without gaps.

    `hidden` [D] is the talker's last state and becomes the new one, `text` [D] the next text row.
    Noise [Q - 1, C] and [V] is exponential; None where greedy. `seen` [V] marks the first codes
    that the penalty counts, `allowed` [V] those that may come next. `forced` [Q] codes are shown in
    place of the drawn ones; the array `scores` [(Q - 1) * C + V], if given, is filled.

    The call sets `codes` [Q], of which the first is `first`, the next frame's first code
    `next_first`, and which draws were `sound` [Q]: those of codes 1 to Q - 1, then the next first.
    """

    slot: int
    position: int
    first: int
    hidden: FloatArray
    text: FloatArray
    others_noise: FloatArray | None
    first_noise: FloatArray | None
    talker: Choice
    predictor: Choice
    seen: _Mask
    allowed: _Mask
    forced: NDArray[np.int64] | None = None
    scores: FloatArray | None = None
    codes: NDArray[np.int64] = field(init=False)
    next_first: int = field(init=False, default=-1)
    sound: _Mask = field(init=False)


class FrameStep:
    """The native language model. `arrays` are those of `layout`; they may be mapped read-only.

    Raises: UnsupportedError: there is no native library here, or it cannot run this model.
    """

    def __init__(
        self, sizes: FrameSizes, mode: str, arrays: Mapping[str, Bytes], threads: int
    ) -> None:
        self._lib = abi.functions()
        self.sizes = sizes
        self.body = body_name()
        self.n_threads = threads
        self._model = build_model(sizes, mode, arrays)
        error = ctypes.create_string_buffer(200)
        self._handle: int | None = self._lib.menura_lm_open(
            ctypes.byref(self._model.struct), threads, error, len(error)
        )
        if not self._handle:
            raise UnsupportedError(f"the native step cannot run this model: {error.value.decode()}")

    def prefill(
        self, slot: int, position: int, inputs: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """The last state [D] and its scores [V], after a slot has read inputs [T, D].

        Raises: MenuraError: there is not enough memory.
        """
        inputs = np.ascontiguousarray(inputs, np.float32)
        hidden = np.empty(self.sizes.talker.hidden_size, np.float32)
        scores = np.empty(self.sizes.talker_vocab_size, np.float32)
        assert inputs.shape[1:] == hidden.shape, "inputs have the talker's width"
        status = self._lib.menura_lm_prefill(
            self._handle, slot, position, len(inputs),
            abi.address(inputs), abi.address(hidden), abi.address(scores),
        )  # fmt: skip
        _check(status)
        return hidden, scores

    def frame(self, rows: Sequence[FrameRow]) -> None:
        """Move the rows by one frame, up to 8 in one pass, and fill what they have room for.

        Raises: MenuraError: there is not enough memory.
        """
        for start in range(0, len(rows), MAX_ROWS):
            self._frame(rows[start : start + MAX_ROWS])

    def _frame(self, rows: Sequence[FrameRow]) -> None:
        structs = (abi.Row * len(rows))()
        sounds = [np.zeros(self.sizes.n_codebooks, np.uint8) for _ in rows]
        for row, struct, sound in zip(rows, structs, sounds, strict=True):
            row.codes = np.zeros(self.sizes.n_codebooks, np.int64)
            self._check_row(row)
            _fill(struct, row, sound)
        _check(self._lib.menura_lm_frame(self._handle, len(rows), structs))
        for row, struct, sound in zip(rows, structs, sounds, strict=True):
            row.next_first = struct.next
            row.sound = sound.astype(np.bool_)

    def _check_row(self, row: FrameRow) -> None:
        """Hold the shapes that native code takes on trust."""
        sizes = self.sizes
        width, vocabulary = (sizes.talker.hidden_size,), (sizes.talker_vocab_size,)
        others = (sizes.n_codebooks - 1, sizes.codebook_size)
        assert row.hidden.shape == row.text.shape == width, "hidden and text are [D]"
        assert row.seen.shape == row.allowed.shape == vocabulary, "seen and allowed are [V]"
        assert row.others_noise is None or row.others_noise.shape == others, "noise is [Q - 1, C]"
        assert row.first_noise is None or row.first_noise.shape == vocabulary, "noise is [V]"
        assert row.forced is None or row.forced.shape == row.codes.shape, "forced is [Q]"
        n_scores = (others[0] * others[1] + vocabulary[0],)
        assert row.scores is None or row.scores.shape == n_scores, "scores are of all draws"

    def trace(self, which: str, inputs: FloatArray) -> FloatArray:
        """The states [n_layers + 1, T, D] after each block and the final norm, T up to 32.

        `which` is `talker` or `predictor`; inputs [T, D] are of its own width.
        """
        stack = self.sizes.predictor if which == "predictor" else self.sizes.talker
        inputs = np.ascontiguousarray(inputs, np.float32)
        assert len(inputs) <= _MAX_TRACED, "a trace is one pass"
        states = np.empty((stack.n_layers + 1, *inputs.shape), np.float32)
        status = self._lib.menura_lm_trace(
            self._handle, which == "predictor", len(inputs), abi.address(inputs),
            abi.address(states),
        )  # fmt: skip
        _check(status)
        return states

    def export(self, slot: int, n_positions: int) -> Bytes:
        """The keys and values [n_bytes] of a slot's first positions."""
        state = np.empty(self.state_bytes(n_positions), np.uint8)
        _check(self._lib.menura_lm_export(self._handle, slot, n_positions, abi.address(state)))
        return state

    def state_bytes(self, n_positions: int) -> int:
        """How large the keys and values of so many positions are, in bytes."""
        n_bytes: int = self._lib.menura_lm_state_bytes(self._handle, n_positions)
        return n_bytes

    def load(self, slot: int, n_positions: int, state: Bytes) -> None:
        """Let a slot hold an exported state, and nothing else. Raises: MenuraError."""
        assert state.nbytes == self.state_bytes(n_positions), "the state has other positions"
        _check(self._lib.menura_lm_import(self._handle, slot, n_positions, abi.address(state)))

    def release(self, slot: int) -> None:
        """Empty a slot and give its memory back."""
        _check(self._lib.menura_lm_release(self._handle, slot))

    def close(self) -> None:
        """Give all memory back; nothing else may be called then."""
        if self._handle:
            self._lib.menura_lm_close(self._handle)
        self._handle = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()


def draw(
    scores: FloatArray,
    choice: Choice,
    noise: FloatArray | None = None,
    *,
    seen: _Mask | None = None,
    allowed: _Mask | None = None,
) -> tuple[int, bool]:
    """The entry chosen from scores [V], and whether they allowed a choice: `sampling.draw`'s twin.

    Raises: UnsupportedError: there is no native library here.
    """
    assert noise is not None or not choice.do_sample, "only greedy choices need no noise"
    is_sound = ctypes.c_int32()
    code: int = abi.functions().menura_draw(
        abi.address(scores), len(scores), ctypes.byref(_values(choice)), abi.address(noise),
        abi.address(seen), abi.address(allowed), ctypes.byref(is_sound),
    )  # fmt: skip
    return code, bool(is_sound.value)


def _values(choice: Choice) -> abi.SamplingValues:
    return abi.SamplingValues(
        do_sample=choice.do_sample,
        top_k=choice.top_k,
        temperature=choice.temperature,
        repetition_penalty=choice.repetition_penalty,
        top_p=choice.top_p,
    )


def _fill(struct: abi.Row, row: FrameRow, sound: NDArray[np.uint8]) -> None:
    """Point the struct at the row's arrays, which live as long as the call."""
    struct.slot, struct.position, struct.first = row.slot, row.position, row.first
    struct.talker, struct.predictor = _values(row.talker), _values(row.predictor)
    struct.text, struct.hidden = abi.address(row.text), abi.address(row.hidden)
    struct.predictor_noise = abi.address(row.others_noise)
    struct.talker_noise = abi.address(row.first_noise)
    struct.seen, struct.allowed = abi.address(row.seen), abi.address(row.allowed)
    struct.forced, struct.scores = abi.address(row.forced), abi.address(row.scores)
    struct.codes, struct.sound = abi.address(row.codes), abi.address(sound)


def _check(status: int) -> None:
    if status:
        raise MenuraError(_FAILURES[status])
