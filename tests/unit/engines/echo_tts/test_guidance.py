import pytest
import torch

from menura.engines.echo_tts.guidance import Guidance, Rescale, View, guided, rescaled
from tests.unit.engines.echo_tts.random_dit import latents


def guidance(text: float = 3.0, speaker: float = 8.0, *, joint: bool = False) -> Guidance:
    return Guidance(text, speaker, min_t=0.5, max_t=0.8, joint=joint)


@pytest.mark.parametrize(("t", "is_on"), [(0.49, False), (0.5, True), (0.8, True), (0.81, False)])
def test_it_is_on_between_both_times(t: float, is_on: bool) -> None:
    assert guidance().is_on(torch.tensor(t)) is is_on


def test_a_bound_is_compared_in_the_precision_of_the_times() -> None:
    t = torch.tensor(0.1)  # a little more than 0.1 as a Python float
    assert float(t) > 0.1
    assert Guidance(1.0, 1.0, min_t=0.0, max_t=0.1).is_on(t)


@pytest.mark.parametrize(
    ("chosen", "has_speaker", "strengths"),
    [
        (guidance(), True, {View.NO_TEXT: 3.0, View.NO_SPEAKER: 8.0}),
        (guidance(), False, {View.NO_TEXT: 3.0}),
        (guidance(text=0.0), True, {View.NO_SPEAKER: 8.0}),
        (guidance(speaker=0.0), True, {View.NO_TEXT: 3.0}),
        (guidance(0.0, 0.0), True, {}),
        (guidance(joint=True), True, {View.NEITHER: 11.0}),
        (guidance(joint=True), False, {View.NEITHER: 11.0}),
        (guidance(0.0, 0.0, joint=True), True, {}),
    ],
)
def test_a_view_that_could_change_nothing_is_left_out(
    chosen: Guidance, has_speaker: bool, strengths: dict[View, float]
) -> None:
    assert chosen.strengths(has_speaker=has_speaker) == strengths
    assert chosen.n_lanes(has_voice=has_speaker) == 1 + len(strengths)


@pytest.mark.parametrize(
    ("view", "has_text", "has_speaker"),
    [
        (View.BOTH, True, True),
        (View.NO_TEXT, False, True),
        (View.NO_SPEAKER, True, False),
        (View.NEITHER, False, False),
    ],
)
def test_what_a_view_sees(view: View, has_text: bool, has_speaker: bool) -> None:
    assert (view.has_text, view.has_speaker) == (has_text, has_speaker)


def test_each_view_leads_away_from_itself() -> None:
    seeing, no_text, no_speaker = (torch.tensor([[x]]) for x in (1.0, 0.5, 3.0))
    assert guided(seeing, [no_text, no_speaker], [3.0, 8.0]).item() == 1 + 3 * 0.5 - 8 * 2
    assert guided(seeing, [], []) is seeing


def test_rescaling_follows_its_formula() -> None:
    velocity, x = torch.tensor([[2.0]]), torch.tensor([[1.0]])
    # At t = 0.5 the ratio is (9 + 1) / (9 / 1.5 + 1); the noise is x + v (1 - t) = 2.
    out = rescaled(velocity, x, torch.tensor(0.5), Rescale(k=1.5, sigma=3.0))
    assert out.item() == pytest.approx((10 / 7 * 2 - 1) / 0.5)


@pytest.mark.parametrize("t", [0.999, 0.5, 0.025])
def test_rescaling_with_k_1_is_off(t: float) -> None:
    velocity, x = latents(8), latents(8, seed=2)
    out = rescaled(velocity, x, torch.tensor(t), Rescale(k=1.0, sigma=3.0))
    torch.testing.assert_close(out, velocity, rtol=0, atol=1e-3 if t > 0.9 else 1e-5)
