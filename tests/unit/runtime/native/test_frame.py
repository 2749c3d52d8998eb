"""The native step against its plain torch twin, in every body that runs here."""

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from menura.errors import MenuraError, UnsupportedError
from menura.nn.transformer import Transformer
from menura.runtime.native.build import library, why_not
from menura.runtime.native.codec import NativeDecoder
from menura.runtime.native.codec_program import CodecMode, lower
from menura.runtime.native.frame import MODES, FrameRow, FrameStep
from menura.runtime.sampling import Sampling
from menura.speech import FloatArray
from tests.process_facts import needs_proc, other_threads_sleep, until
from tests.unit.runtime.native.codec_kinds import KINDS
from tests.unit.runtime.native.frame_twin import (
    CODEBOOK_SIZE,
    N_CODEBOOKS,
    VOCABULARY,
    Model,
    Twin,
    native_step,
    numbers,
    random_model,
    relative_error,
    row_of,
)

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "native kernels run here")

# The most that scores may differ from the exact ones. Four bits on random weights are no promise.
BOUNDS = {"bf16": 0.01, "int8": 0.03, "int4": 0.5, "int8-int4": 0.5}
GREEDY = Sampling(do_sample=False)


@pytest.fixture(params=["avx512", "avx2", "neon"])
def body(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each body of the library that this CPU has."""
    loaded = library()
    monkeypatch.setenv("MENURA_NATIVE_BODY", request.param)
    if not loaded.menura_body():
        pytest.skip(f"{request.param} does not run here")
    return str(request.param)


@pytest.fixture(scope="module")
def model() -> Model:
    return random_model()


@pytest.fixture
def step(model: Model) -> Iterator[FrameStep]:
    with native_step(model, "int8") as step:
        yield step


def spoken(step: FrameStep, rows: list[FrameRow]) -> list[list[int]]:
    """What the rows drew, after one frame: codes and the next first."""
    step.frame(rows)
    return [[*row.codes.tolist(), row.next_first] for row in rows]


def states_of(transformer: Transformer, inputs: FloatArray) -> list[FloatArray]:
    """The states [T, D] after each block and the final norm, in torch."""
    states: list[FloatArray] = []
    hooks = [
        block.register_forward_hook(lambda *call: states.append(call[2][0].numpy()))
        for block in transformer.blocks
    ]
    positions = torch.arange(len(inputs))[None]
    with torch.inference_mode():
        states.append(transformer(torch.from_numpy(inputs)[None], positions)[0].numpy())
    for hook in hooks:
        hook.remove()
    return states


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("predictor_width", [32, 48])
def test_scores_are_those_of_the_twin(body: str, mode: str, predictor_width: int) -> None:
    model = random_model(predictor_width=predictor_width)
    prompt = numbers(37, model.width)
    twin = Twin(model)
    with native_step(model, mode) as step:
        assert step.body == body
        hidden, scores = step.prefill(0, 0, prompt)
        exact_hidden, exact = twin.listen(prompt)
        assert relative_error(scores, exact) < BOUNDS[mode]
        for frame in range(3):
            row = row_of(model, 0, len(prompt) + frame, seed=frame)
            row.hidden = hidden
            row.forced = np.random.default_rng(frame).integers(0, CODEBOOK_SIZE, N_CODEBOOKS)
            row.scores = np.empty((N_CODEBOOKS - 1) * CODEBOOK_SIZE + VOCABULARY, np.float32)
            step.frame([row])
            codes = np.array([row.first, *row.forced[1:]])
            exact_hidden, exact = twin.frame(exact_hidden, row.text, codes)
            assert relative_error(row.scores, exact) < BOUNDS[mode]
            assert relative_error(row.hidden, exact_hidden) < BOUNDS[mode]
            assert row.sound.all()


@pytest.mark.parametrize(("mode", "least"), [("bf16", 0.9999), ("int8", 0.999)])
@pytest.mark.parametrize("which", ["talker", "predictor"])
def test_every_layer_points_where_the_twin_does(
    body: str, model: Model, which: str, mode: str, least: float
) -> None:
    part = model.talker if which == "talker" else model.predictor
    inputs = numbers(5, 48 if which == "talker" else 32)
    exact = states_of(part.transformer, inputs)
    with native_step(model, mode) as step:
        found = step.trace(which, inputs)
    assert len(found) == len(exact)
    for ours, theirs in zip(found, exact, strict=True):
        cosine = (ours * theirs).sum() / np.linalg.norm(ours) / np.linalg.norm(theirs)
        assert cosine > least


@pytest.mark.parametrize("mode", MODES)
def test_a_prompt_in_pieces_is_the_prompt(body: str, model: Model, mode: str) -> None:
    prompt = numbers(70, model.width)
    with native_step(model, mode) as step:
        hidden, scores = step.prefill(0, 0, prompt)
        for start, stop in ((0, 1), (1, 6), (6, 41), (41, 70)):
            pieces = step.prefill(1, start, prompt[start:stop])
        np.testing.assert_array_equal(pieces[0], hidden)
        np.testing.assert_array_equal(pieces[1], scores)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_are_the_same_together_and_alone(
    body: str, model: Model, mode: str, threads: int
) -> None:
    with native_step(model, mode) as alone, native_step(model, mode, threads) as together:
        for slot in range(8):
            for step in (alone, together):
                step.prefill(slot, 0, numbers(slot + 1, model.width, seed=slot))
        rows = [row_of(model, slot, slot + 1, seed=slot) for slot in range(8)]
        again = [row_of(model, slot, slot + 1, seed=slot) for slot in range(8)]
        assert spoken(together, rows) == [spoken(alone, [row])[0] for row in again]
        for row, other in zip(rows, again, strict=True):
            np.testing.assert_array_equal(row.hidden, other.hidden)


def test_a_codec_beside_changes_no_number(model: Model, step: FrameStep) -> None:
    decoder = NativeDecoder(lower(KINDS["all of it"], CodecMode.BF16), 3)
    codes = np.zeros((64, decoder.n_codebooks), np.int64)
    step.prefill(0, 0, numbers(5, model.width))
    wanted = [spoken(step, [row_of(model, 0, 5 + n, seed=n)]) for n in range(20)]
    with native_step(model, "int8", 3) as other, ThreadPoolExecutor(1) as thread:
        other.prefill(0, 0, numbers(5, model.width))
        for n in range(20):
            decoder.lend()
            beside = thread.submit(decoder.decode_beside, codes, decoder.new_state())
            assert spoken(other, [row_of(model, 0, 5 + n, seed=n)]) == wanted[n]
            assert np.isfinite(beside.result()).all()
            decoder.take_back()


def test_more_rows_than_a_pass_takes_move_all_the_same(model: Model, step: FrameStep) -> None:
    for slot in range(11):
        step.prefill(slot, 0, numbers(2, model.width, seed=slot))
    rows = [row_of(model, slot, 2, seed=slot) for slot in range(11)]
    last = spoken(step, rows)[10]
    step.prefill(0, 0, numbers(2, model.width, seed=10))
    assert spoken(step, [row_of(model, 0, 2, seed=10)]) == [last]


def test_a_greedy_row_needs_no_noise_and_takes_the_highest(model: Model, step: FrameStep) -> None:
    step.prefill(0, 0, numbers(3, model.width))
    row = row_of(model, 0, 3)
    row.talker = row.predictor = GREEDY
    row.others_noise = row.first_noise = None
    row.scores = np.empty((N_CODEBOOKS - 1) * CODEBOOK_SIZE + VOCABULARY, np.float32)
    step.frame([row])
    others = row.scores[: (N_CODEBOOKS - 1) * CODEBOOK_SIZE].reshape(-1, CODEBOOK_SIZE)
    assert row.codes.tolist() == [row.first, *others.argmax(axis=1)]
    assert row.next_first == row.scores[-VOCABULARY:][:CODEBOOK_SIZE].argmax()


def test_a_row_whose_numbers_are_lost_is_not_sound_and_its_neighbour_is(
    model: Model, step: FrameStep
) -> None:
    for slot in (0, 1):
        step.prefill(slot, 0, numbers(3, model.width))
    rows = [row_of(model, slot, 3) for slot in (0, 1)]
    rows[0].hidden[5] = np.nan
    rows[0].text[5] = np.inf
    step.frame(rows)
    assert not rows[0].sound.any()
    assert rows[1].sound.all()


def test_a_state_that_was_taken_out_can_be_put_in(model: Model, step: FrameStep) -> None:
    prompt = numbers(80, model.width)
    whole = step.prefill(0, 0, prompt)
    state = step.export(0, 66)
    assert state.nbytes == step.state_bytes(66)
    step.load(1, 66, state)
    np.testing.assert_array_equal(step.export(1, 66), state)
    rest = step.prefill(1, 66, prompt[66:])
    np.testing.assert_array_equal(rest[1], whole[1])


def test_a_released_slot_is_empty(model: Model, step: FrameStep) -> None:
    step.prefill(0, 0, numbers(3, model.width))
    step.release(0)
    with pytest.raises(MenuraError, match="position"):
        step.prefill(0, 3, numbers(1, model.width))


@pytest.mark.parametrize(("slot", "position"), [(99, 0), (-1, 0), (0, 1), (0, -1)])
def test_a_place_that_does_not_exist_is_refused(
    model: Model, step: FrameStep, slot: int, position: int
) -> None:
    with pytest.raises(MenuraError, match="does not exist"):
        step.prefill(slot, position, numbers(1, model.width))


def test_two_rows_of_one_slot_are_refused(model: Model, step: FrameStep) -> None:
    step.prefill(0, 0, numbers(3, model.width))
    with pytest.raises(MenuraError, match="does not exist"):
        step.frame([row_of(model, 0, 3), row_of(model, 0, 3)])


def test_widths_that_the_kernels_cannot_take_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="multiples of 16"):
        native_step(random_model(width=40), "bf16")


def test_an_unknown_body_is_refused(monkeypatch: pytest.MonkeyPatch, model: Model) -> None:
    monkeypatch.setenv("MENURA_NATIVE_BODY", "abacus")
    with pytest.raises(UnsupportedError, match="CPU"):
        native_step(model, "bf16")


def exit_code_of_child(work: Callable[[], bool]) -> int:
    """What a forked process ends with: 0 if the work gives true, 1 if not, or if it raises."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(60)  # instead of waiting for ever
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_is_told_instead_of_waiting_for_ever(model: Model) -> None:
    with native_step(model, "bf16", threads=2) as step:

        def is_told() -> bool:
            with pytest.raises(MenuraError, match="forked"):
                step.prefill(0, 0, numbers(1, model.width))
            return True

        assert exit_code_of_child(is_told) == 0


@needs_proc
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_closes_what_it_has_inherited_and_makes_its_own(model: Model) -> None:
    with native_step(model, "bf16", threads=2) as step:
        heard = step.prefill(0, 0, numbers(1, model.width))

        def hears_the_same() -> bool:
            with native_step(model, "bf16", threads=2) as own:
                again = own.prefill(0, 0, numbers(1, model.width))
            step.close()
            return all(map(np.array_equal, heard, again))

        until(lambda: other_threads_sleep(os.getpid()), "the pool's threads never sleep")
        assert exit_code_of_child(hears_the_same) == 0
