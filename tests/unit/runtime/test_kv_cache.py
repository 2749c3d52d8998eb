import torch

from menura.runtime.kv_cache import GrowingCache


def test_new_positions_are_joined_after_the_old_ones_in_each_layer() -> None:
    cache = GrowingCache()
    assert cache.n_positions == 0
    parts = torch.arange(24.0).view(2, 1, 2, 3, 2)
    cache.update(0, parts[0], -parts[0])
    cache.update(1, parts[1], -parts[1])
    assert cache.n_positions == 3
    keys, values = cache.update(1, parts[0][:, :, :1], -parts[0][:, :, :1])
    assert torch.equal(keys, torch.cat((parts[1], parts[0][:, :, :1]), dim=2))
    assert torch.equal(values, -keys)
    keys, _ = cache.update(0, parts[1], parts[1])
    assert torch.equal(keys, torch.cat((parts[0], parts[1]), dim=2))
    assert cache.n_positions == 6


def test_what_was_handed_out_does_not_change() -> None:
    cache = GrowingCache()
    first, _ = cache.update(0, torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
    cache.update(0, torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2))
    assert first.shape == (1, 1, 2, 2)
    assert first.min() == 1
