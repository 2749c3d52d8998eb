"""Rows through the interface of the frame step: the codes, slots, errors, known beginnings."""

import gc
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from torch import Tensor

from menura.engines.qwen3_tts.generate import Models, OneByOne
from menura.engines.qwen3_tts.native_rows import MAX_ROWS, N_SLOTS, NativeRow, NativeRows
from menura.engines.qwen3_tts.prefix_states import PrefixStates
from menura.engines.qwen3_tts.utterance_row import FrameMaker, Row, Settings, TrailingText
from menura.errors import MenuraError, NumericsError
from menura.runtime.native.frame import FrameRow
from menura.runtime.sampling import Sampling
from menura.runtime.torch_noise import TorchNoise
from tests.unit.engines.qwen3_tts.frame_twin import TorchStep
from tests.unit.engines.qwen3_tts.random_models import TALKER_SIZE, random_models

N_FIXED = 6
PLAIN = Sampling(temperature=0.9, top_k=8, top_p=0.95, repetition_penalty=1.05)
GREEDY = Sampling(do_sample=False, repetition_penalty=1.3)


def rows(n: int, seed: int) -> Tensor:
    return torch.randn(n, TALKER_SIZE, generator=torch.Generator().manual_seed(seed))


FIXED, TEXT, PADDING = rows(N_FIXED, 1), rows(7, 2), rows(1, 3)[0]


def maker(models: Models, prefixes: PrefixStates | None = None) -> tuple[NativeRows, TorchStep]:
    step = TorchStep(models)
    known = PrefixStates() if prefixes is None else prefixes
    return NativeRows(step, models.talker.config, known), step


def start(frames: FrameMaker, seed: int, sampling: Sampling = PLAIN, limit: int = 12) -> Row:
    prompt = torch.cat([FIXED, rows(1 + seed % 4, 10 + seed)])
    how = Settings(sampling, sampling, limit)
    return frames.start(prompt, N_FIXED, TrailingText(TEXT, PADDING), how, TorchNoise(seed))


def run(frames: FrameMaker, live: Sequence[Row]) -> list[list[list[int]]]:
    """The frames of rows that move together until all have ended."""
    made: list[list[list[int]]] = [[] for _ in live]
    while moving := [i for i, row in enumerate(live) if row.can_move]:
        for i, frame in zip(moving, frames.next_frames([live[i] for i in moving]), strict=True):
            assert isinstance(frame, np.ndarray)
            made[i].append(frame.tolist())
    return made


@pytest.mark.parametrize("predictor_size", [8, TALKER_SIZE])
@pytest.mark.parametrize("sampling", [PLAIN, GREEDY])
def test_codes_are_those_of_the_reference(sampling: Sampling, predictor_size: int) -> None:
    models = random_models(predictor_size=predictor_size)
    native, _ = maker(models)
    seeds = range(11)  # more than move in one call
    assert len(seeds) > MAX_ROWS
    together = run(native, [start(native, seed, sampling) for seed in seeds])
    for seed, found in zip(seeds, together, strict=True):
        exact = OneByOne(models)
        assert run(exact, [start(exact, seed, sampling)]) == [found]


def test_a_row_that_was_released_gives_its_slot_to_the_next() -> None:
    native, step = maker(random_models())
    first, second = start(native, 0), start(native, 1)
    assert sorted(step.slots) == [0, 1]
    native.release(first)
    native.release(first)
    assert sorted(step.slots) == [1]
    third, fourth = start(native, 2), start(native, 3)
    assert sorted(step.slots) == [0, 1, 2]
    assert len({row.slot for row in (second, third, fourth) if isinstance(row, NativeRow)}) == 3


def test_a_row_that_nobody_released_loses_its_slot() -> None:
    native, step = maker(random_models())
    row = start(native, 0)
    del row
    gc.collect()
    start(native, 1)
    assert sorted(step.slots) == [0]


def test_a_prompt_without_numbers_keeps_no_slot() -> None:
    native, step = maker(random_models())
    nothing = torch.full((3, TALKER_SIZE), torch.nan)
    with pytest.raises(NumericsError, match="codebook 0 in frame 0 "):
        native.start(
            nothing, 0, TrailingText(TEXT, PADDING), Settings(PLAIN, PLAIN, 5), TorchNoise(0)
        )
    assert step.slots == {}


