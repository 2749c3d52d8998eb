import math

import torch

from menura.nn.snake import Snake, SnakeBeta


def test_every_channel_has_its_own_period_and_height() -> None:
    layer = SnakeBeta(2)
    with torch.no_grad():
        layer.alpha.copy_(torch.tensor([0.0, math.log(2)]))
        layer.beta.copy_(torch.tensor([0.0, math.log(4)]))
    x = torch.tensor([[[0.5, -1.0], [0.5, -1.0]]])
    expected = [
        [0.5 + math.sin(0.5) ** 2, -1 + math.sin(-1) ** 2],
        [0.5 + math.sin(1.0) ** 2 / 4, -1 + math.sin(-2) ** 2 / 4],
    ]
    torch.testing.assert_close(layer(x), torch.tensor([expected]))


def test_a_vanishing_height_stays_finite() -> None:
    layer = SnakeBeta(1)
    with torch.no_grad():
        layer.alpha.zero_()
        layer.beta.fill_(-200.0)
    assert layer(torch.tensor([[[0.5]]])).isfinite().all()


def test_with_one_parameter_the_period_is_the_height_too() -> None:
    layer = Snake(2)
    with torch.no_grad():
        layer.alpha.copy_(torch.tensor([1.0, 2.0]).view(1, 2, 1))
    x = torch.tensor([[[0.5, -1.0], [0.5, -1.0]]])
    expected = [
        [0.5 + math.sin(0.5) ** 2, -1 + math.sin(-1) ** 2],
        [0.5 + math.sin(1.0) ** 2 / 2, -1 + math.sin(-2) ** 2 / 2],
    ]
    torch.testing.assert_close(layer(x), torch.tensor([expected]))


def test_a_vanishing_period_stays_finite() -> None:
    layer = Snake(1)
    with torch.no_grad():
        layer.alpha.zero_()
    assert layer(torch.tensor([[[0.5]]])).tolist() == [[[0.5]]]
