"""Draws fit their distribution (chi-square at fixed seeds), and no entry is spared a filter."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from menura.runtime.sampling import Sampling, draw, filtered
from menura.runtime.torch_noise import TorchNoise

N_DRAWS = 4000
# The 99.9 % points of the chi-square distribution, by degrees of freedom.
CRITICAL = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52}
PLAIN = Sampling()


class NoNoise:
    """A source that must not be asked."""

    seed = 0

    def draw(self, name: str, shape: tuple[int, ...]) -> Tensor:
        raise AssertionError(f"{name} was drawn")


def counts(
    scores: Sequence[float],
    sampling: Sampling,
    *,
    seen: Tensor | None = None,
    allowed: Tensor | None = None,
    seed: int = 1,
) -> list[int]:
    noise = TorchNoise(seed)
    found = torch.zeros(len(scores), dtype=torch.long)
    for _ in range(N_DRAWS):
        drawn = draw(torch.tensor(scores), sampling, noise, "x", seen=seen, allowed=allowed)
        found[drawn.code] += 1
    return found.tolist()


def fits(found: Sequence[int], odds: Sequence[float]) -> bool:
    """Whether counts fit odds; an entry with no odds must have none."""
    cells = [(n, p * N_DRAWS) for n, p in zip(found, odds, strict=True) if p > 0]
    if sum(n for n, _ in cells) != N_DRAWS:
        return False
    return sum((n - e) ** 2 / e for n, e in cells) < CRITICAL[len(cells) - 1]


def log(odds: Sequence[float]) -> list[float]:
    return torch.tensor(odds).log().tolist()


def kept(scores: Sequence[float], sampling: Sampling) -> list[int]:
    return filtered(torch.tensor(scores), sampling).isfinite().nonzero()[:, 0].tolist()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_draws_fit_the_softmax(seed: int) -> None:
    odds = [0.4, 0.3, 0.15, 0.1, 0.05]
    assert fits(counts(log(odds), PLAIN, seed=seed), odds)
    assert not fits(counts(log(odds), PLAIN, seed=seed), [0.3, 0.4, 0.15, 0.1, 0.05])


def test_temperature_bends_the_odds() -> None:
    odds = [0.6, 0.3, 0.1]
    squared = [0.36 / 0.46, 0.09 / 0.46, 0.01 / 0.46]
    assert fits(counts(log(odds), Sampling(temperature=0.5)), squared)


@pytest.mark.parametrize("shape", [7, 2048, 3072])
def test_a_draw_is_that_of_multinomial(shape: int) -> None:
    noise, generator = TorchNoise(5), torch.Generator().manual_seed(5)
    for round_ in range(20):
        scores = torch.randn(shape, generator=torch.Generator().manual_seed(round_))
        expected = torch.multinomial(scores.softmax(-1)[None], 1, generator=generator)
        assert int(draw(scores, PLAIN, noise, "x").code) == int(expected)


def test_the_last_entry_is_filtered_like_every_other() -> None:
    # Report 6: an end token that skipped the filters cut syllables. Entry 4 is the end here.
    odds = [0.3, 0.25, 0.25, 0.12, 0.08]
    assert fits(counts(log(odds), Sampling(top_k=4)), [p / 0.92 for p in odds[:4]] + [0])
    assert fits(counts(log(odds), Sampling(top_p=0.7)), [0.375, 0.3125, 0.3125, 0, 0])
    end_leads = [0.1, 0.1, 0.1, 0.1, 0.6]
    assert counts(log(end_leads), Sampling(top_k=1)) == [0, 0, 0, 0, N_DRAWS]


def test_top_k_keeps_what_ties_with_its_last() -> None:
    assert kept([1.0, 3.0, 2.0, 2.0, 0.0], Sampling(top_k=2)) == [1, 2, 3]
    assert kept([1.0, 3.0, 2.0, 2.0, 0.0], Sampling(top_k=3)) == [1, 2, 3]
    odds = [0.4, 0.2, 0.2, 0.15, 0.05]
    assert fits(counts(log(odds), Sampling(top_k=2)), [0.5, 0.25, 0.25, 0, 0])


@pytest.mark.parametrize("top_k", [0, 5, 50])
def test_top_k_is_off_at_zero_and_above_the_number_of_entries(top_k: int) -> None:
    assert kept([5.0, 1.0, 2.0, 0.0, -9.0], Sampling(top_k=top_k)) == [0, 1, 2, 3, 4]


def test_top_p_keeps_the_fewest_entries_that_reach_it() -> None:
    scores = log([0.1, 0.5, 0.25, 0.15])
    assert kept(scores, Sampling(top_p=0.45)) == [1]
    assert kept(scores, Sampling(top_p=0.6)) == [1, 2]
    assert kept(scores, Sampling(top_p=0.8)) == [1, 2, 3]
    assert kept(scores, Sampling(top_p=1.0)) == [0, 1, 2, 3]


def test_top_p_zero_keeps_the_likeliest() -> None:
    assert kept(log([0.1, 0.5, 0.25, 0.15]), Sampling(top_p=0.0)) == [1]


def test_top_p_counts_after_temperature_and_top_k() -> None:
    scores = log([0.4, 0.3, 0.2, 0.1])
    # Of the top two, the first alone has 4 / 7 of the probability.
    assert kept(scores, Sampling(top_k=2, top_p=0.55)) == [0]
    # Squared, the first alone has 16 / 30.
    assert kept(scores, Sampling(temperature=0.5, top_p=0.52)) == [0]
    assert kept(scores, Sampling(top_p=0.52)) == [0, 1]


def test_the_penalty_moves_only_seen_entries_away() -> None:
    scores = torch.tensor([2.0, -2.0, 2.0, -2.0])
    seen = torch.tensor([True, True, False, False])
    # Halved or doubled away from being chosen: 1, -4, 2, -2.
    odds = torch.tensor([1.0, -4.0, 2.0, -2.0]).softmax(0).tolist()
    assert fits(counts(scores.tolist(), Sampling(repetition_penalty=2.0), seen=seen), odds)


def test_a_penalty_of_one_and_a_missing_mask_change_nothing() -> None:
    scores, odds = log([0.5, 0.3, 0.2]), [0.5, 0.3, 0.2]
    assert fits(counts(scores, PLAIN, seen=torch.tensor([True, False, False])), odds)
    assert fits(counts(scores, Sampling(repetition_penalty=2.0)), odds)


def test_banned_entries_are_never_drawn_and_take_no_place_in_the_top_k() -> None:
    scores = log([0.5, 0.2, 0.2, 0.1])
    allowed = torch.tensor([False, True, True, True])
    assert fits(counts(scores, Sampling(top_k=3), allowed=allowed), [0, 0.4, 0.4, 0.2])


def test_greedy_takes_the_highest_allowed_score_and_no_noise() -> None:
    greedy = Sampling(do_sample=False, temperature=0.1, top_k=1, repetition_penalty=10.0)
    scores = torch.tensor([3.0, 2.0, 1.0])
    seen = torch.tensor([True, False, False])
    allowed = torch.tensor([True, False, True])
    assert int(draw(scores, greedy, NoNoise(), "x").code) == 0
    assert int(draw(scores, greedy, NoNoise(), "x", seen=seen).code) == 1
    assert int(draw(scores, greedy, NoNoise(), "x", seen=seen, allowed=allowed).code) == 2


def test_half_precision_scores_are_drawn_in_float32() -> None:
    scores = torch.randn(50, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    noises = TorchNoise(3), TorchNoise(3)
    for _ in range(50):
        halves, whole = (
            draw(s, PLAIN, n, "x").code
            for s, n in zip((scores, scores.float()), noises, strict=True)
        )
        assert halves == whole


@pytest.mark.parametrize("do_sample", [True, False])
@pytest.mark.parametrize(
    "scores",
    [[1.0, torch.nan, 2.0], [torch.nan] * 3, [1.0, torch.inf, 2.0], [-torch.inf] * 3],
)
def test_scores_that_are_no_numbers_are_told(scores: list[float], do_sample: bool) -> None:
    sampling = Sampling(do_sample=do_sample, top_k=2, top_p=0.9)
    assert not draw(torch.tensor(scores), sampling, TorchNoise(0), "x").is_sound
    assert draw(torch.tensor([1.0, -torch.inf, 2.0]), sampling, TorchNoise(0), "x").is_sound
