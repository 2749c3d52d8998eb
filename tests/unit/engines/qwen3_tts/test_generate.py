"""One utterance: where it ends, what it may know, and what becomes of scores without numbers."""

import math
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from menura.engines.qwen3_tts.generate import EagerRow, Models, next_frame, prefill
from menura.engines.qwen3_tts.utterance_row import Settings, TrailingText
from menura.errors import NumericsError
from menura.runtime.sampling import Sampling
from menura.runtime.torch_noise import TorchNoise
from menura.speech import FinishReason
from tests.unit.engines.qwen3_tts.random_models import (
    CODEBOOK_SIZE,
    CODEC_VOCAB_SIZE,
    EOS_ID,
    N_CODEBOOKS,
    TALKER_SIZE,
    random_models,
)

PLAIN = Sampling(temperature=0.9, repetition_penalty=1.05)
N_TEXT_ROWS = 7


class ScriptedHead(nn.Module):
    """Scores that are given: those of the n-th call, then those of the last."""

    def __init__(self, script: Sequence[Tensor]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(0))
        self.script = list(script)
        self.n_calls = 0

    def forward(self, states: Tensor) -> Tensor:
        scores = self.script[min(self.n_calls, len(self.script) - 1)]
        self.n_calls += 1
        return scores.expand(*states.shape[:-1], -1)


class RecordedNoise(TorchNoise):
    """A seed's noise that remembers what was asked for."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.asked: list[tuple[str, tuple[int, ...]]] = []

    def draw(self, name: str, shape: tuple[int, ...]) -> Tensor:
        self.asked.append((name, shape))
        return super().draw(name, shape)


def rows(n: int, seed: int) -> Tensor:
    return torch.randn(n, TALKER_SIZE, generator=torch.Generator().manual_seed(seed))


PROMPT, TEXT, PADDING = rows(5, 1), rows(N_TEXT_ROWS, 2), rows(1, 3)[0]


def scores(end: float, code: float = 0.0) -> Tensor:
    """Equal scores for all codes, the end's own, and high ones for the control ids."""
    given = torch.full((CODEC_VOCAB_SIZE,), 50.0)
    given[:CODEBOOK_SIZE] = code
    given[EOS_ID] = end
    return given


def scripted(*script: Tensor) -> Models:
    models = random_models()
    models.talker.add_module("codec_head", ScriptedHead(script))
    return models


def start(
    models: Models,
    *,
    text: TrailingText | None = None,
    sampling: Sampling = PLAIN,
    max_new_tokens: int = 12,
    noise: TorchNoise | None = None,
) -> EagerRow:
    whole_text = text or TrailingText(TEXT, PADDING)
    how = Settings(sampling, PLAIN, max_new_tokens)
    return prefill(models, PROMPT, whole_text, how, noise or TorchNoise(0))


def frames_of(row: EagerRow) -> list[list[int]]:
    frames = []
    while row.finish is None:
        frames.append(next_frame(row).tolist())
    return frames


ENDLESS = scripted(scores(end=-1e9))


def test_an_utterance_without_an_end_runs_to_the_limit_and_says_so() -> None:
    # Report 1: one clone in two hundred never drew its end.
    row = start(ENDLESS, max_new_tokens=9)
    frames = frames_of(row)
    assert (len(frames), row.n_frames, row.finish) == (8, 8, FinishReason.LENGTH)
    assert all(len(frame) == N_CODEBOOKS for frame in frames)
    assert max(max(frame) for frame in frames) < CODEBOOK_SIZE


def test_the_smallest_limit_gives_one_frame() -> None:
    row = start(ENDLESS, max_new_tokens=2)
    assert len(frames_of(row)) == 1
    assert row.finish is FinishReason.LENGTH


def test_the_end_cannot_come_before_the_second_frame() -> None:
    row = start(scripted(scores(end=100.0)))
    assert len(frames_of(row)) == 2
    assert row.finish is FinishReason.STOP
    assert not row.can_move


def test_the_end_at_the_last_draw_is_a_stop() -> None:
    never, now = scores(end=-1e9), scores(end=100.0)
    row = start(scripted(never, never, never, now), max_new_tokens=4)
    assert len(frames_of(row)) == 3
    assert row.finish is FinishReason.STOP


