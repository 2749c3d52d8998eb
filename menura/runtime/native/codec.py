"""The native codec decoder as Python sees it: a program opened once, and streams that it moves on.

A stream's state is one block of bytes. It starts as zeros, and a copy of it goes on independently.

Legend: T frames, Q codebooks.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from menura.errors import MenuraError, UnsupportedError
from menura.runtime.native.build import library
from menura.runtime.native.codec_program import OP, CodecMode, Program

FRAMES_PER_PIECE = 4  # what the buffers hold; longer calls are cut

_MODES = {CodecMode.EXACT: 0, CodecMode.BF16: 1}
_ALIGNMENT = 64
_ERROR_BYTES = 256
_FAILURES = {  # by menura_status of api.h
    2: "there is not enough memory for the codec's samples",
    3: "the process was forked: load the model again in the new process",
}


class NativeState:
    """What a decoder remembers of one stream: all zeros before its first frame."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.data = data

    @property
    def n_frames(self) -> int:
        """How many frames the stream has had."""
        return int(self.data[:8].view(np.int64)[0])

    def copy(self) -> Self:
        """The same state, to go on from this point on its own."""
        twin = _aligned_zeros(len(self.data))
        twin[:] = self.data
        return type(self)(twin)


class NativeDecoder:
    """A program, opened by the library of this machine. One caller at a time moves a stream.

    Raises: UnsupportedError: there is no library here, or it refuses the program.
    """

    def __init__(
        self, program: Program, n_threads: int, frames_per_piece: int = FRAMES_PER_PIECE
    ) -> None:
        self._library = _with_signatures(library())
        self._weights = aligned(program.weights)  # the library reads them in place
        self._lock = threading.Lock()
        self.n_codebooks = program.n_codebooks
        self.samples_per_frame = program.samples_per_frame
        error = ctypes.create_string_buffer(_ERROR_BYTES)
        ops = np.ascontiguousarray(program.ops, OP)
        self._handle: int | None = self._library.menura_codec_open(
            ops.ctypes.data,
            len(ops),
            self._weights.ctypes.data,
            len(self._weights),
            _MODES[program.mode],
            frames_per_piece,
            n_threads,
            error,
            _ERROR_BYTES,
        )
        if not self._handle:
            raise UnsupportedError(f"the native codec cannot run: {error.value.decode()}")
        self._state_bytes = int(self._library.menura_codec_state_bytes(self._handle))

    def new_state(self) -> NativeState:
        """The state before a stream's first frame."""
        return NativeState(_aligned_zeros(self._state_bytes))

    def decode(self, codes: NDArray[np.int64], state: NativeState) -> NDArray[np.float32]:
        """The samples [T * samples_per_frame] of the stream's next codes [T, Q].

        Raises: MenuraError: the process was forked after the decoder was made.
        """
        return self._decode(self._library.menura_codec_run, codes, state)

    def decode_beside(self, codes: NDArray[np.int64], state: NativeState) -> NDArray[np.float32]:
        """The same samples [n] of codes [T, Q], on the caller's thread alone, and on the core lent.

        Raises: MenuraError: as `decode`.
        """
        return self._decode(self._library.menura_codec_run_beside, codes, state)

    def lend(self) -> None:
        """Let all that has the threads of this decoder do without one of them.

        As often as it is lent, a core must be taken back before it is theirs again.
        """
        self._library.menura_codec_lend(self._handle)

    def take_back(self) -> None:
        """Undo one `lend`."""
        self._library.menura_codec_take_back(self._handle)

    def hear(self, codes: NDArray[np.int64], state: NativeState) -> None:
        """Move the stream on by codes [T, Q] whose samples nobody wants, to the same state.

        Raises: MenuraError: as `decode`; or there is not enough memory.
        """
        self._run(self._library.menura_codec_hear, codes, state)

    def _decode(
        self, call: Callable[..., int], codes: NDArray[np.int64], state: NativeState
    ) -> NDArray[np.float32]:
        samples = np.empty(len(codes) * self.samples_per_frame, np.float32)
        self._run(call, codes, state, samples.ctypes.data)
        return samples

    def _run(
        self, call: Callable[..., int], codes: NDArray[np.int64], state: NativeState, *more: int
    ) -> None:
        assert codes.shape == (len(codes), self.n_codebooks), "codes of another shape"
        assert len(state.data) == self._state_bytes, "a state of another decoder"
        frames = np.ascontiguousarray(codes, np.int64)
        place = frames.ctypes.data
        with self._lock:
            assert self._handle, "the decoder was closed"
            status = call(self._handle, state.data.ctypes.data, place, len(frames), *more)
        if status in _FAILURES:
            raise MenuraError(_FAILURES[status])
        assert status == 0, "a code is not in its codebook"

    def close(self) -> None:
        """Free the buffers; the decoder cannot be used afterwards."""
        with self._lock:
            if self._handle:
                self._library.menura_codec_close(self._handle)
                self._handle = None

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self.close()


def _with_signatures(loaded: ctypes.CDLL) -> ctypes.CDLL:
    """The library, after its functions of the codec were given their types."""
    pointer, number, size = ctypes.c_void_p, ctypes.c_int, ctypes.c_int64
    loaded.menura_codec_open.restype = pointer
    loaded.menura_codec_open.argtypes = [
        *(pointer, size, pointer, size),
        *(number, size, number, ctypes.c_char_p, size),
    ]
    loaded.menura_codec_state_bytes.restype = size
    loaded.menura_codec_state_bytes.argtypes = [pointer]
    for run in (loaded.menura_codec_run, loaded.menura_codec_run_beside):
        run.restype = number
        run.argtypes = [pointer, pointer, pointer, size, pointer]
    loaded.menura_codec_hear.restype = number
    loaded.menura_codec_hear.argtypes = [pointer, pointer, pointer, size]
    for act in (
        loaded.menura_codec_lend,
        loaded.menura_codec_take_back,
        loaded.menura_codec_close,
    ):
        act.restype = None
        act.argtypes = [pointer]
    return loaded


def _aligned_zeros(n_bytes: int) -> NDArray[np.uint8]:
    """Zeros uint8 [n_bytes] that start on a cache line."""
    room = np.zeros(n_bytes + _ALIGNMENT, np.uint8)
    first = -room.ctypes.data % _ALIGNMENT
    return room[first : first + n_bytes]


def aligned(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The same bytes [n], copied only if they do not start on a cache line."""
    if data.ctypes.data % _ALIGNMENT == 0 and data.flags.c_contiguous:
        return data
    moved = _aligned_zeros(len(data))
    moved[:] = data
    return moved
