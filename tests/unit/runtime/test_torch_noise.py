import pytest
import torch

from menura.runtime.torch_noise import LATENTS, TorchNoise


def test_the_draws_are_those_that_multinomial_makes_from_the_same_seed() -> None:
    generator = torch.Generator().manual_seed(5)
    noise = TorchNoise(5)
    assert noise.seed == 5
    for step in range(40):
        odds = torch.rand(1, 64 + step, generator=torch.Generator().manual_seed(step)).softmax(-1)
        drawn = torch.multinomial(odds, 1, generator=generator)
        waits = torch.as_tensor(noise.draw(f"stream {step % 2}", (64 + step,)))
        assert int((odds[0] / waits).argmax()) == int(drawn)


def test_noise_of_one_row_does_not_depend_on_anothers() -> None:
    alone = TorchNoise(1)
    expected = [torch.as_tensor(alone.draw("a", (8,))) for _ in range(3)]
    one, other = TorchNoise(1), TorchNoise(2)
    for numbers in expected:
        other.draw("a", (3,))
        assert torch.equal(torch.as_tensor(one.draw("a", (8,))), numbers)


def test_latents_are_the_normal_numbers_of_the_same_seed() -> None:
    generator = torch.Generator().manual_seed(7)
    noise = TorchNoise(7)
    for shape in ((1, 5, 8), (1, 3, 8)):  # the next numbers, not the first ones again
        drawn = torch.as_tensor(noise.draw(LATENTS, shape))
        assert torch.equal(drawn, torch.randn(shape, generator=generator))
        assert drawn.dtype == torch.float32


def test_a_shorter_window_has_the_first_numbers_of_a_longer_one() -> None:
    short = torch.as_tensor(TorchNoise(3).draw(LATENTS, (1, 20, 8)))
    long = torch.as_tensor(TorchNoise(3).draw(LATENTS, (1, 64, 8)))
    assert torch.equal(short, long[:, :20])


@pytest.mark.parametrize("name", [LATENTS, "codes"])
def test_the_default_dtype_of_others_changes_nothing(name: str) -> None:
    plain = TorchNoise(3).draw(name, (64,))
    torch.set_default_dtype(torch.float64)
    try:
        again = TorchNoise(3).draw(name, (64,))
    finally:
        torch.set_default_dtype(torch.float32)
    assert again.dtype == torch.float32
    assert torch.equal(again, plain)