def test_the_last_frame_says_that_it_is_the_last() -> None:
    row = start(ENDLESS, max_new_tokens=3)
    finishes = []
    for _ in range(2):
        next_frame(row)
        finishes.append(row.finish)
    assert finishes == [None, FinishReason.LENGTH]
    with pytest.raises(AssertionError, match="has ended"):
        next_frame(row)


def test_the_end_is_drawn_as_often_as_its_probability() -> None:
    # Report 6: beside twelve equal codes, ln 4 is a quarter. It may come after the second frame.
    models = scripted(scores(end=math.log(4)))
    lengths = [
        len(frames_of(start(models, noise=TorchNoise(seed), sampling=Sampling())))
        for seed in range(200)
    ]
    expected = [200 * 0.25 * 0.75**n for n in range(4)]
    expected.append(200 - sum(expected))
    found = [lengths.count(n) for n in (2, 3, 4, 5)]
    found.append(200 - sum(found))
    assert sum((n - e) ** 2 / e for n, e in zip(found, expected, strict=True)) < 18.47


def test_an_end_outside_the_top_k_never_comes() -> None:
    # Report 6: the end passes the same filters as every other code.
    top_two = scores(end=-0.5)
    top_two[:2] = 0.5
    models = scripted(top_two)
    for seed in range(5):
        row = start(models, sampling=Sampling(top_k=2), noise=TorchNoise(seed))
        frames = frames_of(row)
        assert row.finish is FinishReason.LENGTH
        assert {frame[0] for frame in frames} == {0, 1}


@pytest.mark.parametrize("do_sample", [True, False])
def test_the_penalty_counts_only_first_codes_that_were_drawn(do_sample: bool) -> None:
    # A penalty this strong leaves no drawn code a chance: all twelve come before one comes again.
    models = scripted(scores(end=-1e9, code=1.0))
    sampling = Sampling(do_sample=do_sample, temperature=0.01, repetition_penalty=1e6)
    row = start(models, sampling=sampling, max_new_tokens=CODEBOOK_SIZE + 1)
    assert sorted(frame[0] for frame in frames_of(row)) == list(range(CODEBOOK_SIZE))


def test_noise_is_asked_for_in_upstreams_order() -> None:
    noise = RecordedNoise(0)
    row = start(ENDLESS, noise=noise, max_new_tokens=3)
    frames_of(row)
    first = [("talker", (CODEC_VOCAB_SIZE,))]
    others = [("code_predictor", (CODEBOOK_SIZE,))] * (N_CODEBOOKS - 1)
    assert noise.asked == first + others + first + others + first


def test_a_seed_gives_the_same_codes_and_another_gives_others() -> None:
    models = random_models()
    first, again, other = (frames_of(start(models, noise=TorchNoise(seed))) for seed in (4, 4, 5))
    assert first == again
    assert first != other


def test_a_row_waits_for_the_text_row_that_goes_with_its_frame() -> None:
    text = TrailingText(TEXT[:1], PADDING, is_closed=False)
    row = start(ENDLESS, text=text)
    moves = []
    for more in (0, 2, 0):
        text.append(TEXT[1 : 1 + more])
        while row.can_move:
            next_frame(row)
        moves.append(row.n_frames)
        with pytest.raises(AssertionError, match="waits for text"):
            next_frame(row)
    text.close()
    assert moves == [1, 3, 3]
    assert row.can_move


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=6), st.integers(0, 3))
def test_text_that_comes_later_gives_the_codes_of_the_whole(pieces: list[int], seed: int) -> None:
    models = random_models(seed)
    at_once = frames_of(start(models, noise=TorchNoise(seed)))
    text = TrailingText(TEXT[:0], PADDING, is_closed=False)
    row = start(models, text=text, noise=TorchNoise(seed))
    frames, place = [], 0
    for size in [*pieces, N_TEXT_ROWS]:
        text.append(TEXT[place : place + size])
        place += size
        while row.can_move:
            frames.append(next_frame(row).tolist())
    text.close()
    assert frames + frames_of(row) == at_once


