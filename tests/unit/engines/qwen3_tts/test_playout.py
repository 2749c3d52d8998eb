"""When pieces are handed over, and that what is decoded beside the talker is the same."""

import threading

import numpy as np
import pytest

from menura.engines.qwen3_tts.codec import CodeArray, Codec, CodecStream, Decoder, FloatArray
from menura.engines.qwen3_tts.codec_helper import CodecHelper
from menura.engines.qwen3_tts.playout import ChunkedPlayout, Piece
from menura.errors import NumericsError
from tests.unit.engines.qwen3_tts.random_codec import CODEBOOK_SIZE, N_CODEBOOKS, random_codec

SAMPLES_PER_FRAME = 12


class Core:
    """Counts how often it is lent."""

    def __init__(self) -> None:
        self.n_lent = 0

    def lend(self) -> None:
        self.n_lent += 1

    def take_back(self) -> None:
        self.n_lent -= 1


class Gated:
    """A stream whose pieces are decoded elsewhere only when the gate is open."""

    def __init__(self, codec: Codec) -> None:
        self.gate = threading.Event()
        self.begun = threading.Event()
        self.stream = codec.stream()
        own = self.stream.decode

        def decode(codes: CodeArray, decoder: Decoder | None = None) -> FloatArray:
            if decoder is not None:
                self.begun.set()
                self.gate.wait()
            return own(codes, decoder)

        self.stream.decode = decode  # type: ignore[method-assign]


def codes(n_frames: int) -> CodeArray:
    return np.random.default_rng(n_frames).integers(0, CODEBOOK_SIZE, (n_frames, N_CODEBOOKS))


def played(codec: Codec, frames: CodeArray, helper: CodecHelper | None) -> list[Piece | None]:
    playout = ChunkedPlayout(codec.stream(), 1, 4, helper)
    return [*map(playout.add, frames), playout.close()]


def lengths(pieces: list[Piece | None]) -> list[int]:
    return [0 if piece is None else len(piece.frames) for piece in pieces]


def joined(pieces: list[Piece | None]) -> FloatArray:
    return np.concatenate([piece.samples for piece in pieces if piece is not None])


def test_pieces_come_with_their_last_frame_where_nobody_helps() -> None:
    pieces = played(random_codec(), codes(10), None)
    assert lengths(pieces) == [1, 0, 0, 0, 4, 0, 0, 0, 4, 0, 1]


@pytest.mark.parametrize("n_frames", [1, 2, 5, 6, 9, 30])
def test_with_help_or_without_the_samples_are_the_same(n_frames: int) -> None:
    codec, frames, core = random_codec(), codes(n_frames), Core()
    wanted = joined(played(codec, frames, None))
    pieces = played(codec, frames, CodecHelper(codec.decoder, core))
    np.testing.assert_array_equal(joined(pieces), wanted)
    kept = [piece for piece in pieces if piece is not None]
    np.testing.assert_array_equal(np.concatenate([piece.frames for piece in kept]), frames)
    assert all(len(p.samples) == SAMPLES_PER_FRAME * len(p.frames) for p in kept)


def test_a_piece_that_is_not_there_yet_comes_with_the_frame_that_fills_the_next() -> None:
    codec, core = random_codec(), Core()
    slow = Gated(codec)
    playout = ChunkedPlayout(slow.stream, 1, 2, CodecHelper(codec.decoder, core))
    frames = codes(5)
    assert lengths([playout.add(frame) for frame in frames[:4]]) == [1, 0, 0, 0]
    assert core.n_lent == 1
    slow.begun.wait()
    opening = threading.Timer(0.05, slow.gate.set)
    opening.start()
    assert lengths([playout.add(frames[4]), playout.close()]) == [2, 2]
    opening.join()


def test_what_the_helper_has_not_begun_is_decoded_by_who_waits_for_it() -> None:
    codec, core = random_codec(), Core()
    helper, busy = CodecHelper(codec.decoder, core), Gated(codec)
    other = helper.begin(busy.stream, codes(2))
    busy.begun.wait()
    pieces = played(codec, codes(9), helper)  # the helper is held up all the time
    np.testing.assert_array_equal(joined(pieces), joined(played(codec, codes(9), None)))
    assert core.n_lent == 1
    busy.gate.set()
    assert len(other.samples()) == 2 * SAMPLES_PER_FRAME