@pytest.mark.parametrize(
    "error", [MenuraError("no memory"), ValueError("a fault"), KeyboardInterrupt()]
)
@pytest.mark.parametrize("method", ["prefill", "export"])
def test_whatever_goes_wrong_with_a_prompt_it_keeps_no_slot(
    method: str, error: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    native, step = maker(random_models())
    real = getattr(step, method)

    def broken(*given: object) -> None:
        real(*given)
        raise error

    for _ in range(N_SLOTS + 1):
        monkeypatch.setattr(step, method, broken)
        with pytest.raises(type(error)):
            start(native, 0)
    assert step.slots == {}
    monkeypatch.undo()
    start(native, 0)


def test_a_failed_call_ends_its_rows_alone_and_frees_their_slots(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    native, step = maker(random_models())
    live = [start(native, seed) for seed in range(MAX_ROWS + 1)]
    real = step.frame

    def broken(rows: Sequence[FrameRow]) -> None:
        if len(rows) == MAX_ROWS:
            raise MenuraError("no memory")
        real(rows)

    monkeypatch.setattr(step, "frame", broken)
    *failed, other = native.next_frames(live)
    assert [str(outcome) for outcome in failed] == ["no memory"] * MAX_ROWS
    assert isinstance(other, np.ndarray)
    assert [row.can_move for row in live] == [False] * MAX_ROWS + [True]
    for row in live[:MAX_ROWS]:
        native.release(row)
    assert len(step.slots) == 1


def test_more_utterances_than_slots_are_refused_until_one_ends() -> None:
    native, step = maker(random_models())
    live = [start(native, 0, limit=2) for _ in range(N_SLOTS)]
    with pytest.raises(MenuraError, match="64 utterances are under way"):
        start(native, 0)
    native.release(live.pop())
    live.append(start(native, 1))
    assert len(step.slots) == N_SLOTS


def test_rows_that_were_left_in_a_circle_are_found() -> None:
    native, step = maker(random_models())
    gc.disable()
    try:
        for _ in range(N_SLOTS):
            circle: list[object] = [start(native, 0, limit=2)]
            circle.append(circle)
        del circle
        start(native, 1)
    finally:
        gc.enable()
    assert len(step.slots) == 1


def test_one_rows_bad_numbers_leave_the_others_alone() -> None:
    models = random_models()
    native, _ = maker(models)
    [alone] = run(native, [start(native, 1)])
    spoilt = TEXT.clone()
    spoilt[1, 0] = torch.nan
    how = Settings(PLAIN, PLAIN, 12)
    bad = native.start(FIXED, 0, TrailingText(spoilt, PADDING), how, TorchNoise(2))
    good = start(native, 1)
    frames: list[list[int]] = []
    for _ in range(2):
        outcomes = native.next_frames([bad, good])
        frame = outcomes[1]
        assert isinstance(frame, np.ndarray)
        frames.append(frame.tolist())
    failure = outcomes[0]
    assert isinstance(failure, NumericsError)
    assert "codebook 0 in frame 2 " in failure.message
    assert not bad.can_move
    assert frames + run(native, [good])[0] == alone


def test_a_beginning_that_is_known_is_not_read_again_and_changes_nothing() -> None:
    models = random_models()
    native, step = maker(models)
    first = run(native, [start(native, 0)])
    n_read = step.n_read
    again = run(native, [start(native, 0)])
    assert step.n_read - n_read == n_read - N_FIXED
    without, _ = maker(models, PrefixStates(budget_bytes=0))
    assert first == again == run(without, [start(without, 0)])


def test_other_rows_are_another_beginning() -> None:
    models = random_models()
    native, _ = maker(models)
    start(native, 0)
    prompt = torch.cat([FIXED, rows(2, 20)])
    prompt[2, 3] += 1e-6
    how = Settings(GREEDY, GREEDY, 8)
    text = TrailingText(TEXT, PADDING)
    fresh, _ = maker(models)
    found, wanted = (
        run(frames, [frames.start(prompt, N_FIXED, text, how, TorchNoise(0))])
        for frames in (native, fresh)
    )
    assert found == wanted


def test_states_leave_in_the_order_of_their_use_when_over_the_budget() -> None:
    states = PrefixStates(budget_bytes=100)
    keys = [np.full((1, 2), value, np.float32) for value in range(4)]
    for key in keys[:3]:
        states.keep(key, np.zeros(33, np.uint8))
    assert states.find(keys[0]) is not None
    states.keep(keys[3], np.zeros(33, np.uint8))
    assert [states.find(key) is not None for key in keys] == [True, False, True, True]
    assert states.n_bytes == 99
    states.keep(keys[3], np.zeros(20, np.uint8))
    assert states.n_bytes == 86
    states.keep(keys[1], np.zeros(101, np.uint8))
    assert states.find(keys[1]) is None
    assert states.n_bytes == 86