def inputs_of(models: Models, frames: Sequence[Sequence[int]], text: Tensor) -> Tensor:
    """All inputs [1, T, D] of the talker for an utterance that is known."""
    n_text_rows = len(text)
    sums = []
    for number, frame in enumerate(frames):
        codes = torch.tensor(frame)
        row = models.talker.embed_code(codes[0])
        for codebook in range(1, N_CODEBOOKS):
            row = row + models.code_predictor.embed(codebook, codes[codebook])
        sums.append(row + (text[number] if number < n_text_rows else PADDING))
    return torch.cat((PROMPT, torch.stack(sums)))[None]


def test_the_steps_say_what_one_pass_over_the_whole_says() -> None:
    models = random_models()
    row = start(models, noise=TorchNoise(1))
    frames, states = [], [row.hidden]
    while row.finish is None:
        frames.append(next_frame(row).tolist())
        states.append(row.hidden)
    assert len(frames) >= 4
    inputs = inputs_of(models, frames, TEXT)
    whole = models.talker(inputs, torch.arange(inputs.shape[1])[None])
    assert torch.allclose(torch.cat(states, dim=1), whole[:, len(PROMPT) - 1 :], atol=1e-4)


def test_a_frame_knows_no_later_text() -> None:
    models = random_models()
    frames = frames_of(start(models, noise=TorchNoise(1)))
    text = TEXT.clone().requires_grad_()
    inputs = inputs_of(models, frames, text)
    talker = models.talker
    found = talker.codec_head(talker(inputs, torch.arange(inputs.shape[1])[None]))[0]
    # The scores of frame 3's first code come from the position that showed frame 2.
    [gradient] = torch.autograd.grad(found[len(PROMPT) + 2].square().sum(), text)
    assert gradient[3:].abs().max() == 0
    assert (gradient[:3].abs().amax(dim=-1) > 0).all()


@pytest.mark.parametrize("frame", [0, 1, 3])
def test_no_numbers_in_the_first_codebook_end_the_row(frame: int) -> None:
    # Report 50: one row's NaN must not end the others.
    good, bad = scores(end=-1e9), torch.full((CODEC_VOCAB_SIZE,), torch.nan)
    models = scripted(good, *[good] * frame, bad)
    row = start(models)
    for _ in range(frame):
        next_frame(row)
    with pytest.raises(NumericsError, match=f"codebook 0 in frame {frame + 1} "):
        next_frame(row)
    assert row.finish is FinishReason.ERROR
    assert not row.can_move


def test_no_numbers_in_the_prompt_name_the_first_codebook_of_the_first_frame() -> None:
    models = scripted(torch.full((CODEC_VOCAB_SIZE,), torch.nan))
    with pytest.raises(NumericsError, match=r"codebook 0 in frame 0 .*NaN"):
        start(models)


@pytest.mark.parametrize("codebook", [1, 3])
def test_no_numbers_in_another_codebook_name_it(codebook: int) -> None:
    models = random_models()
    script = [torch.zeros(CODEBOOK_SIZE)] * 2 + [torch.full((CODEBOOK_SIZE,), torch.nan)]
    models.code_predictor.heads[codebook - 1] = ScriptedHead(script)
    models.talker.add_module("codec_head", ScriptedHead([scores(end=-1e9)]))
    row = start(models)
    next_frame(row)
    next_frame(row)
    with pytest.raises(NumericsError, match=f"codebook {codebook} in frame 2 "):
        next_frame(row)
    assert row.finish is FinishReason.ERROR


def test_one_rows_bad_numbers_leave_another_row_alone() -> None:
    models = random_models()
    alone = frames_of(start(models, noise=TorchNoise(1)))
    good = start(models, noise=TorchNoise(1))
    spoilt = TEXT.clone()
    spoilt[1, 0] = torch.nan
    bad = start(models, text=TrailingText(spoilt, PADDING), noise=TorchNoise(2))
    frames = [next_frame(good).tolist()]
    next_frame(bad)
    with pytest.raises(NumericsError, match="codebook 0 in frame 2 "):
        next_frame(bad)
    assert frames + frames_of(good) == alone
