import pytest
import torch
from torch import Tensor

from menura.engines.echo_tts.windowed_transformer import CausalState, WindowedTransformer
from menura.runtime.kv_cache import GrowingCache
from tests.unit.engines.echo_tts.random_autoencoder import LATENT_DIM, draw, transformer_config


def transformer(window: int) -> WindowedTransformer:
    module = WindowedTransformer(transformer_config(window))
    generator = torch.Generator().manual_seed(0)
    for name, parameter in module.named_parameters():
        draw(name, parameter, generator)
    return module


def inputs(n_positions: int) -> Tensor:
    generator = torch.Generator().manual_seed(n_positions)
    return torch.randn(1, LATENT_DIM, n_positions, generator=generator)


def densely(module: WindowedTransformer, x: Tensor) -> Tensor:
    """The same by one mask over all positions, as a plain transformer does it."""
    positions = torch.arange(x.shape[-1])
    behind = positions[:, None] - positions[None, :]
    mask = (behind >= 0) & (behind < module.window)
    hidden: Tensor = module.stack(x.transpose(1, 2), positions[None], mask[None, None])
    return hidden.transpose(1, 2)


@torch.no_grad()
@pytest.mark.parametrize("window", [1, 4, 7])
@pytest.mark.parametrize("n_positions", [1, 4, 5, 8, 29])
def test_pieces_of_a_window_equal_one_dense_mask(window: int, n_positions: int) -> None:
    module, x = transformer(window), inputs(n_positions)
    torch.testing.assert_close(module(x), densely(module, x), rtol=0, atol=1e-6)


@torch.no_grad()
def test_a_wider_window_is_another_result() -> None:
    module, x = transformer(4), inputs(9)
    before = module(x)
    module.window = 5
    assert (module(x) - before).abs().amax(dim=(0, 1))[4:].min() > 1e-3


@torch.no_grad()
def test_no_more_than_the_window_is_kept() -> None:
    module, state = transformer(4), CausalState()
    module(inputs(29), state)
    window = state.window(module)
    assert window.cache.n_positions == 3
    assert window.n_positions == 29


def test_no_mask_is_wider_than_two_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    module, seen = transformer(4), []
    plain = module.stack.forward

    def spy(x: Tensor, positions: Tensor, mask: Tensor, cache: GrowingCache) -> Tensor:
        seen.append(mask.shape)
        return plain(x, positions, mask, cache)

    monkeypatch.setattr(module.stack, "forward", spy)
    module(inputs(11))
    assert seen == [(1, 1, 4, 4), (1, 1, 4, 7), (1, 1, 3, 6)]


@torch.no_grad()
def test_the_table_of_angles_is_rounded_to_bfloat16() -> None:
    rotation = transformer(4).stack.rotary(torch.arange(9)[None])
    cos = torch.view_as_real(rotation.angles)[..., 0]
    assert torch.equal(cos, cos.bfloat16().float())
    assert not torch.equal(cos[0, :, 0], torch.arange(9.0).cos())