def test_before_a_pause_everything_that_is_full_is_handed_over() -> None:
    codec = random_codec()
    playout = ChunkedPlayout(codec.stream(), 1, 2, CodecHelper(codec.decoder, Core()))
    handed_over = lengths([playout.add(frame) for frame in codes(3)])
    handed_over.append(*lengths([playout.flush()]))
    assert sum(handed_over) == 3
    assert playout.flush() is None


@pytest.mark.parametrize("has_help", [False, True])
def test_what_is_heard_with_a_frame_does_not_hang_on_the_pace(has_help: bool) -> None:
    codec = random_codec()
    helper = CodecHelper(codec.decoder, Core()) if has_help else None
    playout = ChunkedPlayout(codec.stream(), 1, 2, helper)
    heard: list[int] = []
    for frame in codes(6):
        playout.add(frame)
        settled = playout.settled()
        heard.append(0 if settled is None else len(settled) // SAMPLES_PER_FRAME)
    assert heard == [0, 0, 1, 0, 2, 0]


def test_what_nobody_wants_is_not_made() -> None:
    codec, core = random_codec(), Core()
    helper, busy = CodecHelper(codec.decoder, core), Gated(codec)
    other = helper.begin(busy.stream, codes(2))
    busy.begun.wait()
    stream = codec.stream()
    playout = ChunkedPlayout(stream, 1, 1, helper)
    for frame in codes(2):
        playout.add(frame)
    assert core.n_lent == 2
    playout.drop()
    assert core.n_lent == 1
    busy.gate.set()
    other.samples()
    helper.begin(codec.stream(), codes(1)).samples()  # whatever was before it is done
    assert stream.n_frames == 1


def test_a_core_is_given_back_after_each_piece() -> None:
    codec, core = random_codec(), Core()
    helper = CodecHelper(codec.decoder, core)
    helper.begin(codec.stream(), codes(2)).samples()
    helper.begin(codec.stream(), codes(3)).samples()
    assert core.n_lent == 0


class FailingStream(CodecStream):
    begun = threading.Event()

    def decode(self, codes: CodeArray, decoder: Decoder | None = None) -> FloatArray:
        if decoder is not None:
            self.begun.set()
            raise NumericsError("no numbers")
        return super().decode(codes)


def test_what_fails_elsewhere_is_told_at_the_latest_with_the_next_piece() -> None:
    codec, core = random_codec(), Core()
    helper = CodecHelper(codec.decoder, core)
    playout = ChunkedPlayout(FailingStream(codec.decoder, codec.config), 1, 1, helper)
    first, second, third = codes(3)
    assert playout.add(first) is not None
    assert playout.add(second) is None
    FailingStream.begun.wait()
    with pytest.raises(NumericsError, match="no numbers"):
        playout.add(third)
    assert core.n_lent == 0


def test_a_piece_that_nothing_follows_is_there_at_once() -> None:
    codec = random_codec()
    blocked, busy = CodecHelper(codec.decoder, Core()), Gated(codec)
    other = blocked.begin(busy.stream, codes(2))
    busy.begun.wait()
    playout = ChunkedPlayout(codec.stream(), 1, 2, blocked)
    first, second, third = codes(3)
    assert lengths([playout.add(first), playout.add(second)]) == [1, 0]
    assert lengths([playout.add(third, is_followed=False)]) == [2]
    busy.gate.set()
    other.samples()


def test_where_no_work_is_taken_any_more_it_is_done_here() -> None:
    codec, core = random_codec(), Core()
    helper = CodecHelper(codec.decoder, core)
    helper._thread.shutdown()  # as Python does when the main thread has ended
    pieces = played(codec, codes(9), helper)
    np.testing.assert_array_equal(joined(pieces), joined(played(codec, codes(9), None)))
    assert core.n_lent == 0
