import torch

from menura.runtime.kv_cache import GrowingCache, WindowCache


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


def test_a_window_cache_keeps_the_last_positions_of_each_layer() -> None:
    cache = WindowCache(2)
    assert cache.n_positions == 0
    old, new = torch.arange(12.0).view(2, 1, 1, 3, 2)
    keys, values = cache.update(0, old, -old)
    assert torch.equal(keys, old)
    cache.update(1, new, -new)
    assert cache.n_positions == 2
    keys, values = cache.update(0, new[:, :, :1], -new[:, :, :1])
    assert torch.equal(keys, torch.cat((old[:, :, 1:], new[:, :, :1]), dim=2))
    assert torch.equal(values, -keys)


def test_a_window_cache_that_keeps_nothing_gives_only_the_new_positions() -> None:
    cache = WindowCache(0)
    cache.update(0, torch.ones(1, 1, 3, 2), torch.ones(1, 1, 3, 2))
    keys, _ = cache.update(0, torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2))
    assert keys.tolist() == [[[[0.0, 0.0]]]]


def test_a_copied_window_cache_goes_on_alone() -> None:
    cache = WindowCache(2)
    one = torch.ones(1, 1, 1, 2)
    cache.update(0, one, one)
    twin = cache.copy()
    cache.update(0, 2 * one, 2 * one)
    keys, _ = twin.update(0, 3 * one, 3 * one)
    assert keys[0, 0, :, 0].tolist() == [1.0, 3.0]
