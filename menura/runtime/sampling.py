"""Which code comes next: scores become a distribution, and one entry is drawn from it.

The order is part of a model's sound: penalty, bans, temperature, top-k, top-p, draw. No entry
is spared a filter; the end of an utterance competes like every other code.

Source: Keskar et al., "CTRL", 2019 (penalty); Fan et al., "Hierarchical Neural Story Generation",
2018 (top-k); Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020 (top-p).
Legend: V entries to choose from.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from menura.engines.contract import NoiseSource

_NEVER = -torch.inf


@dataclass(frozen=True)
class Sampling:
    """How to choose. The filters are off at `top_k` 0, `top_p` 1 and `repetition_penalty` 1.

    Without `do_sample` the highest score wins; only the penalty and the bans still count.
    """

    do_sample: bool = True
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0


class Drawn(NamedTuple):
    """The chosen entry [] (int64), and whether [] the scores allowed a choice.

    They do not where one is NaN or all are infinite; the entry then means nothing. It is a tensor
    so that a step reads it from the device only once, at its end.
    """

    code: Tensor
    is_sound: Tensor


def draw(
    scores: Tensor,
    sampling: Sampling,
    noise: NoiseSource,
    name: str,
    *,
    seen: Tensor | None = None,
    allowed: Tensor | None = None,
) -> Drawn:
    """One entry, chosen from the scores [V].

    `noise` gives, under `name`, exponential numbers [V] with mean 1; greedy choices take none.
    `seen` [V] marks the entries that the penalty counts, `allowed` [V] those that may be drawn.
    """
    scores = scores.float()
    if seen is not None and sampling.repetition_penalty != 1.0:
        scores = _penalised(scores, seen, sampling.repetition_penalty)
    if allowed is not None:
        scores = scores.masked_fill(~allowed, _NEVER)
    is_sound = scores.amax().isfinite()
    if not sampling.do_sample:
        return Drawn(scores.argmax(), is_sound)
    odds = filtered(scores, sampling).softmax(dim=-1)
    # The largest p / e with e ~ Exp(1) falls on each entry with its probability.
    waits = torch.as_tensor(noise.draw(name, tuple(odds.shape)), device=odds.device)
    return Drawn((odds / waits).argmax(), is_sound)


def filtered(scores: Tensor, sampling: Sampling) -> Tensor:
    """The scores [V] after temperature, top-k and top-p; what they exclude is minus infinity.

    Entries that tie with the last of the top-k all stay; of the top-p, at least one stays.
    """
    scores = scores / sampling.temperature
    if 0 < sampling.top_k < scores.shape[-1]:
        last_kept = scores.topk(sampling.top_k).values[-1]
        scores = scores.masked_fill(scores < last_kept, _NEVER)
    if sampling.top_p < 1.0:
        scores = _within_top_p(scores, sampling.top_p)
    return scores


def _penalised(scores: Tensor, seen: Tensor, penalty: float) -> Tensor:
    """The scores [V], with those already seen moved away from being chosen, whatever their sign."""
    lowered = torch.where(scores < 0, scores * penalty, scores / penalty)
    return torch.where(seen, lowered, scores)


def _within_top_p(scores: Tensor, top_p: float) -> Tensor:
    """The scores [V] of the most likely entries that together reach the probability `top_p`."""
    ascending, order = scores.sort(descending=False)
    unlikely = ascending.softmax(dim=-1).cumsum(dim=-1) <= 1 - top_p
    unlikely[-1] = False
    return scores.masked_fill(torch.zeros_like(unlikely).scatter(0, order, unlikely), _NEVER)
